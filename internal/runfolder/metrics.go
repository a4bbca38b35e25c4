package runfolder

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// evalPrefix begins the names of evaluation results: eval.<set>.<metric>.
const evalPrefix = "eval."

// unknownBlock is the Block of a record that belongs to no single block.
const unknownBlock = -1

// Metric is one record of a run. Numbers that are not known are NaN, and the
// block is −1; NewMetric sets them so.
type Metric struct {
	Iter       int                // iter: outer iterations done, at least 0
	Pass       float64            // pass: work done, in sweeps over the whole network
	WallS      float64            // wall_s: seconds since the start of the run
	Block      int                // block: index of the block just updated, −1 none
	Objective  float64            // objective: the value being minimised
	GradNorm   float64            // grad_norm: length of its gradient
	ThetaDist  float64            // theta_dist: distance of the weights to a reference
	Step       float64            // step: step length
	BPSweeps   float64            // bp_sweeps: message-passing sweeps, a mean where several were run
	BPResidual float64            // bp_residual: largest change of a message in the last sweep
	Eval       map[string]float64 // eval.<set>.<metric>, by "<set>.<metric>"; nil if none
}

// NewMetric is a record of iteration iter in which nothing else is known.
func NewMetric(iter int) Metric {
	unknown := math.NaN()
	return Metric{
		Iter: iter, Block: unknownBlock,
		Pass: unknown, WallS: unknown, Objective: unknown, GradNorm: unknown, ThetaDist: unknown,
		Step: unknown, BPSweeps: unknown, BPResidual: unknown,
	}
}

// column is one fixed name of a record and the field it stands for: either a
// number, unknown if not finite, or a whole number, unknown if negative.
type column struct {
	name   string
	number func(*Metric) *float64
	whole  func(*Metric) *int
}

// columns are the fixed names in the order in which they are written.
var columns = []column{
	{name: "iter", whole: func(m *Metric) *int { return &m.Iter }},
	{name: "pass", number: func(m *Metric) *float64 { return &m.Pass }},
	{name: "wall_s", number: func(m *Metric) *float64 { return &m.WallS }},
	{name: "block", whole: func(m *Metric) *int { return &m.Block }},
	{name: "objective", number: func(m *Metric) *float64 { return &m.Objective }},
	{name: "grad_norm", number: func(m *Metric) *float64 { return &m.GradNorm }},
	{name: "theta_dist", number: func(m *Metric) *float64 { return &m.ThetaDist }},
	{name: "step", number: func(m *Metric) *float64 { return &m.Step }},
	{name: "bp_sweeps", number: func(m *Metric) *float64 { return &m.BPSweeps }},
	{name: "bp_residual", number: func(m *Metric) *float64 { return &m.BPResidual }},
}

// appendValue appends the value of the column in m, and nothing if it is unknown.
func (c *column) appendValue(dst []byte, m *Metric) []byte {
	if c.whole != nil {
		if v := *c.whole(m); v >= 0 {
			dst = strconv.AppendInt(dst, int64(v), 10)
		}
		return dst
	}
	return appendFinite(dst, *c.number(m))
}

// set reads the value of the column into m.
func (c *column) set(m *Metric, text []byte) error {
	if c.whole != nil {
		v, err := strconv.Atoi(string(text))
		if err != nil || v < 0 {
			return fmt.Errorf("%s is %.20q, want a whole number, at least 0", c.name, text)
		}
		*c.whole(m) = v
		return nil
	}
	v, err := parseFinite(text)
	if err != nil {
		return fmt.Errorf("%s is %.40q, want a number", c.name, text)
	}
	*c.number(m) = v
	return nil
}

// appendFinite appends the shortest text of v that reads back as v, and nothing
// if v is NaN or infinite.
func appendFinite(dst []byte, v float64) []byte {
	if !isFinite(v) {
		return dst
	}
	return strconv.AppendFloat(dst, v, 'g', -1, 64)
}

// parseFinite reads a number; "inf" and "nan" are not numbers here.
func parseFinite(text []byte) (float64, error) {
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return 0, err
	}
	if !isFinite(v) {
		return 0, strconv.ErrRange
	}
	return v, nil
}

// MarshalJSON implements json.Marshaler: one flat object with the names of a
// metrics file, without what is unknown.
func (m Metric) MarshalJSON() ([]byte, error) {
	return appendMetric(nil, &m)
}

// UnmarshalJSON implements json.Unmarshaler. Unknown names are passed over.
func (m *Metric) UnmarshalJSON(text []byte) error {
	return parseMetric(text, m)
}

// errNoIteration says that a record lacks the one field it must have.
var errNoIteration = errors.New("the record has no iter, want a whole number, at least 0")

// appendMetric appends m as a JSON object, without a line end.
func appendMetric(dst []byte, m *Metric) ([]byte, error) {
	if m.Iter < 0 {
		return dst, errNoIteration
	}
	dst = append(dst, '{')
	for i := range columns {
		mark := len(dst)
		dst = append(dst, '"')
		dst = append(dst, columns[i].name...)
		dst = append(dst, '"', ':')
		value := len(dst)
		dst = columns[i].appendValue(dst, m)
		if len(dst) == value {
			dst = dst[:mark]
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
