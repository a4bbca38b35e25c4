package memory

import (
	"runtime"
	"testing"
	"unsafe"
)

// TestLargePages: contents stay, whatever the size of the slice and wherever it begins.
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
		t.Logf("the system makes no large pages: %v", err)
	}
	for i, x := range data {
		if x != float64(i) {
			t.Fatalf("entry %d became %v", i, x)
		}
	}
	runtime.KeepAlive(data)
}

// TestZeros: zeros of any number.
func TestZeros(t *testing.T) {
	for _, n := range []int{0, 3, leastWhole/8 - 1, 40 << 20 / 8} {
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
	}
}
