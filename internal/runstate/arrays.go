package runstate

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/blockbp/blockbp/internal/safetensors"
)

// Err is the error of states that cannot be gone on with.
var Err = errors.New("checkpoint")

// Errorf says why a state cannot be gone on with.
func Errorf(format string, a ...any) error {
	return fmt.Errorf("%w: %s", Err, fmt.Sprintf(format, a...))
}

// Array is a slice of a state, with its name.
type Array struct {
	Name   string
	Values []float64
	wanted []bool // [stretches of wantedTogether values] those to read; nil: all
}

// wrong refuses an array of another length.
func (a *Array) wrong(has int) error {
	return Errorf("array %q has %d values, want %d: it belongs to other data or another model", a.Name, has, len(a.Values))
}

// Fill puts into each array what others of its name have.
func Fill(arrays, from []Array) error {
	have := map[string][]float64{}
	for _, a := range from {
		have[a.Name] = a.Values
	}
	for _, a := range arrays {
		values, ok := have[a.Name]
		if !ok || len(values) != len(a.Values) {
			return a.wrong(len(values))
		}
		copy(a.Values, values)
	}
	return nil
}

// Checksum is what the metadata of a file say.
func Checksum(f *safetensors.File) string {
	return f.Metadata()[safetensors.ChecksumKey] + f.Metadata()[safetensors.DataChecksumKey]
}

// Read is Fill from a file. Nothing is read before all names and sizes are right.
func Read(f *safetensors.File, arrays []Array) error {
	for _, a := range arrays {
		has := 0
		t, ok := f.Find(a.Name)
		if ok && t.DType == safetensors.F64 {
			has = t.Elements()
		}
		if !ok || t.DType != safetensors.F64 || has != len(a.Values) {
			return a.wrong(has)
		}
	}
	for _, a := range arrays {
		t, _ := f.Find(a.Name)
		if err := a.read(f, t); err != nil {
			return err
		}
	}
	return nil
}

// wantedTogether is how many values of an array are read if one of them is wanted: a page.
const wantedTogether = 512

// read reads what is wanted of an array, which is as long as a tensor of a file.
func (a *Array) read(f *safetensors.File, t safetensors.Info) error {
	for lo, hi := 0, 0; lo < len(a.Values); lo = hi {
		is := func(at int) bool { return a.wanted == nil || a.wanted[at/wantedTogether] }
		for hi = min(lo+wantedTogether, len(a.Values)); hi < len(a.Values) && is(hi) == is(lo); {
			hi = min(hi+wantedTogether, len(a.Values))
		}
		if !is(lo) {
			continue
		}
		const double = 8
		some := t
		some.Offsets = []int64{t.Offsets[0] + double*int64(lo), t.Offsets[0] + double*int64(hi)}
		if err := safetensors.ReadInto(f, some, a.Values[lo:hi]); err != nil {
			return err
		}
	}
	return nil
}

// Want leaves out of what Read reads all but what the function is called with, parts of the arrays: the
// rest would take memory.
func Want(arrays []Array) (want func(part []float64)) {
	address := func(x []float64) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(x))) }
	var places []*Array // that have something, by where they lie
	for i := range arrays {
		if a := &arrays[i]; len(a.Values) > 0 {
			a.wanted = make([]bool, (len(a.Values)+wantedTogether-1)/wantedTogether)
			places = append(places, a)
		}
	}
	slices.SortFunc(places, func(a, b *Array) int { return cmp.Compare(address(a.Values), address(b.Values)) })
	return func(x []float64) {
		if len(x) == 0 {
			return
		}
		// It is of the last array that begins no later.
		i, begins := slices.BinarySearchFunc(places, address(x), func(a *Array, at uintptr) int { return cmp.Compare(address(a.Values), at) })
		if !begins {
			i--
		}
		a := places[i]
		at := int((address(x) - address(a.Values)) / unsafe.Sizeof(x[0]))
		for s := at / wantedTogether; s <= (at+len(x)-1)/wantedTogether; s++ {
			a.wanted[s] = true
		}
	}
}

// PartPath is where a part of the state at path is.
func PartPath(path string, part, generation int) string {
	ext := filepath.Ext(path)
	return fmt.Sprintf("%s.part-%02d.%d%s", strings.TrimSuffix(path, ext), part, generation, ext)
}

// RemoveParts removes the parts of the state at path that are not of a generation. One that cannot be
// removed takes room, and is met again by the next state.
func RemoveParts(path string, generation int) {
	folder, name := filepath.Split(path)
	entries, err := os.ReadDir(filepath.Clean(folder))
	if err != nil {
		return
	}
	ext := filepath.Ext(name)
	for _, e := range entries {
		inside, ours := strings.CutPrefix(e.Name(), strings.TrimSuffix(name, ext)+".part-")
		words := strings.Split(strings.TrimSuffix(inside, ext), ".")
		if !ours || len(words) != 2 {
			continue
		}
		part, err1 := strconv.Atoi(words[0])
		of, err2 := strconv.Atoi(words[1])
		if err1 == nil && err2 == nil && of != generation && PartPath(name, part, of) == e.Name() {
			_ = os.Remove(filepath.Join(folder, e.Name()))
		}
	}
}

// SyncFolder sees to it that a crash of the system leaves the names of files that were written. Where
// the system cannot, as on Windows, files follow each other on the disk as it likes.
func SyncFolder(path string) {
	if folder, err := os.Open(path); err == nil {
		_ = folder.Sync()
		_ = folder.Close()
	}
}
