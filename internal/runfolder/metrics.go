package runfolder

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/option"
)

// evalPrefix begins the names of evaluation results: eval.<set>.<metric>.
const evalPrefix = "eval."

// unknownBlock is the Block of a record that belongs to no single block.
const unknownBlock = -1

// Metric is one record of a run. Numbers that are not known are NaN, and the block is −1; NewMetric sets them so.
type Metric struct {
	Iter       int     // outer iterations done, at least 0
	Pass       float64 // work done, in sweeps over the whole network
	WallS      float64 // seconds since the start of the run
	Block      int     // index of the block just updated, −1 none
	Objective  float64 // the value being minimised
	GradNorm   float64 // length of its gradient
	ThetaDist  float64 // distance of the weights to a reference
	Step       float64 // step length
	BPSweeps   float64 // message-passing sweeps, a mean where several were run
	BPResidual float64 // largest change of a message in the last sweep
	// Suboptimality bounds how far the objective is above the smallest one.
	Suboptimality float64
	Eval          map[string]float64 // eval.<set>.<metric>, by "<set>.<metric>"; nil if none
}

// NewMetric is a record of iteration iter in which nothing else is known.
func NewMetric(iter int) Metric {
	unknown := math.NaN()
	return Metric{
		Iter: iter, Block: unknownBlock,
		Pass: unknown, WallS: unknown, Objective: unknown, GradNorm: unknown, ThetaDist: unknown,
		Step: unknown, BPSweeps: unknown, BPResidual: unknown, Suboptimality: unknown,
	}
}

// columns are the numbers of a record, by their names in a file.
func (m *Metric) columns() map[string]*float64 {
	return map[string]*float64{
		"pass": &m.Pass, "wall_s": &m.WallS, "objective": &m.Objective, "grad_norm": &m.GradNorm, "theta_dist": &m.ThetaDist,
		"step": &m.Step, "bp_sweeps": &m.BPSweeps, "bp_residual": &m.BPResidual, "suboptimality": &m.Suboptimality,
	}
}

// errNoIteration says that a record lacks the one field it must have.
var errNoIteration = errors.New("the record has no iter, want a whole number, at least 0")

// MarshalJSON implements json.Marshaler: one flat object with the names of a metrics file, without what is unknown.
func (m Metric) MarshalJSON() ([]byte, error) {
	if m.Iter < 0 {
		return nil, errNoIteration
	}
	known := map[string]float64{"iter": float64(m.Iter)}
	if m.Block >= 0 {
		known["block"] = float64(m.Block)
	}
	for name, value := range m.columns() {
		known[name] = *value
	}
	for name, value := range m.Eval {
		known[evalPrefix+name] = value
	}
	maps.DeleteFunc(known, func(_ string, value float64) bool { return !isFinite(value) })
	return json.Marshal(known)
}

// UnmarshalJSON implements json.Unmarshaler, for a flat object with its fields in any order. null is unknown, and
// unknown names are passed over.
func (m *Metric) UnmarshalJSON(text []byte) error {
	*m = NewMetric(unknownBlock)
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return fmt.Errorf("want one JSON object, {…}, of numbers: %w", err)
	}
	columns, iter, block := m.columns(), float64(m.Iter), float64(m.Block)
	columns["iter"], columns["block"] = &iter, &block
	for name, value := range fields {
		to, result, isEval := columns[name], "", false
		if result, isEval = strings.CutPrefix(name, evalPrefix); isEval {
			to = new(float64)
		}
		if to == nil || string(value) == "null" {
			continue
		}
		if json.Unmarshal(value, to) != nil || (to == &iter || to == &block) && *to != math.Trunc(*to) {
			return fmt.Errorf("%.60s is %.40q, want a number", name, value)
		}
		if isEval && m.Eval == nil {
			m.Eval = map[string]float64{}
		}
		if isEval {
			m.Eval[result] = *to
		}
	}
	if m.Iter, m.Block = int(iter), int(block); m.Iter < 0 {
		return errNoIteration
	}
	return nil
}

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
	for lines := bufio.NewReaderSize(file, longestLine); ; {
		text, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return lineError(p.path, p.line+1, errLongLine)
		case err != nil && !errors.Is(err, io.EOF):
			return fmt.Errorf("reading metrics %s: %w", p.path, err)
		}
		line, ended := bytes.CutSuffix(text, []byte("\n"))
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
		if !ended {
			return nil
		}
		p.offset += int64(len(text))
		p.line++
	}
}

// eachLine reads the metrics file at path.
func eachLine(path string, visit visitor) error {
	file, _, err := fileio.Open(path, "the metrics of a run")
	if err != nil {
		return fmt.Errorf("reading metrics: %w", err)
	}
	defer file.Close()
	return (&place{path: path}).read(file, visit)
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
	Lost    int       // lines that were no records, or of an iteration that was there already, and went
}

// Metrics opens the metrics file of the run for appending. Of what is there the records of iterations up to last stay,
// byte for byte, fields that are unknown here included: a resumed run repeats the others. Lines that are no records,
// or of an iteration that is there already, go, and are counted.
func (run *Run) Metrics(last int) (*MetricsWriter, error) {
	path := run.Path(MetricsFile)
	if _, err := fileio.Check(path, "the metrics of a run"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err // before it is written over, which would wait for a pipe
	}
	lost := 0
	err := writeAtomically(fileio.Target{Path: path, Replace: fileio.Always}, func(to string) error {
		return fileio.Write(to, func(out io.Writer) error {
			before := -1
			err := eachLine(path, func(m *Metric, line []byte, wrong *LineError) error {
				switch {
				case wrong != nil, m.Iter <= before:
					lost++
					return nil
				case m.Iter > last:
					return nil
				}
				before = m.Iter
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
	return &MetricsWriter{path: path, file: file, flushed: time.Now(), Lost: lost}, nil
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
