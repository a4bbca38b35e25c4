package runfolder

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/option"
)

// readBuffer is the size of the buffers for metrics files, in bytes: large
// enough that system calls do not show, small enough to be forgotten.
const readBuffer = 1 << 16

// longestLine is the limit for a line of a metrics file, in bytes: no record takes as much.
const longestLine = 1 << 20

var errLongLine = fmt.Errorf("the line has more than %d bytes: this is no metrics file, or it is damaged; go back "+
	"to a copy", longestLine)

// LineError says what is wrong with one line of a metrics file.
type LineError = option.Error

func lineError(path string, line int, err error) *LineError {
	return &LineError{File: path, Line: line, Problem: err.Error(), Cause: err}
}

// place is how far a metrics file has been read.
type place struct {
	path   string
	offset int64 // behind the last whole line that was read
	line   int   // number of that line
	// growing: a last line without a line end is left for later. Else it is a record, or torn, as the writer was
	// stopped there, and passed over.
	growing bool
}

// visitor is handed each line of a metrics file that is not blank, as it stands but for the line end: its record, or
// what is wrong with it.
type visitor func(m *Metric, line []byte, wrong *LineError) error

// read goes on in a file.
func (p *place) read(file io.Reader, visit visitor) error {
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, readBuffer), longestLine+1)
	lines.Split(func(text []byte, atEnd bool) (int, []byte, error) {
		n := bytes.IndexByte(text, '\n') + 1
		if n == 0 && atEnd {
			n = len(text)
		}
		if n == 0 {
			return 0, nil, nil
		}
		return n, text[:n:n], nil
	})
	for lines.Scan() {
		line, ended := bytes.CutSuffix(lines.Bytes(), []byte("\n"))
		if len(bytes.TrimSpace(line)) > 0 && (ended || !p.growing) {
			var m Metric
			var wrong *LineError
			if err := m.UnmarshalJSON(line); err != nil {
				wrong = lineError(p.path, p.line+1, err)
			}
			if wrong == nil || ended {
				if err := visit(&m, line, wrong); err != nil {
					return err
				}
			}
		}
		if ended {
			p.offset += int64(len(line)) + 1
			p.line++
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return lineError(p.path, p.line+1, errLongLine)
	case err != nil:
		return fmt.Errorf("reading metrics %s: %w", p.path, err)
	}
	return nil
}

// eachLine reads the metrics file at path.
func eachLine(path string, visit visitor) error {
	file, _, err := fileio.Open(path, "the metrics of a run")
	if err != nil {
		return fmt.Errorf("reading metrics: %w", err)
	}
	defer file.Close()
	p := place{path: path}
	return p.read(file, visit)
}

// ReadMetrics reads a metrics file, in the order of its lines. Blank lines are passed over, and so is a last line
// that is torn: one without a line end that is no record. Any other bad line is a *LineError.
func ReadMetrics(path string) (metrics []Metric, err error) {
	err = eachLine(path, func(m *Metric, _ []byte, wrong *LineError) error {
		if wrong != nil {
			return wrong
		}
		metrics = append(metrics, *m)
		return nil
	})
	return metrics, err
}

// A Follower reads a metrics file while a process writes it. The file need not be there yet.
type Follower struct {
	place
	file os.FileInfo // as it was last read; nil: not yet
}

// Follow begins at the first record of the metrics file at path.
func Follow(path string) *Follower { return &Follower{place: place{path: path, growing: true}} }

// Next hands each record that was written since the last call to visit; a line that is not written whole is left for
// later. Where records that were handed over are there no more, as when a resumed run repeats iterations, anew is
// called first, and all records follow from the first one. A whole line that is no record is passed over: the first
// of them is the *LineError returned.
func (f *Follower) Next(anew func(), visit func(*Metric)) error {
	file, size, err := fileio.Open(f.path, "the metrics of a run")
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
	if f.file == nil || !os.SameFile(f.file, info) || size < f.offset { // a run that is resumed makes another file
		f.restart(anew)
	}
	f.file = info
	var first *LineError
	err = f.read(io.NewSectionReader(file, f.offset, size-f.offset), func(m *Metric, _ []byte, wrong *LineError) error {
		if wrong == nil {
			visit(m)
		} else if first == nil {
			first = wrong
		}
		return nil
	})
	if err == nil && first != nil {
		err = first
	}
	return err
}

// restart forgets what was read.
func (f *Follower) restart(anew func()) {
	if f.offset > 0 {
		anew()
	}
	*f = *Follow(f.path)
}

// eachUntil reads the records with iterations up to iter of the metrics file at path, but for lines that are none, and
// for records of an iteration that is there already.
func eachUntil(path string, iter int, visit func(line []byte) error) error {
	last := -1
	return eachLine(path, func(m *Metric, line []byte, wrong *LineError) error {
		if wrong != nil || m.Iter > iter || m.Iter <= last {
			return nil
		}
		last = m.Iter
		return visit(line)
	})
}

// Gaps says in words how many of the iterations 0 to last, one record each, the metrics file at path lacks; "" if it is
// whole.
func Gaps(path string, last int) (text string, err error) {
	missing := last + 1
	err = eachUntil(path, last, func([]byte) error { missing--; return nil })
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", err
	case missing == 0 || last <= 0: // a run may be interrupted before the record of its start
		return "", nil
	}
	return fmt.Sprintf("%s lacks the records of %d of the %d iterations so far, and curves will lack them; the training "+
		"itself goes on unchanged", path, missing, last+1), nil
}
