package learn

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/blockbp/blockbp/internal/bp"
)

// State is everything that a run needs to go on as if it had never stopped: the
// slices are the live ones, valid only during Settings.Checkpoint.
type State struct {
	// Progress is JSON: counters, the random source, the settings that a resumed
	// run must share, and a fingerprint of the data, the blocks and the counting
	// numbers.
	Progress []byte
	Arrays   []Array
	Singles  []Single
}

// Named is a slice of a State, with its name.
type Named[T float32 | float64] struct {
	Name   string
	Values []T
}

// Array is a named slice of a State.
type Array = Named[float64]

// Single is a named slice of a State in single precision.
type Single = Named[float32]

// saved is what Progress holds. Floats that may be NaN or infinite are kept by
// their bits, so that nothing is lost.
type saved struct {
	Format    int               `json:"format"`
	Progress  progress          `json:"progress"`
	Bits      map[string]uint64 `json:"bits"`
	Random    []byte            `json:"random"`
	Method    Method            `json:"method"`
	Step      string            `json:"step"`
	Order     Order             `json:"order"`
	Blocks    int               `json:"blocks"`
	Together  int               `json:"together"`
	Precision bp.Precision      `json:"precision"`
	Pairs     bool              `json:"pairs"`
	L2        float64           `json:"l2"`
	Sweeps    int               `json:"inner_sweeps"`
	Inner     float64           `json:"inner_tolerance"`
	Metric    string            `json:"metric"` // of early stopping; empty: none
	HasBest   bool              `json:"has_best"`
	fingerprint
}

// stateFormat is 2 since states have a fingerprint of their data, 3 since checks visit
// several blocks at a time and loose edges have their beliefs kept, 4 since checks
// watch the gradient, and 5 since messages have velocities and the step rule a Hessian.
const stateFormat = 5

func (at *progress) floats() map[string]*float64 {
	return map[string]*float64{
		"first": &at.First, "first_objective": &at.FirstObjective, "first_residual": &at.FirstResidual, "last_objective": &at.LastObjective, "change": &at.Change,
		"objective": &at.Objective, "gradient_norm": &at.GradientNorm, "best_value": &at.BestValue,
		"check_residual": &at.Check.Residual, "check_current": &at.Check.Current,
		"check_smallest": &at.Check.Smallest, "check_damping": &at.Check.Damping,
		"check_free_energy": &at.Check.sum.FreeEnergy, "check_primal": &at.Check.sum.Primal, "check_dual": &at.Check.sum.Dual,
		"check_change": &at.Check.Change, "check_change_before": &at.Check.ChangeBefore, "check_worst": &at.Check.Worst,
		"check_rise": &at.Check.Rise, "check_rise_before": &at.Check.RiseBefore,
		"momentum_product": &at.Momentum.Product, "momentum_square": &at.Momentum.Square, "momentum_before": &at.Momentum.Before,
		"damping": &at.Damping, "stalling_current": &at.Stalling.Current, "stalling_smallest": &at.Stalling.Smallest,
		"check_gap": &at.Check.gap,
	}
}

func (l *learner) snapshot() (*State, error) {
	random, err := l.source.MarshalBinary()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(l.settings.saved(l.problem.L2, l.blocks, &l.at, l.fingerprint(), random, l.best != nil))
	if err != nil {
		return nil, err
	}
	return &State{Progress: text, Arrays: l.arrays(l.best != nil), Singles: l.singles()}, nil
}

// saved returns what is kept of a run beside its arrays.
func (s *Settings) saved(l2 float64, blocks int, at *progress, print fingerprint, random []byte, hasBest bool) *saved {
	out := &saved{
		Format: stateFormat, Progress: *at, Bits: map[string]uint64{}, Random: random,
		Method: s.Method, Step: s.stepName(), Order: s.Order, Blocks: blocks, Together: s.Together, Precision: s.Precision, Pairs: s.Pairs, L2: l2,
		Sweeps: s.InnerSweeps, Inner: s.InnerTolerance, HasBest: hasBest, fingerprint: print,
	}
	if s.EarlyStop != nil {
		out.Metric = s.EarlyStop.Metric
	}
	for name, x := range at.floats() {
		out.Bits[name] = math.Float64bits(*x)
	}
	return out
}

// arrays lists every slice of the state, in a fixed order.
func (l *learner) arrays(withBest bool) []Array {
	a := []Array{{"weights", l.model.Weights}, {"total", l.total}, {"moments", l.moments}, {"watched", l.watched}}
	if withBest {
		if l.best == nil {
			l.best = l.model.Clone()
		}
		a = append(a, Array{"best", l.best.Weights})
	}
	for i, x := range l.settings.Step.Memory() {
		a = append(a, Array{fmt.Sprintf("step.%d", i), x})
	}
	for i, b := range l.bundles {
		a = append(a, Array{fmt.Sprintf("bundle.%d.contribution", i), b.contribution})
		for j, u := range b.units {
			name := fmt.Sprintf("bundle.%d.unit.%d.", i, j)
			a = append(a, Array{name + "message", u.state.LogMessage}, Array{name + "belief", u.state.LogBelief})
			if len(u.loose) > 0 {
				a = append(a, Array{name + "loose", u.loose})
			}
			if len(u.untied) > 0 {
				a = append(a, Array{name + "untied", u.untied})
			}
		}
	}
	return a
}

// singles lists every slice of the state in single precision.
func (l *learner) singles() (all []Single) {
	for i, b := range l.bundles {
		for j, u := range b.units {
			if len(u.velocity) > 0 {
				all = append(all, Single{fmt.Sprintf("bundle.%d.unit.%d.velocity", i, j), u.velocity})
			}
		}
	}
	return all
}

// StateError says why a saved state cannot be gone on with.
type StateError struct{ Reason string }

// Error implements error.
func (e *StateError) Error() string { return "checkpoint: " + e.Reason }

func stateErrorf(format string, a ...any) error { return &StateError{fmt.Sprintf(format, a...)} }

// restore puts a saved state in the place of the fresh one.
func (l *learner) restore(state *State) error {
	in, err := state.parse()
	if err != nil {
		return err
	}
	if err := l.settings.sameRun(in, l.problem.L2, l.blocks, l.fingerprint()); err != nil {
		return err
	}
	if err := fill(l.arrays(in.HasBest), state.Arrays); err != nil {
		return err
	}
	if err := fill(l.singles(), state.Singles); err != nil {
		return err
	}
	if err := l.possible(&in.Progress); err != nil {
		return err
	}
	l.at = in.Progress
	if err := in.setFloats(&l.at); err != nil {
		return err
	}
	if l.at.Status != Converged || !l.small(l.at.GradientNorm) {
		l.goOn()
	}
	return l.source.UnmarshalBinary(in.Random)
}

// stepName names what moves the weights.
func (s *Settings) stepName() string {
	if s.Method.Local() {
		return "l-bfgs"
	}
	return s.Step.String()
}

// parse reads the progress of a state of this format.
func (s *State) parse() (*saved, error) {
	var in saved
	if err := json.Unmarshal(s.Progress, &in); err != nil {
		return nil, stateErrorf("progress: %v", err)
	}
	if in.Format != stateFormat {
		return nil, stateErrorf("format %d, this version reads %d: start a new run, or resume with the version that wrote it", in.Format, stateFormat)
	}
	return &in, nil
}

// fill copies into each of arrays what saved has under its name.
func fill[T float32 | float64](arrays, saved []Named[T]) error {
	have := map[string][]T{}
	for _, a := range saved {
		have[a.Name] = a.Values
	}
	for _, a := range arrays {
		values, ok := have[a.Name]
		if !ok || len(values) != len(a.Values) {
			return stateErrorf("array %q has %d values, want %d: it belongs to other data or another model", a.Name, len(values), len(a.Values))
		}
		copy(a.Values, values)
	}
	return nil
}

// setFloats gives the numbers that are kept by their bits back to at.
func (in *saved) setFloats(at *progress) error {
	for name, x := range at.floats() {
		bits, ok := in.Bits[name]
		if !ok {
			return stateErrorf("no value %q", name)
		}
		*x = math.Float64frombits(bits)
	}
	return nil
}

// possible refuses progress that no run of this problem can have made.
func (l *learner) possible(p *progress) error {
	c := &p.Check
	switch {
	case p.Iterations < 0 || p.LastCheck < 0 || p.LastCheck > p.Iterations || p.FailedChecks < 0:
		return stateErrorf("%d iterations, the last check at %d, %d checks failed: the file is damaged", p.Iterations, p.LastCheck, p.FailedChecks)
	case c.Next < 0 || c.Next >= len(l.checkSchedule) || c.WorstAt < 0 || c.WorstAt >= len(l.checkSchedule):
		return stateErrorf("a check at block visit %d of %d: the file is damaged", c.Next, len(l.checkSchedule))
	case c.Active && c.Purpose != checkInitial && c.Purpose != checkConvergence && c.Purpose != checkFinal:
		return stateErrorf("a check with the purpose %q: the file is damaged", c.Purpose)
	}
	return nil
}

// goOn decides what a state that a limit ended, or that was interrupted, does
// next: the final check where the limits of this run are reached too, else more
// iterations.
func (l *learner) goOn() {
	wasEnded := l.at.Status != ""
	l.at.Status, l.at.Reason = "", ""
	if !wasEnded {
		return
	}
	if l.at.Status, l.at.Reason = l.limitReached(); l.at.Status != "" {
		l.takeBest()
		l.startCheck(checkFinal)
	}
}

// sameRun refuses a checkpoint of a run with other settings, which could not go
// on to the same bytes.
func (s *Settings) sameRun(in *saved, l2 float64, blocks int, print fingerprint) error {
	differ := func(what string, was, is any) error {
		return stateErrorf("it was written with %s %v, this run has %v; use the same settings, or start a new run", what, was, is)
	}
	switch {
	case in.Method != s.Method:
		return differ("method", in.Method, s.Method)
	case in.Step != s.stepName():
		return differ("step", in.Step, s.stepName())
	case in.Order != s.Order:
		return differ("order", in.Order, s.Order)
	case in.Blocks != blocks:
		return differ("number of blocks", in.Blocks, blocks)
	case in.Precision != s.Precision:
		return differ("precision", in.Precision, s.Precision)
	case in.Together != s.Together:
		return differ("blocks together", in.Together, s.Together)
	case in.Pairs != s.Pairs:
		return differ("pairs", in.Pairs, s.Pairs)
	case in.L2 != l2:
		return differ("l2", in.L2, l2)
	case in.Sweeps != s.InnerSweeps:
		return differ("inner sweeps", in.Sweeps, s.InnerSweeps)
	case in.Inner != s.InnerTolerance:
		return differ("inner tolerance", in.Inner, s.InnerTolerance)
	case in.Metric != "" && s.EarlyStop != nil && in.Metric != s.EarlyStop.Metric:
		return differ("early stopping by", in.Metric, s.EarlyStop.Metric)
	}
	return sameProblem(in.fingerprint, print)
}

// sameProblem refuses a checkpoint of other data, blocks or counting numbers.
func sameProblem(was, is fingerprint) error {
	switch {
	case was.Data != is.Data:
		return stateErrorf("it was written with other features, labels, graphs or types (%s, now %s); use the same data in the same order, or start a new run", was.Data, is.Data)
	case was.Counting != is.Counting:
		return stateErrorf("it was written with counting numbers %s, this run has %s; use the same, or start a new run", was.Counting, is.Counting)
	case was.Partition != is.Partition:
		return stateErrorf("it was written with other blocks (%s, now %s); cut the graphs in the same way, or start a new run", was.Partition, is.Partition)
	}
	return nil
}

// Iteration returns the number of iterations made when the state was saved.
func (s *State) Iteration() (int, error) {
	var in saved
	if err := json.Unmarshal(s.Progress, &in); err != nil {
		return 0, stateErrorf("progress: %v", err)
	}
	return in.Progress.Iterations, nil
}
