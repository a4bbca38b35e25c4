package spill

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestZeros: arrays of a Space are zeros, lie apart, and keep what is written; the folder is empty
// all the time.
func TestZeros(t *testing.T) {
	folder := t.TempDir()
	s, err := Reserve(folder, Room[float64](1000)+Room[int32](3)+Room[float32](5))
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
	Zeros[float64](s, 1000)
}

// TestInMemory: without a Space arrays are as long, and nothing is missing that was there.
func TestInMemory(t *testing.T) {
	if x := Zeros[int32](nil, 3); len(x) != 3 || len(Zeros[float64](nil, 4)) != 4 || len(Zeros[float32](nil, 5)) != 5 {
		t.Errorf("%v", x)
	}
	if Copy[float64](nil, nil) != nil {
		t.Error("a copy of nothing is something")
	}
	var none *Space
	none.Close()
}

// TestNoFolder: the error names the folder and what was to be kept there.
func TestNoFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "missing")
	_, err := Reserve(folder, 3<<30)
	var no *Error
	if !errors.As(err, &no) || !errors.Is(err, os.ErrNotExist) && !errors.Is(err, errNoFiles) || !strings.Contains(err.Error(), "--spill "+folder+": 3.0 GiB") {
		t.Errorf("%v", err)
	}
}
