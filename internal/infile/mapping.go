package infile

import (
	"runtime"
	"runtime/debug"
	"sync"
	"unsafe"
)

// Mapping is a file's content. Where the system can do that, pages of it are read from the
// disk when they are looked at, and forgotten when their memory is wanted: so a file may be
// larger than all memory is. Nobody may cut the file short while it is in use.
type Mapping struct {
	path  string
	bytes []byte
}

// CutError is a file that has become shorter while it was in use. A look at what is gone
// panics with it, between Begin and End. Elsewhere such a look ends the program, or, after
// debug.SetPanicOnFault, is a panic that Cut knows.
type CutError struct{ Path string }

func (e *CutError) Error() string {
	return e.Path + ": it was cut short, or its disk went, while it was in use; write new files beside old ones, and start again"
}

// Map opens a regular file as Open does. A file that cannot be mapped is read, if allow has
// nothing against its size.
func Map(path, wanted string, allow func(size int64) error) (*Mapping, error) {
	return mapFile(path, wanted, allow, false)
}

// MapOwn is Map with bytes that may be changed: the pages that are take memory then, and the
// file stays as it is.
func MapOwn(path, wanted string, allow func(size int64) error) (*Mapping, error) {
	return mapFile(path, wanted, allow, true)
}

func mapFile(path, wanted string, allow func(size int64) error, own bool) (*Mapping, error) {
	file, size, err := Open(path, wanted)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if bytes := mapBytes(file, size, own); bytes != nil {
		m := &Mapping{path, bytes}
		mapped := &region{path, uintptr(unsafe.Pointer(&bytes[0])), uintptr(len(bytes)), own}
		regions.Store(mapped, nil)
		runtime.AddCleanup(m, func(bytes []byte) {
			regions.Delete(mapped)
			unmap(bytes)
		}, bytes)
		return m, nil
	}
	bytes, err := ReadIf(path, wanted, size, allow)
	return &Mapping{path, bytes}, err
}

// Begin comes before looks at the bytes; what it returns is for End, which is deferred.
func (m *Mapping) Begin() (before bool) { return debug.SetPanicOnFault(true) }

// End makes a panic with a *CutError of a look at what is gone.
func (m *Mapping) End(before bool) {
	debug.SetPanicOnFault(before)
	if r := recover(); r != nil {
		if cut := Cut(r); cut != nil {
			panic(cut)
		}
		panic(r)
	}
	runtime.KeepAlive(m)
}

// region is where a file is mapped.
type region struct {
	path        string
	first, size uintptr
	own         bool // bytes may have been changed
}

// regions are those of all files that are mapped: *region to nil.
var regions sync.Map

// Cut returns the file that a panic is due to: a look at a mapped file where it is gone, or a
// *CutError. It is nil for other panics.
func Cut(panicked any) *CutError {
	cut, _ := panicked.(*CutError)
	if at, ok := panicked.(interface{ Addr() uintptr }); ok {
		regions.Range(func(r, _ any) bool {
			if r := r.(*region); at.Addr()-r.first < r.size {
				cut = &CutError{r.path}
			}
			return cut == nil
		})
	}
	return cut
}

var (
	keptMutex sync.Mutex
	kept      []*Mapping
)

// Keep keeps the mapping until the program ends, for those who share its memory and do not
// know when they are done.
func (m *Mapping) Keep() {
	keptMutex.Lock()
	defer keptMutex.Unlock()
	kept = append(kept, m)
}

// Bytes returns the content, which must not be changed but of MapOwn. It is there for as long as the
// mapping is in use: runtime.KeepAlive says so after the last look at the bytes.
func (m *Mapping) Bytes() []byte { return m.bytes }
