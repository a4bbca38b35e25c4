#include "textflag.h"

// Go reserves address space before any of its code can look at limits, and where there is not enough ends with
// the stacks of its threads. Binaries that are linked with -E blockbp_entry, as those of releases are, begin
// here instead: with little address space this says so and ends, and else goes on where Go begins.

#define SYS_write 1
#define SYS_getrlimit 97
#define SYS_exit_group 231
#define RLIMIT_AS 9
#define leastSpace 0x70000000 // 1.75 GiB, of which Go reserves most at once

TEXT blockbp_entry(SB),NOSPLIT|NOFRAME,$0
	SUBQ $16, SP // struct rlimit: soft, hard
	MOVQ $SYS_getrlimit, AX
	MOVQ $RLIMIT_AS, DI
	MOVQ SP, SI
	SYSCALL
	MOVQ 0(SP), R8
	ADDQ $16, SP
	TESTQ AX, AX
	JNE enough // it cannot be told
	MOVQ $leastSpace, R9
	CMPQ R8, R9
	JCC enough // unsigned
	MOVQ $SYS_write, AX
	MOVQ $2, DI
	LEAQ tooLittle<>(SB), SI
	MOVQ $98, DX
	SYSCALL
	MOVQ $SYS_exit_group, AX
	MOVQ $1, DI
	SYSCALL
enough:
	JMP _rt0_amd64_linux(SB)

DATA tooLittle<>+0(SB)/8, $"blockbp:"
DATA tooLittle<>+8(SB)/8, $" less th"
DATA tooLittle<>+16(SB)/8, $"an 1.75 "
DATA tooLittle<>+24(SB)/8, $"GiB of a"
DATA tooLittle<>+32(SB)/8, $"ddress s"
DATA tooLittle<>+40(SB)/8, $"pace is "
DATA tooLittle<>+48(SB)/8, $"allowed;"
DATA tooLittle<>+56(SB)/8, $" raise t"
DATA tooLittle<>+64(SB)/8, $"he limit"
DATA tooLittle<>+72(SB)/8, $", as by "
DATA tooLittle<>+80(SB)/8, $"ulimit -"
DATA tooLittle<>+88(SB)/8, $"v 419430"
DATA tooLittle<>+96(SB)/2, $"4\n"
GLOBL tooLittle<>(SB), RODATA, $98
