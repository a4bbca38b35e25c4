package runfolder

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/blockbp/blockbp/internal/atomicfile"
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

// Metrics opens the metrics file of the run for appending.
func (run *Run) Metrics() (*MetricsWriter, error) {
	return OpenMetrics(run.Path(MetricsFile))
}

// OpenMetrics opens the metrics file at path for appending, and makes it and its
// folder if need be. A torn last line of an earlier writer is removed.
func OpenMetrics(path string) (*MetricsWriter, error) {
	if err := os.MkdirAll(filepath.Dir(path), folderPermission); err != nil {
		return nil, fmt.Errorf("opening metrics: %w", err)
	}
	w := &MetricsWriter{path: path}
	if err := w.open(); err != nil {
		return nil, err
	}
	return w, nil
}

// open opens the file and mends its end.
func (w *MetricsWriter) open() error {
	file, err := os.OpenFile(w.path, os.O_RDWR|os.O_CREATE, filePermission)
	if err != nil {
		return fmt.Errorf("opening metrics: %w", err)
	}
	if err := mendEnd(file); err != nil {
		return errors.Join(fmt.Errorf("opening metrics %s: %w", w.path, err), file.Close())
	}
	w.file, w.flushed = file, time.Now()
	return nil
}

// mendEnd leaves file at its end, just after a line end: a last line without one
// gets one if it is a whole record, and is cut off if not.
func mendEnd(file *os.File) error {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	tail, err := lastLine(file, size)
	if err != nil || len(tail) == 0 {
		return err
	}
	var m Metric
	if parseMetric(tail, &m) == nil {
		_, err = file.Write([]byte("\n"))
		return err
	}
	if err := file.Truncate(size - int64(len(tail))); err != nil {
		return err
	}
	_, err = file.Seek(0, io.SeekEnd)
	return err
}

// lastLine is what follows the last line end in the first size bytes of file.
func lastLine(file io.ReaderAt, size int64) ([]byte, error) {
	for length := int64(readBuffer); ; length *= 2 {
		start := max(0, size-length)
		tail := make([]byte, size-start)
		if _, err := file.ReadAt(tail, start); err != nil {
			return nil, err
		}
		if end := bytes.LastIndexByte(tail, '\n'); end >= 0 || start == 0 {
			return tail[end+1:], nil
		}
	}
}

// Write appends one record. It may reach the file only with a later Write, Flush or
// Close.
func (w *MetricsWriter) Write(m Metric) error {
	if w.err != nil {
		return w.err
	}
	written := len(w.buffer)
	line, err := appendMetric(w.buffer, &m)
	if err != nil {
		w.buffer = line[:written]
		return fmt.Errorf("writing metrics %s: %w", w.path, err)
	}
	w.buffer = append(line, '\n')
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

// Close flushes, syncs to the disk and closes the file. A second call does
// nothing.
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

// TruncateAfter drops the records of iterations after iter, so that a resumed run
// can repeat them, and what Gaps speaks of; all others stay byte for byte, fields that are unknown here
// included. The file is replaced atomically.
func (w *MetricsWriter) TruncateAfter(iter int) error {
	if err := w.Flush(); err != nil {
		return err
	}
	if err := w.file.Close(); err != nil {
		return fmt.Errorf("truncating metrics: %w", err)
	}
	kept := writeAtomically(atomicfile.Target{Path: w.path, Replace: atomicfile.Always}, func(path string) error {
		return atomicfile.Write(path, func(out io.Writer) error { return copyUntil(out, w.path, iter) })
	})
	if err := w.open(); err != nil {
		w.file, w.err = nil, err
		return errors.Join(kept, err)
	}
	return kept
}

// copyUntil copies the records of the metrics file at path with iterations up to iter.
func copyUntil(out io.Writer, path string, iter int) error {
	return eachUntil(path, iter, func(_ *Metric, line []byte) error {
		if _, err := out.Write(line); err != nil {
			return err
		}
		_, err := out.Write([]byte("\n"))
		return err
	}, func(*LineError) {})
}
