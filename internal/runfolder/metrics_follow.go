package runfolder

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/blockbp/blockbp/internal/infile"
)

// headBytes is how much of a metrics file, at its beginning and before the last record
// that was read, tells it from another one of its name: a record, with its seconds, is
// not longer by much.
const headBytes = 256

// A Follower reads a metrics file while a process writes it. The file need not be there
// yet.
type Follower struct {
	path   string
	file   os.FileInfo // as it was last read; nil: not yet
	head   []byte      // its first bytes
	tail   []byte      // those before offset
	offset int64       // behind the last whole line that was read
	line   int         // number of that line
}

// Follow begins at the first record of the metrics file at path.
func Follow(path string) *Follower { return &Follower{path: path} }

// Next hands each record that was written since the last call to visit; a line that is
// not written whole is left for later. Where records that were handed over are there no
// more, as when a resumed run repeats iterations, anew is called first, and all records
// follow from the first one. A whole line that is no record is passed over: the first
// of them is the *LineError returned.
func (f *Follower) Next(anew func(), visit func(*Metric)) error {
	file, size, err := infile.Open(f.path, "the metrics of a run")
	if errors.Is(err, fs.ErrNotExist) {
		f.restart(anew)
		return nil
	} else if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if f.file == nil || !os.SameFile(f.file, info) || size < f.offset ||
		!bytes.Equal(f.head, bytesAt(file, 0, len(f.head))) ||
		!bytes.Equal(f.tail, bytesAt(file, f.offset-int64(len(f.tail)), len(f.tail))) {
		f.restart(anew)
	}
	f.file = info
	err = f.read(bufio.NewReaderSize(io.NewSectionReader(file, f.offset, size-f.offset), readBuffer), visit)
	n := int(min(f.offset, headBytes))
	f.head, f.tail = bytesAt(file, 0, n), bytesAt(file, f.offset-int64(n), n)
	return err
}

// restart forgets what was read.
func (f *Follower) restart(anew func()) {
	if f.offset > 0 {
		anew()
	}
	*f = Follower{path: f.path}
}

// bytesAt is a part of a file, of at most so many bytes.
func bytesAt(file io.ReaderAt, offset int64, most int) []byte {
	part := make([]byte, most)
	n, _ := file.ReadAt(part, offset) // what cannot be read differs from what was
	return part[:n]
}

// read reads whole lines.
func (f *Follower) read(lines *bufio.Reader, visit func(*Metric)) error {
	var wrong error
	for {
		line, err := readLine(lines)
		if errors.Is(err, io.EOF) {
			return wrong
		}
		if err != nil {
			return fmt.Errorf("reading metrics %s: %w", f.path, err)
		}
		f.offset += int64(len(line))
		f.line++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var m Metric
		if err := parseMetric(line, &m); err == nil {
			visit(&m)
		} else if wrong == nil {
			wrong = lineError(f.path, f.line, err)
		}
	}
}
