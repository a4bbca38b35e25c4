package spill

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestZeros: arrays of a Space are zeros, lie apart, and keep what is written; the folder is empty all the time.
func TestZeros(t *testing.T) {
	folder := t.TempDir()
	s := &Space{Folder: folder}
	err := s.Reserve(Room[float64](1000) + Room[int32](3) + Room[float32](5))
	if errors.Is(err, errNoFiles) {
		t.Skip("skipped: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a, b, c := Zeros[float64](s, 1000), Zeros[int32](s, 3), Copy(s, []float32{1, 2, 3, 4, 5})
	if slices.ContainsFunc(a, func(x float64) bool { return x != 0 }) || !slices.Equal(b, []int32{0, 0, 0}) {
		t.Errorf("they are not zeros")
	}
	for i := range a {
		a[i] = 7
	}
	if !slices.Equal(b, []int32{0, 0, 0}) || !slices.Equal(c, []float32{1, 2, 3, 4, 5}) || cap(b) != 3 {
		t.Errorf("%v and %v after a write elsewhere", b, c)
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
		t.Errorf("the folder has %v: %v", entries, err)
	}
	defer func() {
		if recover() == nil {
			t.Error("more than was reserved is no panic")
		}
	}()
	Zeros[float64](s, leastFile)
}

// TestInMemory: without a Space arrays are as long, and nothing is missing that was there.
func TestInMemory(t *testing.T) {
	if x := Zeros[int32](nil, 3); len(x) != 3 || len(Zeros[float64](nil, 4)) != 4 || len(Zeros[float32](nil, 5)) != 5 {
		t.Errorf("%v", x)
	}
	oracle.Equal(t, Copy[float64](nil, nil) == nil, true, "a copy of nothing is nothing")
	var none *Space
	none.Close()
}

// TestNoFolder: the error names the folder and what was to be kept there.
func TestNoFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "missing")
	err := (&Space{Folder: folder}).Reserve(3 << 30)
	var no *Error
	if !errors.As(err, &no) || !errors.Is(err, os.ErrNotExist) && !errors.Is(err, errNoFiles) || !strings.Contains(err.Error(), "--spill "+folder+": 3.0 GiB") || strings.Contains(err.Error(), ".blockbp-spill") {
		t.Errorf("%v", err)
	}
}

// TestFoldersInMemory: a file system in memory is known where the system tells.
func TestFoldersInMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("skipped: only Linux tells; the test runs there")
	}
	if _, err := os.Stat("/dev/shm"); err == nil && !InMemory("/dev/shm") {
		t.Error("/dev/shm is taken for a disk")
	}
	if InMemory("/proc") || InMemory("/nowhere") {
		t.Error("/proc, or no folder at all, is taken for memory")
	}
}

// TestManyReservations: many small ones share a file, and hold what is written to them.
func TestManyReservations(t *testing.T) {
	p := &Space{Folder: t.TempDir()}
	const many = 1000
	var all [][]float64
	for i := range many {
		err := p.Reserve(Room[float64](9))
		if errors.Is(err, errNoFiles) {
			t.Skip("skipped: this system has no files of this kind; the test runs on Linux, macOS and BSD")
		}
		oracle.OK(t, err)
		x := Zeros[float64](p, 9)
		for j := range x {
			x[j] = float64(i)
		}
		all = append(all, x)
	}
	for i, x := range all {
		if x[0] != float64(i) || x[8] != float64(i) {
			t.Fatalf("array %d holds %v", i, x)
		}
	}
	oracle.Equal(t, p.Bytes, leastFile, "bytes that %d small arrays take", many)
	oracle.OK(t, p.Reserve(3*leastFile))
	if x := Zeros[float64](p, 3*leastFile/8); x[0] != 0 || x[len(x)-1] != 0 || p.Bytes != 4*leastFile {
		t.Errorf("a large one begins and ends with %v and %v, and %d bytes are taken", x[0], x[len(x)-1], p.Bytes)
	}
}

// TestPagesAreBounded: however many pieces are wanted, they take what is forecast, once.
func TestPagesAreBounded(t *testing.T) {
	x := make([]float64, 4<<10)
	var p Pages
	want := func(n int) {
		for i := range n {
			Want(&p, x, i%2*2<<10, 1) // none follows the one before
		}
	}
	want(1)
	room := int64(cap(p.spans)) * int64(unsafe.Sizeof(p.spans[0]))
	if want(2*mostPieces + 10); room != PagesBytes || cap(p.spans) != mostPieces || len(p.spans) != 10 {
		t.Errorf("%d pieces of %d are left, in %d bytes, want 10, in %d", len(p.spans), cap(p.spans), room, PagesBytes)
	}
	if n := testing.AllocsPerRun(3, func() { want(mostPieces) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestSpaceEnds: files are there until the Space is closed, or while something refers to it.
func TestSpaceEnds(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("skipped: only Linux tells of maps; the test runs there")
	}
	folder := t.TempDir()
	mapped := func() int {
		maps := oracle.Must(os.ReadFile("/proc/self/maps"))(t)
		return strings.Count(string(maps), folder)
	}
	reserve := func() *Space {
		s := &Space{Folder: folder}
		for n := range int64(3) {
			oracle.OK(t, s.Reserve((n+1)*leastFile))
		}
		return s
	}
	s := reserve()
	if n := mapped(); n == 0 {
		t.Error("nothing is mapped")
	}
	s.Close()
	if s.Close(); mapped() > 0 {
		t.Errorf("%d maps are left of what is closed", mapped())
	}
	reserve()
	for range 1000 {
		if runtime.GC(); mapped() == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d maps are left that nobody refers to", mapped())
}
