package fileio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Reading. Files that commands are given are opened and read whatever stands under their names.
//
// A device has no end, a pipe has an end only when somebody else says so, and a folder is
// no file: none of them is opened. What is read as a whole has a limit. So no name of a
// file makes a command wait, or take memory, without an end.

// Text is the limit for files that people or commands write for commands to read as a
// whole: configurations, records and lists. It is in bytes.
const Text = 64 << 20

// Open opens a regular file, or a symbolic link to one, and returns its size. wanted says
// in errors, which are *fs.PathError, what the file was to be.
func Open(path, wanted string) (file *os.File, size int64, err error) {
	if size, err = Check(path, wanted); err != nil { // before it is opened: that would wait for a pipe
		return nil, 0, err
	}
	file, err = os.Open(path)
	return file, size, err
}

// Check refuses what Open refuses, opens nothing, and returns the size.
func Check(path, wanted string) (size int64, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	kind, mode := "a device", info.Mode()
	switch {
	case mode.IsRegular():
		return info.Size(), nil
	case mode.IsDir():
		kind = "a folder"
	case mode&fs.ModeNamedPipe != 0:
		kind = "a pipe"
	case mode&fs.ModeSocket != 0:
		kind = "a socket"
	}
	return 0, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("it is no regular file but %s: want %s", kind, wanted)}
}

// Read reads a file as Open opens it, of at most so many bytes.
func Read(path, wanted string, most int64) ([]byte, error) {
	return ReadIf(path, wanted, most, func(int64) error { return nil })
}

// ReadIf is Read if allow has nothing against the size of the file. What the file grows
// by in the meantime is an error, too.
func ReadIf(path, wanted string, most int64, allow func(size int64) error) ([]byte, error) {
	file, size, err := Open(path, wanted)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if size > most {
		return nil, &fs.PathError{Op: "read", Path: path,
			Err: fmt.Errorf("it has %d bytes, and at most %d are read: want %s", size, most, wanted)}
	}
	if err := allow(size); err != nil {
		return nil, err
	}
	text := make([]byte, size)
	if n, err := io.ReadFull(file, text); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return text[:n], nil
	} else if err != nil {
		return nil, err
	}
	if n, _ := file.Read(make([]byte, 1)); n > 0 {
		return nil, &fs.PathError{Op: "read", Path: path,
			Err: errors.New("it grows while it is read: wait until it is written")}
	}
	return text, nil
}

// Lines makes line feeds of carriage returns, in place, in a text whose lines end in these alone, as spreadsheets still
// write for old Macintosh computers, and leaves out the mark that some editors begin a text with.
func Lines(text []byte) []byte {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if bytes.IndexByte(text, '\n') < 0 {
		for i, c := range text {
			if c == '\r' {
				text[i] = '\n'
			}
		}
	}
	return text
}
