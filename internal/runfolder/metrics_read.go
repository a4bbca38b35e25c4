package runfolder

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// readBuffer is the size of the buffers for metrics files, in bytes: large
// enough that system calls do not show, small enough to be forgotten.
const readBuffer = 1 << 16

// LineError says what is wrong with one line of a metrics file.
type LineError struct {
	Path string
	Line int // from 1
	Err  error
}

// Error implements error.
func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.Path, e.Line, e.Err) }

// Unwrap is the reason.
func (e *LineError) Unwrap() error { return e.Err }

// ReadMetrics reads a metrics file, in the order of its lines. Blank lines are
// passed over, and so is a last line that is torn: one without a line end that is
// no record. Any other bad line is a *LineError.
func ReadMetrics(path string) ([]Metric, error) {
	var metrics []Metric
	err := eachMetric(path, func(m *Metric, _ []byte) error {
		metrics = append(metrics, *m)
		return nil
	})
	return metrics, err
}

// eachMetric hands each record of the metrics file at path to visit, with its
// line as it stands but for the line end. Neither outlives the call, except for
// the map in m.
func eachMetric(path string, visit func(m *Metric, line []byte) error) error {
	return eachLine(path, func(m *Metric, line []byte, wrong *LineError) error {
		if wrong != nil {
			return wrong
		}
		return visit(m, line)
	})
}

// eachLine does what eachMetric does, and leaves to visit what to do about a line that
// is no record.
func eachLine(path string, visit func(m *Metric, line []byte, wrong *LineError) error) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading metrics: %w", err)
	}
	defer file.Close()
	lines := bufio.NewReaderSize(file, readBuffer)
	var m Metric
	for number := 1; ; number++ {
		line, failure := lines.ReadBytes('\n')
		if failure != nil && !errors.Is(failure, io.EOF) {
			return fmt.Errorf("reading metrics %s: %w", path, failure)
		}
		line, ended := bytes.CutSuffix(line, []byte("\n"))
		if len(bytes.TrimSpace(line)) > 0 {
			var wrong *LineError
			if err := parseMetric(line, &m); err != nil {
				if !ended {
					return nil // torn: the writer was stopped here
				}
				wrong = &LineError{Path: path, Line: number, Err: err}
			}
			if err := visit(&m, line, wrong); err != nil {
				return err
			}
		}
		if failure != nil {
			return nil
		}
	}
}
