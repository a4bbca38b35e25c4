// Package fileio reads the files that commands are given, within bounds (read.go), and writes a file
// as a whole: readers see the old file or the new one, never a part, also after a crash or a full disk.
// Write replaces what is there, a Target only what it may.
package fileio

import (
	"bufio"
	"errors"
	"io"
	"os"
	"sync"
)

// bufferBytes is the size of the write buffer: large enough that small records do not each cost a system call.
const bufferBytes = 1 << 18

// Write makes the file at path through write, whole or not at all, and replaces what is there, as a Target that may
// replace anything does. New files get the permissions 0644 less the umask.
func Write(path string, write func(w io.Writer) error) error {
	return Target{Path: path, Replace: Always}.Write(write)
}

// fill calls write with a buffered writer to a new file, which it syncs, or to a stream.
func fill(path string, write func(w io.Writer) error) error {
	stream, flags := IsStream(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL
	if stream {
		flags = os.O_WRONLY | os.O_APPEND // it can lead to a file, after what is in it
	}
	file, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	buffered := bufio.NewWriterSize(file, bufferBytes)
	if err := write(buffered); err != nil {
		return err
	}
	if err := buffered.Flush(); err != nil || stream {
		return errors.Join(err, file.Close())
	}
	return errors.Join(file.Sync(), file.Close())
}

// unfinished are the paths of temporary folders.
var unfinished sync.Map

// finishing is held while a file gets its name, and for ever by Abandon.
var finishing sync.RWMutex

// Abandon removes what is being written, for a program that ends without its writers: files
// stay as they are, and none is left in part. No file is finished afterwards.
func Abandon() {
	finishing.Lock()
	unfinished.Range(func(path, _ any) bool {
		_ = os.RemoveAll(path.(string)) // what cannot be removed is hidden
		return true
	})
}
