package learn

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/runstate"
	"github.com/blockbp/blockbp/internal/safetensors"
)

// State is everything that a run needs to go on as if it had never stopped. One that
// Settings.Checkpoint is given is valid only during that call: it has the live slices.
type State struct {
	Iteration int // made when the state was saved

	// progress is JSON: counters, the random source, the settings that a resumed run must share, and a fingerprint of
	// the data, the blocks and the counting numbers.
	progress []byte
	arrays   []runstate.Array

	// open opens the file that has the arrays instead, so that they are in memory once, in
	// the run that goes on; checksum is the file's. nil: there is no file.
	open     func() (*safetensors.File, error)
	checksum string

	// Of blocks that are dealt over processes, arrays are those that all of these have, and the rest is
	// in files beside that at path: parts says which, or dealt writes them. nil: arrays are all.
	path  string
	parts *partFiles
	dealt *ranks
}

// saved is what State.progress holds.
type saved struct {
	Format   int             `json:"format"`
	Progress runstate.Values `json:"progress"`
	Rule     runstate.Values `json:"rule"` // of what makes the steps
	Random   []byte          `json:"random"`
	Method   Method          `json:"method"`
	Step     string          `json:"step"`
	Order    string          `json:"order"`
	Blocks   int             `json:"blocks"`
	Together int             `json:"together"`
	Pairs    bool            `json:"pairs"`
	L2       float64         `json:"l2"`
	Sweeps   int             `json:"inner_sweeps"`
	Inner    float64         `json:"inner_tolerance"`
	Metric   string          `json:"metric"` // of early stopping; empty: none
	HasBest  bool            `json:"has_best"`
	// Seed is that of a random order, or start, nil in states of v0.1.0: what is left of the
	// source alone does not tell where it began.
	Seed *uint64 `json:"seed,omitempty"`
	fingerprint
}

// stateFormat grows with every change of what a state has; a state has one codec since 9.
const stateFormat = 14

func (l *learner) snapshot() (*State, error) {
	random, err := l.source.MarshalBinary()
	if err != nil {
		return nil, err
	}
	common, own := l.arrays()
	if _, whole := l.executor.(threads); whole {
		common = append(common, own...)
	}
	return l.state(l.blocks, l.identify(), random, l.settings.Step.State(), common)
}

// arrays lists the slices of the state that this run alone has, in a fixed order: those that are the same
// in all processes, and those of which each has what its own blocks see, as eachOwned has it.
func (l *learner) arrays() (common, own []runstate.Array) {
	common = []runstate.Array{{Name: "total", Values: l.total}, {Name: "moments", Values: l.moments}, {Name: "watched", Values: l.watched}}
	for i, b := range l.bundles {
		contribution := runstate.Array{Name: fmt.Sprintf("bundle.%d.contribution", i), Values: b.contribution}
		if b.alone() {
			own = append(own, contribution)
		} else {
			common = append(common, contribution)
		}
		for j, u := range b.units {
			name := fmt.Sprintf("bundle.%d.unit.%d.", i, j)
			own = append(own, runstate.Array{Name: name + "message", Values: u.state.LogMessage})
			own = append(own, runstate.Array{Name: name + "belief", Values: u.state.LogBelief})
			if len(u.keptBeliefs) > 0 {
				own = append(own, runstate.Array{Name: name + "cut", Values: u.keptBeliefs})
			}
			if len(u.untied) > 0 {
				common = append(common, runstate.Array{Name: name + "untied", Values: u.untied})
			}
		}
	}
	return common, append(own, l.copyArrays()...)
}

// ErrState is the error of Fit for a saved state that cannot be gone on with.
var ErrState = runstate.Err

// restore puts a saved state in the place of the fresh one.
func (l *learner) restore(state *State) error {
	in, err := l.restoreProgress(state, l.blocks, l.identify())
	if err != nil {
		return err
	}
	if err := l.possible(&l.progress); err != nil {
		return err
	}
	arrays, own := l.arrays()
	if state.parts == nil {
		l.markNeeded(own)
		arrays = append(arrays, own...)
	}
	if err := l.restoreArrays(in, state, l.settings.Step.State(), arrays); err != nil {
		return err
	}
	if state.parts != nil {
		if err := l.fillParts(state); err != nil {
			return err
		}
		l.generation = state.parts.Generation
	}
	if l.recovering != nil {
		if err := l.recovering.possible(); err != nil {
			return runstate.Errorf("%v", err)
		}
		if l.inWholePasses() && l.copies() && !l.progress.Copied {
			return runstate.Errorf("weights move after whole passes, and no messages to go back to are kept: the file is damaged")
		}
	}
	if !l.progress.Status.Stationary() || !l.small(l.progress.GradientNorm) && !l.proved() {
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
	// The format first: fields of another one are unknown.
	if err := json.Unmarshal(s.progress, &struct{ Format *int }{&in.Format}); err == nil && in.Format != stateFormat {
		return nil, runstate.Errorf("format %d, this version reads %d: start a new run, to which --init gives the model of this one, or resume with the version that wrote it", in.Format, stateFormat)
	}
	decoder := json.NewDecoder(bytes.NewReader(s.progress))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return nil, runstate.Errorf("progress: %v", err)
	}
	return &in, nil
}

// fill puts into each array what the state has under its name.
func (s *State) fill(arrays []runstate.Array) error {
	if s.open == nil {
		return runstate.Fill(arrays, s.arrays)
	}
	f, err := s.open()
	if err != nil {
		return err
	}
	defer f.Close()
	if f.Metadata()[progressKey] != string(s.progress) || runstate.Checksum(f) != s.checksum {
		return runstate.Errorf("another run has written it since it was read: see that only one goes on with it")
	}
	return runstate.Read(f, arrays)
}

// possible refuses progress that no run of this problem can have made.
func (l *learner) possible(p *progress) error {
	c := &p.Check
	switch {
	case p.Iterations < 0 || p.LastCheck < 0 || p.LastCheck > p.Iterations || p.FailedChecks < 0:
		return runstate.Errorf("%d iterations, the last check at %d, %d checks failed: the file is damaged", p.Iterations, p.LastCheck, p.FailedChecks)
	case c.Next < 0 || c.Next >= len(l.checkSchedule) || c.WorstAt < 0 || c.WorstAt >= len(l.checkSchedule):
		return runstate.Errorf("a check at block visit %d of %d: the file is damaged", c.Next, len(l.checkSchedule))
	case c.Active && c.Purpose != checkInitial && c.Purpose != checkConvergence && c.Purpose != checkFinal && (c.Purpose != checkCurvature || l.lanczos == nil):
		return runstate.Errorf("a check with the purpose %q: the file is damaged", c.Purpose)
	}
	return nil
}

// goOn decides what a state that a limit ended, or that was interrupted, does next: the final check where the limits
// of this run are reached too, else more iterations.
func (l *learner) goOn() {
	wasEnded := l.progress.Status != ""
	l.progress.Status, l.progress.Reason = "", ""
	if !wasEnded {
		return
	}
	l.progress.Halvings = 0
	if l.progress.Status, l.progress.Reason = l.settings.limitReached(&l.progress, l.endSeconds()); l.progress.Status != "" {
		l.takeBest()
		l.startCheck(checkFinal)
	}
}

// order names the order of the blocks.
func (s *Settings) order() string {
	switch {
	case s.AtOnce:
		return "at-once"
	case s.RandomOrder:
		return "random"
	}
	return "cyclic"
}

// sameRun refuses a checkpoint of a run with other settings, which could not go on to the same bytes.
func (c *course) sameRun(in *saved, blocks int, is fingerprint) error {
	s := c.settings
	metric := in.Metric
	if s.EarlyStop != nil && metric != "" {
		metric = s.EarlyStop.Metric
	}
	for _, d := range []struct {
		what     string
		was, now any
	}{
		{"method", in.Method, s.Method},
		{"step", in.Step, s.stepName()},
		{"order", in.Order, s.order()},
		{"number of blocks", in.Blocks, blocks},
		{"blocks together", in.Together, s.Together},
		{"pairs", in.Pairs, s.Pairs},
		{"l2", in.L2, c.problem.L2},
		{"inner sweeps", in.Sweeps, s.InnerSweeps},
		{"inner tolerance", in.Inner, s.InnerTolerance},
		{"early stopping by", in.Metric, metric},
	} {
		if d.was != d.now {
			return runstate.Errorf("it was written with %s %v, this run has %v; use the same settings, or start a new run", d.what, d.was, d.now)
		}
	}
	if in.Seed != nil && *in.Seed != s.Seed {
		return runstate.Errorf("it was written with the seed %d, this run has %d; use the same, or start a new run", *in.Seed, s.Seed)
	}
	return sameProblem(in.fingerprint, is)
}

// sameProblem refuses a checkpoint of other data, blocks or counting numbers.
func sameProblem(was, is fingerprint) error {
	switch {
	case was.Data != is.Data:
		return runstate.Errorf("it was written with other features, labels, graphs or types (%s, now %s); use the same data in the same order, or start a new run", was.Data, is.Data)
	case was.Counting != is.Counting:
		return runstate.Errorf("it was written with counting numbers %s, this run has %s; use the same, or start a new run", was.Counting, is.Counting)
	case was.Partition != is.Partition:
		return runstate.Errorf("it was written with other blocks (%s, now %s); cut the graphs in the same way, or start a new run", was.Partition, is.Partition)
	}
	return nil
}

// fingerprint identifies what a run works on: a state is of use to no other run, even where all arrays have the same
// lengths. It costs about as much as reading the data once.
type fingerprint struct {
	Data      string `json:"data"`      // features, labels, graphs and types
	Partition string `json:"partition"` // blocks
	Counting  string `json:"counting"`  // name and numbers
}

// identify computes the fingerprint when it is first asked for: a run without checkpoints needs none.
func (l *learner) identify() fingerprint {
	if l.fingerprint == (fingerprint{}) {
		var partitions []*partition.Partition
		var numbers []*counting.Numbers
		for _, u := range l.units {
			partitions, numbers = append(partitions, u.part), append(numbers, u.net.Counting)
		}
		l.fingerprint = fingerprint{
			Data:      digestProblem(l.problem),
			Partition: runstate.OfEach(partitions, (*runstate.Digest).AddPartition).String(),
			Counting:  numbers[0].Name + ":" + runstate.OfEach(numbers, (*runstate.Digest).AddCounting).String(),
		}
	}
	return l.fingerprint
}

// digestProblem is that of data and class weights.
func digestProblem(p *Problem) string {
	d := runstate.Of(p.Data, p.cut())
	for _, weights := range p.ClassWeights {
		d.AddFloats(weights)
	}
	return d.String()
}
