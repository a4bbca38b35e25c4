// Package spill keeps large arrays in a file: the system then has in memory what is in use, and
// writes the rest to the disk, so that a run may be larger than memory is.
//
// A Space lies in few files, mapped as a whole. They have no names, so that nothing is left of them when the
// program ends, however it does; and their room on the disk is taken at once, so that none is missing
// later, where all that the system could do is to end the program.
package spill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"unsafe"

	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/option"
)

// Number are the types of elements.
type Number interface{ int32 | float32 | float64 }

// alignment of arrays, in bytes: a line of the cache.
const alignment = 64

// Space is where arrays lie; nil stands for memory. Its files are there until Close, or until nothing refers to the
// Space, as arrays themselves do not.
type Space struct {
	Folder string
	// Bytes is what its files take.
	Bytes int64
	files []*file
	free  []byte // of the last one
}

// file is mapped. Behind close stands the garbage collector.
type file struct {
	bytes  []byte
	behind runtime.Cleanup
}

// leastFile is the least that a file takes: the system maps only so many.
const leastFile = 1 << 20

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

// Reserve makes room for so many bytes of arrays. The error is an *Error.
func (s *Space) Reserve(bytes int64) error {
	if bytes <= int64(len(s.free)) {
		return nil
	}
	mapped, err := mapNew(s.Folder, max(bytes, leastFile))
	if err != nil {
		return &Error{s.Folder, bytes, err}
	}
	f := &file{bytes: mapped}
	f.behind = runtime.AddCleanup(f, unmap, mapped)
	s.Bytes, s.free, s.files = s.Bytes+int64(len(mapped)), mapped, append(s.files, f)
	return nil
}

// Zeros returns n zeros of a Space, for which there is room, or where s is nil of memory.
func Zeros[T Number](s *Space, n int) []T {
	switch {
	case s == nil:
		return memory.Zeros[T](n)
	case n == 0:
		return []T{}
	}
	room := Room[T](n)
	slice := unsafe.Slice((*T)(unsafe.Pointer(&s.free[:room][0])), n)
	s.free = s.free[room:]
	return slice[:n:n]
}

// writeZeros takes room for a file where the file system has no call for that.
func writeZeros(file *os.File, bytes int64) error {
	zeros := make([]byte, min(bytes, 1<<20))
	for left := bytes; left > 0; left -= int64(len(zeros)) {
		if _, err := file.Write(zeros[:min(left, int64(len(zeros)))]); err != nil {
			return err
		}
	}
	return nil
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

// Close gives the files back. Arrays of the Space must not be looked at any more.
func (s *Space) Close() {
	if s == nil {
		return
	}
	for _, f := range s.files {
		f.behind.Stop()
		unmap(f.bytes)
	}
	s.files, s.free = nil, nil
}
