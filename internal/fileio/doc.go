// Package fileio reads the files that commands are given, within bounds (read.go), and writes a file
// as a whole: readers see the old file or the new one, never a part, also after a crash or a full disk.
// Write replaces what is there, a Target only what it may.
package fileio

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
)

// bufferBytes is the size of the write buffer: large enough that small records do not each cost a system call.
const bufferBytes = 1 << 18

// Write calls write with a buffered writer to a temporary file in the folder of path, syncs it and renames it to
// path. When write or anything after it fails, the error is returned, the temporary file is removed and path is left
// as it was. New files get the permissions 0644 less the umask.
//
// A symbolic link is followed, and stays. A path that is not a regular file, such
// as a pipe or /dev/stdout, is written to directly.
func Write(path string, write func(w io.Writer) error) error {
	if IsStream(path) {
		return writeDirectly(path, write)
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	file, err := create(path)
	if err != nil {
		return err
	}
	unfinished.Store(file.Name(), nil)
	defer unfinished.Delete(file.Name())
	defer func() {
		_ = file.Close()
		_ = os.Remove(file.Name()) // once it is renamed, there is nothing of that name
	}()
	buffered := bufio.NewWriterSize(file, bufferBytes)
	if err := write(buffered); err != nil {
		return err
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	finishing.RLock()
	defer finishing.RUnlock()
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// create makes a temporary file in the folder of a path.
func create(path string) (*os.File, error) {
	name := fmt.Sprintf(".%s%020d", filepath.Base(path), rand.Uint64()) // runfolder.IsLeftover knows such names
	return os.OpenFile(filepath.Join(filepath.Dir(path), name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
}

// unfinished are the paths of temporary files and folders.
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

func writeDirectly(path string, write func(w io.Writer) error) error {
	// A stream can lead to a file, after what is in it.
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	buffered := bufio.NewWriterSize(file, bufferBytes)
	if err := write(buffered); err != nil {
		return err
	}
	return errors.Join(buffered.Flush(), file.Close())
}
