package runfolder

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
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

// columnNames are the fixed names in the order in which they are written.
var columnNames = []string{
	"iter", "pass", "wall_s", "block", "objective", "grad_norm", "theta_dist", "step", "bp_sweeps", "bp_residual",
	"suboptimality",
}

// columns are the fields that columnNames stand for: numbers, unknown if not finite, and
// whole numbers, unknown if negative.
func (m *Metric) columns() [11]any {
	return [...]any{
		&m.Iter, &m.Pass, &m.WallS, &m.Block, &m.Objective, &m.GradNorm, &m.ThetaDist, &m.Step, &m.BPSweeps, &m.BPResidual,
		&m.Suboptimality,
	}
}

// appendValue appends the value of a column, and nothing if it is unknown.
func appendValue(dst []byte, field any) []byte {
	switch v := field.(type) {
	case *int:
		if *v >= 0 {
			dst = strconv.AppendInt(dst, int64(*v), 10)
		}
	case *float64:
		if isFinite(*v) { // the shortest text that reads back as the same
			dst = strconv.AppendFloat(dst, *v, 'g', -1, 64)
		}
	}
	return dst
}

// each hands the fields that are known to use, in the order in which they are written: the columns, then the
// results of evaluations by name.
func (m *Metric) each(use func(name string, number []byte)) {
	for i, field := range m.columns() {
		if number := appendValue(nil, field); len(number) > 0 {
			use(columnNames[i], number)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Eval)) {
		v := m.Eval[name]
		if number := appendValue(nil, &v); len(number) > 0 {
			use(evalPrefix+name, number)
		}
	}
}

// errNoIteration says that a record lacks the one field it must have.
var errNoIteration = errors.New("the record has no iter, want a whole number, at least 0")

// MarshalJSON implements json.Marshaler: one flat object with the names of a metrics file, without what is unknown.
func (m Metric) MarshalJSON() ([]byte, error) {
	if m.Iter < 0 {
		return nil, errNoIteration
	}
	text := []byte("{")
	m.each(func(name string, number []byte) {
		key, err := json.Marshal(name)
		if err != nil {
			panic("runfolder: " + err.Error()) // texts can be written
		}
		text = append(append(append(append(text, key...), ':'), number...), ',')
	})
	text[len(text)-1] = '}' // the comma after the last field; iter is always there
	return text, nil
}

// UnmarshalJSON implements json.Unmarshaler, for a flat object with its fields in any order. null is unknown, and
// unknown names are passed over.
func (m *Metric) UnmarshalJSON(text []byte) error {
	*m = NewMetric(unknownBlock)
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return fmt.Errorf("want one JSON object, {…}, of numbers: %w", err)
	}
	columns := m.columns()
	for name, value := range fields {
		result, isEval := strings.CutPrefix(name, evalPrefix)
		at := slices.Index(columnNames, name)
		if string(value) == "null" || at < 0 && !isEval {
			continue
		}
		v, err := strconv.ParseFloat(string(value), 64)
		switch {
		case err != nil:
		case isEval:
			if m.Eval == nil {
				m.Eval = map[string]float64{}
			}
			m.Eval[result] = v
		default:
			err = put(columns[at], v)
		}
		if err != nil {
			return fmt.Errorf("%.60s is %.40q, want a number", name, value)
		}
	}
	if m.Iter < 0 {
		return errNoIteration
	}
	return nil
}

// put sets a column; whole numbers must be such.
func put(field any, v float64) error {
	switch to := field.(type) {
	case *float64:
		*to = v
	case *int:
		if *to = int(v); float64(*to) != v {
			return strconv.ErrSyntax
		}
	}
	return nil
}
