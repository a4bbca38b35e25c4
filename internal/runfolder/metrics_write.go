package runfolder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/blockbp/blockbp/internal/fileio"
)

// flushEvery is the longest that records wait for others before they reach the file: who
// follows a run sees it move, and a thousand iterations a second share a system call.
const flushEvery = 500 * time.Millisecond

// MetricsWriter appends records to a metrics file. Lines are gathered and handed
// to the system only as whole lines. It is not safe for concurrent use.
type MetricsWriter struct {
	path    string
	file    *os.File
	buffer  []byte    // whole lines not yet written
	flushed time.Time // when the buffer was last empty
	err     error     // the first failure, repeated by every later call
}

// Metrics opens the metrics file of the run for appending. Of what is there the records of iterations up to last stay,
// byte for byte, fields that are unknown here included: a resumed run repeats the others. Lines that
// are no records go.
func (run *Run) Metrics(last int) (*MetricsWriter, error) {
	path := run.Path(MetricsFile)
	err := writeAtomically(fileio.Target{Path: path, Replace: fileio.Always}, func(to string) error {
		return fileio.Write(to, func(out io.Writer) error {
			err := eachUntil(path, last, func(line []byte) error {
				_, err := out.Write(append(slices.Clip(line), '\n'))
				return err
			})
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, filePermission)
	if err != nil {
		return nil, fmt.Errorf("opening metrics: %w", err)
	}
	return &MetricsWriter{path: path, file: file, flushed: time.Now()}, nil
}

// Write appends one record. It may reach the file only with a later Write, Flush or Close.
func (w *MetricsWriter) Write(m Metric) error {
	if w.err != nil {
		return w.err
	}
	line, err := m.MarshalJSON()
	if err != nil {
		return fmt.Errorf("writing metrics %s: %w", w.path, err)
	}
	w.buffer = append(append(w.buffer, line...), '\n')
	if len(w.buffer) >= readBuffer || time.Since(w.flushed) >= flushEvery {
		return w.Flush()
	}
	return nil
}

// Flush hands all lines to the operating system.
func (w *MetricsWriter) Flush() error {
	if w.err != nil {
		return w.err
	}
	if _, err := w.file.Write(w.buffer); err != nil {
		w.err = fmt.Errorf("writing metrics: %w", WithRoomAdvice(err, "resume the run: all whole records before are kept"))
		return w.err
	}
	w.buffer, w.flushed = w.buffer[:0], time.Now()
	return nil
}

// Close flushes, syncs to the disk and closes the file. A second call does nothing.
func (w *MetricsWriter) Close() error {
	if w.file == nil {
		return nil
	}
	err := w.Flush()
	if err == nil {
		err = w.file.Sync()
	}
	err = errors.Join(err, w.file.Close())
	w.file = nil
	w.err = fmt.Errorf("writing metrics %s: %w", w.path, os.ErrClosed)
	return err
}
