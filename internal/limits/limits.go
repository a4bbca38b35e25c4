//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package limits

import (
	"os"
	"strconv"
	"syscall"
)

const (
	// leastFiles have to be free for a command to open: Go takes two of them, and ends the program where
	// there are none.
	leastFiles = 16
	// leastSpace has to be free of the address space, of which Go reserves 64 MiB at a time.
	leastSpace = 256 << 20
	// enoughFiles and enoughSpace are what errors ask for, as ulimit has them: space in KiB.
	enoughFiles, enoughSpace = 256, 4 << 20
)

func init() {
	if problem := check(leastFiles, leastSpace); problem != "" {
		_, _ = os.Stderr.WriteString("blockbp: " + problem + "\n") // there is nobody else to tell
		os.Exit(1)
	}
}

// check says which limit is too small, "" for none.
func check(files, space int) string {
	var open []int
	defer func() {
		for _, file := range open {
			_ = syscall.Close(file)
		}
	}()
	for len(open) < files {
		var pipe [2]int
		err := syscall.Pipe(pipe[:])
		if err == nil {
			open = append(open, pipe[:]...)
		} else {
			return strconv.Itoa(files) + " more files cannot be open at a time: " + err.Error() +
				"; raise the limit, as by ulimit -n " + strconv.Itoa(enoughFiles)
		}
	}
	reserved, err := syscall.Mmap(-1, 0, space, syscall.PROT_NONE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return strconv.Itoa(space>>20) + " MiB of address space cannot be had: " + err.Error() +
			"; raise the limit, as by ulimit -v " + strconv.Itoa(enoughSpace)
	}
	_ = syscall.Munmap(reserved) // a moment later it is Go's
	return ""
}
