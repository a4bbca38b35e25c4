package runfolder

import (
	"bytes"
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

// Metric is one record of a run. Numbers that are not known are NaN, and the
// block is −1; NewMetric sets them so.
type Metric struct {
	Iter       int     `json:"iter"`        // outer iterations done, at least 0
	Pass       float64 `json:"pass"`        // work done, in sweeps over the whole network
	WallS      float64 `json:"wall_s"`      // seconds since the start of the run
	Block      int     `json:"block"`       // index of the block just updated, −1 none
	Objective  float64 `json:"objective"`   // the value being minimised
	GradNorm   float64 `json:"grad_norm"`   // length of its gradient
	ThetaDist  float64 `json:"theta_dist"`  // distance of the weights to a reference
	Step       float64 `json:"step"`        // step length
	BPSweeps   float64 `json:"bp_sweeps"`   // message-passing sweeps, a mean where several were run
	BPResidual float64 `json:"bp_residual"` // largest change of a message in the last sweep
	// Suboptimality bounds how far the objective is above the smallest one.
	Suboptimality float64            `json:"suboptimality"`
	Eval          map[string]float64 `json:"-"` // eval.<set>.<metric>, by "<set>.<metric>"; nil if none
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
		dst = appendFinite(dst, *v)
	}
	return dst
}

// appendFinite appends the shortest text of v that reads back as v, and nothing
// if v is NaN or infinite.
func appendFinite(dst []byte, v float64) []byte {
	if !isFinite(v) {
		return dst
	}
	return strconv.AppendFloat(dst, v, 'g', -1, 64)
}

// MarshalJSON implements json.Marshaler: one flat object with the names of a
// metrics file, without what is unknown.
func (m Metric) MarshalJSON() ([]byte, error) {
	return appendMetric(nil, &m)
}

// errNoIteration says that a record lacks the one field it must have.
var errNoIteration = errors.New("the record has no iter, want a whole number, at least 0")

// UnmarshalJSON implements json.Unmarshaler. Unknown names are passed over.
func (m *Metric) UnmarshalJSON(text []byte) error { return parseMetric(text, m) }

// parseMetric reads one record, a flat JSON object with its fields in any order; null is
// unknown.
func parseMetric(text []byte, m *Metric) error {
	*m = NewMetric(unknownBlock)
	type plain Metric // without UnmarshalJSON
	if err := json.Unmarshal(text, (*plain)(m)); err != nil {
		var mistyped *json.UnmarshalTypeError
		if errors.As(err, &mistyped) && mistyped.Field != "" {
			return fmt.Errorf("%s is a %s, want a number", mistyped.Field, mistyped.Value)
		}
		return fmt.Errorf("want one JSON object, {…}, of numbers: %w", err)
	}
	if m.Iter < 0 {
		return errNoIteration
	}
	// Names may be escaped, but this package escapes nothing in the prefix.
	if bytes.Contains(text, []byte(`"`+evalPrefix)) {
		return m.parseEval(text)
	}
	return nil
}

// parseEval reads the evaluation results of a record, of which few have any.
func (m *Metric) parseEval(text []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	for name, value := range fields {
		result, isEval := strings.CutPrefix(name, evalPrefix)
		if !isEval || string(value) == "null" {
			continue
		}
		v, err := strconv.ParseFloat(string(value), 64)
		if err != nil {
			return fmt.Errorf("%.60s is %.40q, want a number", name, value)
		}
		if m.Eval == nil {
			m.Eval = map[string]float64{}
		}
		m.Eval[result] = v
	}
	return nil
}

// appendMetric appends m as a JSON object, without a line end.
func appendMetric(dst []byte, m *Metric) ([]byte, error) {
	if m.Iter < 0 {
		return dst, errNoIteration
	}
	dst = append(dst, '{')
	for i, field := range m.columns() {
		start := len(dst)
		dst = append(dst, '"')
		dst = append(dst, columnNames[i]...)
		dst = append(dst, '"', ':')
		value := len(dst)
		if dst = appendValue(dst, field); len(dst) == value {
			dst = dst[:start]
			continue
		}
		dst = append(dst, ',')
	}
	dst, err := appendEval(dst, m.Eval)
	if err != nil {
		return dst, err
	}
	dst[len(dst)-1] = '}' // the comma after the last field; iter is always there
	return dst, nil
}

// appendEval appends the known evaluation results, in the order of their names,
// each followed by a comma.
func appendEval(dst []byte, eval map[string]float64) ([]byte, error) {
	if len(eval) == 0 {
		return dst, nil
	}
	for _, name := range slices.Sorted(maps.Keys(eval)) {
		if !isFinite(eval[name]) {
			continue
		}
		key, err := json.Marshal(evalPrefix + name)
		if err != nil {
			return dst, err
		}
		dst = append(append(dst, key...), ':')
		dst = append(appendFinite(dst, eval[name]), ',')
	}
	return dst, nil
}
