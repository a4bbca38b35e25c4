package memory

import (
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestLargePages: contents stay, whatever the size of the slice and wherever it begins,
// and where the system agrees most of a slice is in large pages.
func TestLargePages(t *testing.T) {
	data := make([]float64, 40<<20/8)
	for i := range data {
		data[i] = float64(i)
	}
	for _, part := range [][]float64{nil, data[:3], data[1:], data[5 : len(data)-7]} {
		LargePages(part)
	}
	LargePages(make([]float32, leastLarge/4+1))
	pages := wholeLargePages(unsafe.Slice((*byte)(unsafe.Pointer(&data[0])), 8*len(data)))
	if least := 8*len(data) - 2*largePage; len(pages) < least {
		t.Errorf("%d bytes fill large pages, want at least %d", len(pages), least)
	}
	if err := askForLargePages(pages); err != nil {
		t.Logf("the system makes no large pages, so that only contents were tested: %v", err)
	} else if got := inLargePages(t); got < len(pages) {
		t.Errorf("%d bytes are in large pages, want %d", got, len(pages))
	}
	for i, x := range data {
		if x != float64(i) {
			t.Fatalf("entry %d became %v", i, x)
		}
	}
	runtime.KeepAlive(data)
}

// inLargePages returns how many bytes of this process are.
func inLargePages(t *testing.T) (bytes int) {
	text := oracle.Must(os.ReadFile("/proc/self/smaps_rollup"))(t)
	m := regexp.MustCompile(`AnonHugePages:\s+(\d+) kB`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("no AnonHugePages in %s", text)
	}
	kib := oracle.Must(strconv.Atoi(string(m[1])))(t)
	return kib << 10
}

// largeAtOnce reports whether this system makes large pages of fresh memory when something
// touches it. One that has them switched off may still make them when it is asked to copy.
func largeAtOnce(t *testing.T) bool {
	memory := oracle.Must(unix.Mmap(-1, 0, 8*largePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE))(t)
	defer func() {
		oracle.OK(t, unix.Munmap(memory))
	}()
	before, pages := inLargePages(t), wholeLargePages(memory)
	if err := offerLargePages(pages); err != nil {
		return false
	}
	for i := 0; i < len(pages); i += 4096 {
		pages[i] = 1
	}
	return inLargePages(t) >= before+len(pages)
}

// TestZeros: zeros of any number, in large pages where the system agrees.
func TestZeros(t *testing.T) {
	for _, n := range []int{0, 3, leastWhole/8 - 1, 40 << 20 / 8} {
		debug.FreeOSMemory() // what other tests had is in small pages
		zeros := Zeros[float64](n)
		for i, x := range zeros {
			if x != 0 {
				t.Fatalf("entry %d of %d is %v", i, n, x)
			}
			zeros[i] = 1
		}
		if len(zeros) != n {
			t.Fatalf("%d numbers, want %d", len(zeros), n)
		}
		if n < leastWhole/8 {
			continue
		}
		pages := wholeLargePages(unsafe.Slice((*byte)(unsafe.Pointer(&zeros[0])), 8*n))
		if atOnce := inLargePages(t); !largeAtOnce(t) {
			t.Log("the system makes no large pages of memory when it is touched, so that only contents were tested")
		} else if atOnce < len(pages)/2 { // some may lie where the heap has had something before
			t.Errorf("%d bytes of %d are in large pages, which the system has", atOnce, len(pages))
		}
		runtime.KeepAlive(zeros)
	}
}
