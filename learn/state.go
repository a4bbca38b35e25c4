package learn

import (
	"fmt"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/runstate"
)

// State is everything that a run needs to go on as if it had never stopped. One that
// Settings.Checkpoint is given is valid only during that call: it has the live slices.
type State struct {
	Iteration int // made when the state was saved

	kept runstate.State
}

// WriteFile writes the state as a safetensors file, whole or not at all: a file of that
// name stays until the new one is on the disk. A state that was read is in its file already, and refused.
func (s *State) WriteFile(path string) error { return s.kept.WriteFile(path) }

// ReadState reads what State.WriteFile has written, and checks that it is whole. Fit reads
// the arrays of the state, which may be large, from the file: it must stay as it is until then, or is refused.
func ReadState(path string) (*State, error) {
	kept, in, err := runstate.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return &State{in.Iteration, kept}, nil
}

func (l *learner) snapshot() (*State, error) {
	r := l.executor
	r.lengths = r.Share(nil, r.ownLengths())
	random, err := l.source.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return l.state(l.identify(), random, l.settings.Step.State(), append(l.arrays(), partArrays(0, r.lengths, r.ask)...))
}

// arrays lists the slices of the state that are the same in all processes, in a fixed order.
func (l *learner) arrays() (all []runstate.Array) {
	add := func(values []float64, name string, arguments ...any) {
		if len(values) > 0 {
			all = append(all, runstate.Array{Name: fmt.Sprintf(name, arguments...), Values: values})
		}
	}
	add(l.total, "total")
	add(l.moments, "moments")
	add(l.watched, "watched")
	if !l.alone() {
		add(l.contribution, "contribution")
	}
	for i, u := range l.units {
		add(u.untied, "unit.%d.untied", i)
	}
	return all
}

// What visits change is in a state by the parts of the jobs (parts.go), an array for each. So the file of a state is
// the same whatever the number of processes that have made it. Process 0 writes it, and asks for the numbers of a
// part when it comes to them. Any number of processes goes on from it: each reads its own parts, and then tells the
// others what they see of these.

// eachOfPart is eachOwned for the blocks of a part.
func (l *learner) eachOfPart(part int32, do func([]float64)) {
	for at, of := range l.part {
		if of == part {
			l.eachOwned(at, do)
		}
	}
}

// ownLengths returns how many numbers a state has of the parts of this process.
func (r *ranks) ownLengths() (lengths []float64) {
	for part, to := r.parts(); part < to; part++ {
		n := 0
		r.l.eachOfPart(int32(part), func(x []float64) { n += len(x) })
		lengths = append(lengths, float64(n))
	}
	return lengths
}

// partArrays are the arrays of parts from first on, of these lengths, which pieces goes through.
func partArrays(first int, lengths []float64, pieces func(int32, func([]float64) bool)) (arrays []runstate.Array) {
	for i, n := range lengths {
		if part := int32(first + i); n > 0 {
			all := func(yield func([]float64) bool) { pieces(part, yield) }
			arrays = append(arrays, runstate.Array{Name: fmt.Sprintf("part.%02d", part), Pieces: all, Length: int(n)})
		}
	}
	return arrays
}

// own goes through a part of this process, where its numbers are used.
func (r *ranks) own(part int32, yield func([]float64) bool) {
	more := true
	r.l.eachOfPart(part, func(x []float64) { more = more && yield(x) })
}

// ask goes through a part of any process, in process 0.
func (r *ranks) ask(part int32, yield func([]float64) bool) {
	if r.Owns(part) {
		r.own(part, yield)
		return
	}
	r.Agree([]float64{float64(part)})
	yield(r.bring(part))
}

// bring brings the numbers of a part of another process to process 0.
func (r *ranks) bring(part int32) []float64 {
	owner, send, receive := r.owner(part), make([][]float64, r.size), make([][]float64, r.size)
	r.buffer = numeric.Resize(r.buffer, int(r.lengths[part]))
	switch r.me {
	case owner:
		at := 0
		r.l.eachOfPart(part, func(x []float64) { at += copy(r.buffer[at:], x) })
		send[0] = r.buffer
	case 0:
		receive[owner] = r.buffer
	}
	r.Exchange(send, receive)
	return r.buffer
}

// noPart is what process 0 asks for when a state is saved.
const noPart = -1

// save calls write, in process 0 alone, with the state of the run, and returns its error in all processes.
func (r *ranks) save(write func(*State) error) (err error) {
	asked := []float64{noPart}
	switch {
	case r.l.settings.team.Rank() == 0:
		var state *State
		if state, err = r.l.snapshot(); err == nil {
			err = write(state)
		}
		r.Agree(asked)
	case r.me > 0:
		r.lengths = r.Share(nil, r.ownLengths())
		for r.Agree(asked); asked[0] != noPart; r.Agree(asked) {
			r.bring(int32(asked[0]))
		}
	}
	return r.l.settings.team.Common(err, ErrState)
}

// ErrState is the error of Fit for a saved state that cannot be gone on with.
var ErrState = runstate.Err

// restore puts a saved state in the place of the fresh one.
func (l *learner) restore(state *State) error {
	in, err := l.restoreProgress(state, l.identify(), l.settings.Step.State())
	if err != nil {
		return err
	}
	if err := l.possible(&l.progress); err != nil {
		return err
	}
	if l.copies() && (l.progress.Pass.Momentum > 0 || l.keptElsewhere()) {
		l.makeCopies()
	}
	first, _ := l.executor.parts()
	parts := partArrays(first, l.executor.ownLengths(), l.executor.own)
	if err := l.restoreArrays(in, state, l.settings.Step.State(), append(l.arrays(), parts...)); err != nil {
		return err
	}
	if l.auto != nil {
		if err := l.auto.possible(); err != nil {
			return runstate.Errorf("%v", err)
		}
	}
	ended := l.progress.Status.Stationary() && l.progress.SmallPromises < smallPromises
	if !ended || l.missing() != "" {
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

// possible refuses progress that no run of this problem can have made.
func (l *learner) possible(p *progress) error {
	c, at := &p.Check, &p.Pass
	switch {
	case p.Iterations < 0 || p.LastCheck < 0 || p.LastCheck > p.Iterations || p.FailedChecks < 0:
		return runstate.Errorf("%d iterations, the last check at %d, %d checks failed: the file is damaged",
			p.Iterations, p.LastCheck, p.FailedChecks)
	case at.Next < 0 || at.Next >= len(l.whole) || at.WorstAt < 0 || at.WorstAt >= len(l.whole),
		p.Accepted.WorstAt < 0 || p.Accepted.WorstAt >= len(l.whole):
		return runstate.Errorf("a pass at block visit %d of %d: the file is damaged", at.Next, len(l.whole))
	case c.Active && c.Purpose != checkInitial && c.Purpose != checkConvergence && c.Purpose != checkFinal &&
		(c.Purpose != checkCurvature || l.lanczos == nil):
		return runstate.Errorf("a check with the purpose %q: the file is damaged", c.Purpose)
	}
	return nil
}

// goOn decides what a state that a limit ended, or that was interrupted, does next: the final check where the limits
// of this run are reached too, else more iterations.
func (l *learner) goOn() {
	p := &l.progress
	wasEnded := p.Status != ""
	p.Status, p.Reason = "", ""
	if !wasEnded {
		return
	}
	p.FellBack = false
	if p.Status, p.Reason = l.settings.limitReached(p, l.endSeconds()); p.Status != "" {
		l.takeBest()
		l.startCheck(checkFinal)
	}
}

// order names the order of the blocks.
func (s *Settings) order() string {
	if s.RandomOrder {
		return "random"
	}
	return "cyclic"
}

// trait is something that a run is of, in words.
type trait struct{ name, is string }

// traits are what a run works on, which are given, and how. A state is of use to no other run, which could not go on
// to the same bytes. What only one of two runs has, as the seed of an order, is nothing that they differ in.
func (c *course) traits(of []trait) []trait {
	s := c.settings
	all := append([]trait{
		{"method", string(s.Method)}, {"step", s.stepName()}, {"order", s.order()},
		{"blocks together", fmt.Sprint(s.Together)}, {"l2", fmt.Sprint(c.problem.L2)},
		{"inner sweeps", fmt.Sprint(s.InnerSweeps)}, {"inner tolerance", fmt.Sprint(s.InnerTolerance)},
	}, of...)
	if s.EarlyStop != nil {
		all = append(all, trait{"early stopping by", s.EarlyStop.Metric})
	}
	if s.RandomOrder || s.unlabelled != nil {
		all = append(all, trait{"the seed", fmt.Sprint(s.Seed)})
	}
	return all
}

// sameRun refuses a state of another run.
func (c *course) sameRun(in *runstate.Saved, of []trait) error {
	for _, t := range c.traits(of) {
		if was, ok := in.Run[t.name]; ok && was != t.is {
			return runstate.Errorf("it was written with %s %s, this run has %s; use the same, or start a new run",
				t.name, was, t.is)
		}
	}
	return nil
}

// identify tells what the run works on, even where all arrays of another one have the same lengths. It costs about as
// much as reading the data once, and is done when it is first asked for: a run without checkpoints needs none of it.
func (l *learner) identify() []trait {
	if l.worksOn == nil {
		var partitions []*partition.Partition
		var numbers []*counting.Numbers
		for _, u := range l.units {
			partitions, numbers = append(partitions, u.part), append(numbers, u.net.Counting)
		}
		l.worksOn = []trait{
			{"data", digestProblem(l.problem)},
			{"number of blocks", fmt.Sprint(l.blocks)},
			{"blocks", runstate.OfEach(partitions, (*runstate.Digest).AddPartition).String()},
			{"counting numbers", numbers[0].Name + ":" + runstate.OfEach(numbers, (*runstate.Digest).AddCounting).String()},
		}
	}
	return l.worksOn
}

// digestProblem is that of data and class weights.
func digestProblem(p *Problem) string {
	d := runstate.Of(p.Data)
	for _, weights := range p.ClassWeights {
		d.AddFloats(weights)
	}
	return d.String()
}
