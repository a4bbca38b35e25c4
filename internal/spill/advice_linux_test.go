package spill

import (
	"os"
	"path/filepath"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestFetch: of an array whose pieces are asked for, the disk is asked for these and what lies between
// near ones, not for what is around a number that is looked at.
func TestFetch(t *testing.T) {
	const bytes = 32 << 20
	file := oracle.Must(os.Create(filepath.Join(t.TempDir(), "array")))(t)
	defer file.Close()
	oracle.OK(t, writeZeros(file, bytes))
	oracle.OK(t, file.Sync())
	oracle.OK(t, unix.Fadvise(int(file.Fd()), 0, bytes, unix.FADV_DONTNEED))
	mapped := oracle.Must(unix.Mmap(int(file.Fd()), 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED))(t)
	defer unmap(mapped)
	inMemory := func(lo, hi int) (n int) { // bytes
		seen := make([]byte, (hi-lo+int(pageSize)-1)/int(pageSize))
		if _, _, e := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&mapped[lo])), uintptr(hi-lo), uintptr(unsafe.Pointer(&seen[0]))); e != 0 {
			t.Fatal(e)
		}
		for _, x := range seen {
			n += int(x&1) * int(pageSize)
		}
		return n
	}
	if inMemory(0, bytes) > 0 {
		t.Skip("skipped: files of this folder stay in memory; the test runs where it is on a disk")
	}
	x := unsafe.Slice((*float64)(unsafe.Pointer(&mapped[0])), bytes/8)
	Apart(x, true)
	oracle.Equal(t, x[bytes/16], 0, "a number of the file")
	if n := inMemory(0, bytes); n > 16*int(pageSize) {
		t.Errorf("a look at one number has read %d bytes", n)
	}
	var p Pages
	const piece, apart = 4 << 10, 20 << 10 // numbers
	for _, i := range []int{40, 3, 17} {   // in any order
		Want(&p, x, i*apart, piece)
		Want(&p, x, i*apart+piece, piece)
		Want(&p, x, i*apart, 10)
	}
	Want(&p, x, 60*apart, 1)
	Want(&p, x, 60*apart+request/8, 1) // and what is between
	Want(&p, x, 0, 0)
	Want(&p, []float64{1, 2, 3}, 0, 3) // in no file
	p.Fetch()
	p.Fetch()
	all := func() (whole bool) {
		whole = inMemory(60*apart*8, 60*apart*8+request) == request
		for _, i := range []int{40, 3, 17} {
			whole = whole && inMemory(i*apart*8, (i*apart+2*piece)*8) == 2*piece*8
		}
		return whole
	}
	for deadline := time.Now().Add(20 * time.Second); !all(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("what was asked for is not in memory")
		}
	}
	const most = 3*2*piece*8 + request + 40<<12
	if n := inMemory(0, bytes); n > most {
		t.Errorf("%d bytes were read, want at most %d", n, most)
	}
}
