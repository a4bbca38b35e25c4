package runfolder

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/blockbp/blockbp/internal/infile"
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
	file, _, err := infile.Open(path, "the metrics of a run")
	if err != nil {
		return fmt.Errorf("reading metrics: %w", err)
	}
	defer file.Close()
	lines := bufio.NewReaderSize(file, readBuffer)
	var m Metric
	for number := 1; ; number++ {
		line, failure := readLine(lines)
		if errors.Is(failure, errLongLine) {
			return lineError(path, number, failure)
		}
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
				wrong = lineError(path, number, err)
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

// readLine is ReadBytes up to a line end, for lines that are not too long.
func readLine(in *bufio.Reader) (line []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > longestLine:
			return nil, errLongLine
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		}
	}
}
