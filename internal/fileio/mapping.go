package fileio

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Mapping is a file's content. Where the system can do that, pages of it are read from the
// disk when they are looked at, and forgotten when their memory is wanted: so a file may be
// larger than all memory is. Nobody may cut the file short while it is in use.
//
// Close gives it back. Behind that stands the garbage collector, once nothing refers to the Mapping:
// who looks at the bytes has to keep it, as they are no memory of Go's and keep nothing.
type Mapping struct {
	bytes  []byte
	mapped *region // nil: the bytes are memory of Go's
	behind runtime.Cleanup
}

// CutError is a file that has become shorter while it was in use. A look at what is gone panics with it, between
// Begin and End. Elsewhere such a look ends the program, or, after debug.SetPanicOnFault, is a panic that Cut knows.
type CutError struct{ Path string }

func (e *CutError) Error() string {
	return e.Path + ": it was cut short, or its disk went, while it was in use; write new files beside old ones, and " +
		"start again"
}

// Map opens a regular file as Open does. A file that cannot be mapped is read, if allow has nothing against its size.
func Map(path, wanted string, allow func(size int64) error) (*Mapping, error) {
	return mapFile(path, wanted, allow, false)
}

// MapOwn is Map with bytes that may be changed: the pages that are take memory then, and the file stays as it is.
func MapOwn(path, wanted string, allow func(size int64) error) (*Mapping, error) {
	return mapFile(path, wanted, allow, true)
}

func mapFile(path, wanted string, allow func(size int64) error, own bool) (*Mapping, error) {
	file, size, err := Open(path, wanted)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if m := take(path, func() []byte { return mapBytes(file, size, own) }); m != nil {
		return m, nil
	}
	bytes, err := ReadIf(path, wanted, size, allow)
	return &Mapping{bytes: bytes}, err
}

// mostMaps is how many there are at a time, half of what Linux allows a process. Go needs maps as well,
// and ends the program where it finds none left. A file beyond that is read.
var mostMaps int64 = 1 << 15

// inUse counts those that there are.
var inUse atomic.Int64

// take makes a Mapping of what is mapped; nil: it cannot be.
func take(path string, mapped func() []byte) *Mapping {
	var bytes []byte
	if inUse.Add(1) <= mostMaps {
		bytes = mapped()
	}
	if bytes == nil {
		inUse.Add(-1)
		return nil
	}
	m := &Mapping{bytes: bytes, mapped: &region{path, bytes}}
	regions.Store(m.mapped, nil)
	m.behind = runtime.AddCleanup(m, (*region).giveBack, m.mapped)
	return m
}

// Close gives the mapping back. Nobody may look at its bytes any more.
func (m *Mapping) Close() {
	if m.mapped != nil {
		m.behind.Stop()
		m.mapped.giveBack()
	}
	*m = Mapping{}
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
	path  string
	bytes []byte
}

func (r *region) holds(address uintptr) bool {
	return address-uintptr(unsafe.Pointer(&r.bytes[0])) < uintptr(len(r.bytes))
}

func (r *region) giveBack() {
	regions.Delete(r)
	unmap(r.bytes)
	inUse.Add(-1)
}

// regions are those of all files that are mapped: *region to nil.
var regions sync.Map

// Cut returns the file that a panic is due to: a look at a mapped file where it is gone, or a
// *CutError. It is nil for other panics.
func Cut(panicked any) *CutError {
	cut, _ := panicked.(*CutError)
	if at, ok := panicked.(interface{ Addr() uintptr }); ok {
		regions.Range(func(r, _ any) bool {
			if r := r.(*region); r.holds(at.Addr()) {
				cut = &CutError{r.path}
			}
			return cut == nil
		})
	}
	return cut
}

// Bytes returns the content, which must not be changed but of MapOwn and Blank. It is there for as long as
// the mapping is in use: runtime.KeepAlive says so after the last look at the bytes.
func (m *Mapping) Bytes() []byte { return m.bytes }
