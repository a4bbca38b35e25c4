// Package spill keeps large arrays in a file: the system then has in memory what is in use, and
// writes the rest to the disk, so that a run may be larger than memory is.
//
// A Space is one file, mapped as a whole. It has no name, so that nothing is left of it when the
// program ends, however it does; and its room on the disk is taken at once, so that none is missing
// later, where all that the system could do is to end the program.
package spill

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"unsafe"

	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/option"
)

// Number are the types of elements.
type Number interface{ int32 | float32 | float64 }

// alignment of arrays, in bytes: a line of the cache.
const alignment = 64

// Space is a file that arrays lie in. nil stands for memory. Close gives it back; behind that stands the
// garbage collector, once nothing refers to the Space, as arrays themselves do not.
type Space struct {
	bytes  []byte // all of it
	free   []byte
	behind runtime.Cleanup
	pool   *Pool // that it is a part of, or nil
}

// Room returns what an array of n elements takes of a Space, in bytes.
func Room[T Number](n int) int64 {
	var one T
	return (int64(n)*int64(unsafe.Sizeof(one)) + alignment - 1) / alignment * alignment
}

// errNoFiles is that of systems without files of this kind.
var errNoFiles = errors.New("this system has no files for it: leave {spill} out")

// Error says that there is no room for a Space.
type Error struct {
	Folder string
	Bytes  int64
	Cause  error
}

// Error implements error.
func (e *Error) Error() string { return option.Go(e.References()) }

// References is the text with its references to options.
func (e *Error) References() string {
	text := fmt.Sprintf("{spill} %s: %s are to be kept there: %v", e.Folder, memory.Text(float64(e.Bytes)), e.Cause)
	switch {
	case full(e.Cause):
		text += "; name a folder on a disk with as much room, or leave {spill} out if there is memory enough"
	case errors.Is(e.Cause, fs.ErrNotExist):
		text += "; make the folder first"
	}
	return text
}

func (e *Error) Unwrap() error { return e.Cause }

// Reserve makes a Space of so many bytes in a folder. The error is an *Error.
func Reserve(folder string, bytes int64) (*Space, error) {
	if bytes == 0 {
		return &Space{}, nil
	}
	mapped, err := mapNew(folder, bytes)
	if err != nil {
		return nil, &Error{folder, bytes, err}
	}
	s := &Space{bytes: mapped, free: mapped}
	s.behind = runtime.AddCleanup(s, unmap, mapped)
	return s, nil
}

// Pool makes Spaces in a folder that lie in few files, as the system maps only so many. They are
// there until Close, or until nothing refers to any of them or to the Pool.
type Pool struct {
	Folder string
	// Bytes is what its files take.
	Bytes int64
	files []*Space
	free  []byte
}

// poolFile is the least that a file of a Pool takes.
const poolFile = 1 << 20

// Reserve makes a Space of so many bytes. The error is an *Error.
func (p *Pool) Reserve(bytes int64) (*Space, error) {
	if bytes > int64(len(p.free)) {
		s, err := Reserve(p.Folder, max(bytes, poolFile))
		if err != nil {
			return nil, err
		}
		p.Bytes, p.free, p.files = p.Bytes+int64(len(s.bytes)), s.bytes, append(p.files, s)
	}
	s := &Space{free: p.free[:bytes], pool: p}
	p.free = p.free[bytes:]
	return s, nil
}

// Close gives the files back. Arrays of its Spaces must not be looked at any more.
func (p *Pool) Close() {
	if p == nil {
		return
	}
	for _, file := range p.files {
		file.Close()
	}
	p.files, p.free = nil, nil
}

// Zeros returns n zeros of a Space, or where s is nil of memory. More than was reserved is a panic.
func Zeros[T Number](s *Space, n int) []T {
	switch {
	case s == nil:
		return inMemory[T](n)
	case n == 0:
		return []T{}
	}
	room := Room[T](n)
	slice := unsafe.Slice((*T)(unsafe.Pointer(&s.free[:room][0])), n)
	s.free = s.free[room:]
	return slice[:n:n]
}

func inMemory[T Number](n int) []T {
	var zeros any
	switch any(T(0)).(type) {
	case float64:
		zeros = memory.Zeros[float64](n)
	case float32:
		zeros = memory.Zeros[float32](n)
	default:
		return make([]T, n)
	}
	return zeros.([]T)
}

// Copy returns a copy of x in a Space; nil where x is.
func Copy[T Number](s *Space, x []T) []T {
	if x == nil {
		return nil
	}
	c := Zeros[T](s, len(x))
	copy(c, x)
	return c
}

// Close gives the file back. Arrays of the Space must not be looked at any more.
func (s *Space) Close() {
	if s != nil && s.bytes != nil {
		s.behind.Stop()
		unmap(s.bytes)
		s.bytes, s.free = nil, nil
	}
}
