package infile

import (
	"os"
	"path/filepath"
	"testing"
	"unsafe"
)

// TestRelease: pages that are let go of have what the file has, until they are restored; a second
// time changes nothing, and memory of no file is left alone.
func TestRelease(t *testing.T) {
	const n = 10_000
	path := filepath.Join(t.TempDir(), "numbers")
	if err := os.WriteFile(path, make([]byte, 8+4*n), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := MapOwn(path, "numbers", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	mapped := unsafe.Slice((*float32)(unsafe.Pointer(&m.Bytes()[8])), n)
	for name, x := range map[string][]float32{"mapped": mapped, "memory": make([]float32, n)} {
		change := func(lo, hi int) {
			for i := range x[lo:hi] {
				x[lo+i] += float32(lo + i + 1)
			}
		}
		change(0, n)
		Spare(x, change)
		Spare(x, nil) // whoever knows of no change
		Release(x, 100, 4000)
		Release(x, 6000, 9000)
		Release(x, 7000, 9500) // some of it is gone
		gone := 0
		for i := range x {
			if x[i] == 0 {
				gone++
			}
			if inside := i >= 100 && i < 4000 || i >= 6000 && i < 9000; x[i] != float32(i+1) && (x[i] != 0 || !inside) {
				t.Fatalf("%s: number %d is %v", name, i, x[i])
			}
		}
		if least := 6900 - 4*int(pageSize)/4; name == "mapped" && gone < least || name == "memory" && gone > 0 {
			t.Errorf("%s: %d numbers are gone, want %d or more of mapped ones", name, gone, least)
		}
		for range 2 {
			Restore(x)
			for i := range x {
				if x[i] != float32(i+1) {
					t.Fatalf("%s: number %d is restored to %v", name, i, x[i])
				}
			}
		}
	}
}
