package fileio

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Target is a file to be made, and what may happen to one that is there already.
type Target struct {
	Path string
	// Replace is asked at the last moment before a file that is there would be
	// replaced, and its error ends the matter; nil: nothing ever is.
	Replace func() error
}

// Always is the Replace of a Target that may replace anything.
func Always() error { return nil }

// ExistsError says that something is in the place of a file that was to be made, and that it was left alone.
type ExistsError struct{ Path string }

// Error implements error.
func (e *ExistsError) Error() string {
	return fmt.Sprintf("%s is there, and was not when this command looked; it stays as it is", e.Path)
}

// Unwrap makes errors.Is(err, fs.ErrExist) true.
func (e *ExistsError) Unwrap() error { return fs.ErrExist }

// Write makes the file through write, whole or not at all. A path that is not a regular file, such as a pipe or
// /dev/stdout, is written to directly.
func (t Target) Write(write func(io.Writer) error) error {
	return t.Via(func(path string) error { return fill(path, write) })
}

// Via makes the file through a function that writes a file at a path that it is given: one of the same name in a
// folder of its own beside it, which then takes the place of the file. So the function needs to know nothing of what
// is there. If that appears while the function works, Via returns an *ExistsError, unless it may be replaced. A
// symbolic link that may be replaced is followed, and stays.
func (t Target) Via(write func(path string) error) error {
	if IsStream(t.Path) {
		return write(t.Path)
	}
	place := t.Path
	if t.Replace != nil {
		place = follow(place)
	}
	folder, err := os.MkdirTemp(filepath.Dir(place), ".blockbp-*")
	if err != nil {
		return err
	}
	unfinished.Store(folder, nil)
	defer unfinished.Delete(folder)
	defer os.RemoveAll(folder)
	made := filepath.Join(folder, filepath.Base(t.Path))
	if err := write(made); err != nil {
		return &movedError{strings.ReplaceAll(err.Error(), made, t.Path), err}
	}
	finishing.RLock()
	defer finishing.RUnlock()
	if _, err := os.Lstat(place); err == nil {
		if t.Replace == nil {
			return &ExistsError{place}
		}
		if err := t.Replace(); err != nil {
			return err
		}
	}
	return os.Rename(made, place)
}

// movedError is an error that names the file, not where it is being made.
type movedError struct {
	text string
	err  error
}

func (e *movedError) Error() string { return e.text }

func (e *movedError) Unwrap() error { return e.err }

// follow returns where a symbolic link leads, there or not, and else the path itself.
func follow(path string) string {
	const most = 40 // as systems have it: links can lead in a circle
	for range most {
		to, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			folder := filepath.Dir(path) // which may be a link, and .. is of where it leads
			if real, err := filepath.EvalSymlinks(folder); err == nil {
				folder = real
			}
			to = filepath.Join(folder, to)
		}
		path = to
	}
	return path
}

// IsStream reports whether what is written to a path is no file of that name: a pipe,
// a device, or a stream that is open already, such as /dev/stdout, whatever that is.
func IsStream(path string) bool {
	if IsOpen(path) {
		return true
	}
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

// IsOpen reports whether a path stands for a stream that this process has open already,
// such as /dev/stdin or what a shell puts in the place of <(command).
func IsOpen(path string) bool {
	path = filepath.ToSlash(filepath.Clean(path))
	switch path {
	case "/dev/stdin", "/dev/stdout", "/dev/stderr":
		return true
	}
	return strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/self/fd/")
}
