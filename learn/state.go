package learn

import (
	"fmt"
	"math"
	"slices"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/runstate"
	"github.com/blockbp/blockbp/internal/safetensors"
)

// State is everything that a run needs to go on as if it had never stopped. One that
// Settings.Checkpoint is given is valid only during that call: it has the live slices.
type State struct {
	Iteration int // the last one that Settings.Recorder was told of; −1: not even the check of the start

	saved runstate.State
}

// WriteFile writes the state as a safetensors file, whole or not at all: a file of that
// name stays until the new one is on the disk. A state that was read is in its file already, and refused.
func (s *State) WriteFile(path string) error { return s.saved.WriteFile(path) }

// writeProof writes Settings.ProofFile: log-messages and log-beliefs are as bp.State has them.
func (l *learner) writeProof(r *Result) error {
	if l.settings.ProofFile == "" || !r.Checked || math.IsNaN(r.Suboptimality) {
		return nil
	}
	var tensors []safetensors.Tensor
	for _, u := range l.units {
		c := u.net.Counting
		for _, of := range []struct {
			name   string
			values []float64
		}{{"messages", u.state.LogMessage}, {"beliefs", u.state.LogBelief}, {"node", c.Node}, {"edge", c.Edge},
			{"split", c.Split}} {
			tensors = append(tensors, safetensors.New(u.in.Name+"."+of.name, []int{len(of.values)}, of.values))
		}
	}
	return safetensors.WriteFile(l.settings.ProofFile, nil, tensors)
}

// worthSaving reports a state that may replace the checkpoint before it: at the end of a pass that is no worse than the
// start or, in descent, has decided on a step, and while a claim of convergence is checked. A final check is not saved:
// a longer run goes on from the state before it.
func (l *learner) worthSaving() bool {
	if c := &l.progress.Check; c.Active {
		return c.Purpose == checkConvergence
	}
	if l.auto.descends() {
		return l.progress.Pass.Next == 0 && l.auto.descent.passesHere == 0
	}
	return l.progress.Worse == 0 && l.progress.Iterations%l.schedule.perPass() == 0
}

// checkpoint saves the state. Process 0 writes it, and asks for one part after the other as it comes to them; the
// others serve until it says noPart, which it does also where it has failed: else they would wait for ever.
func (l *learner) checkpoint() (err error) {
	if l.settings.Checkpoint == nil {
		return nil
	}
	l.spilled.readApart(false)
	defer l.spilled.readApart(true)
	switch parts := l.savedParts(); {
	case l.settings.team.Rank() == 0:
		parts.lengths = parts.Share(nil, parts.ownLengths())
		var state *State
		if state, err = l.snapshot(parts); err == nil {
			err = l.settings.Checkpoint(state)
		}
		parts.Agree([]float64{noPart})
	case parts.me > 0:
		parts.serve()
	}
	return l.settings.team.Common(err, ErrState)
}

// ReadState reads what State.WriteFile has written, and checks that it is whole. Fit reads
// the arrays of the state, which may be large, from the file: it must stay as it is until then, or is refused.
func ReadState(path string) (*State, error) {
	kept, in, err := runstate.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return &State{Iteration: in.Iteration, saved: kept}, nil
}

// savedParts are what a state of the moment has in parts.
func (l *learner) savedParts() *savedParts {
	return &savedParts{ranks: l.ranks, passStarts: l.progress.Pass.Momentum > 0, accepted: l.messages.leftAccepted()}
}

func (l *learner) snapshot(s *savedParts) (*State, error) {
	random, err := l.schedule.source.MarshalBinary()
	if err != nil {
		return nil, err
	}
	arrays := append(l.arrays(), partArrays(0, s.lengths, s.ask)...)
	return l.state(l.identify(), random, l.settings.Step.State(), arrays)
}

// arrays lists the slices of the state that are the same in all processes, in a fixed order.
func (l *learner) arrays() (all []runstate.Array) {
	add := func(values []float64, name string, arguments ...any) {
		all = append(all, runstate.Array{Name: fmt.Sprintf(name, arguments...), Values: values})
	}
	add(l.sums.total, "total")
	add(l.sums.moments, "moments")
	add(l.claims.watched, "watched")
	if !l.oneUnit() {
		add(l.contribution, "contribution")
	}
	for i, u := range l.units {
		add(u.untied, "unit.%d.untied", i)
	}
	return all
}

// ErrState is the error of Fit for a saved state that cannot be gone on with.
var ErrState = runstate.Err

// restore puts a saved state in the place of that of a run that begins, and decides what comes next.
func (l *learner) restore(state *State) error {
	in, err := l.restoreProgress(state, l.identify(), l.settings.Step.State())
	if err != nil {
		return err
	}
	if err := l.validate(&l.progress); err != nil {
		return err
	}
	if l.progress.Pass.Momentum > 0 || l.messages.leftAccepted() {
		l.messages.makeRoom()
	}
	first, _ := l.ranks.ownParts()
	parts := l.savedParts()
	arrays := append(l.arrays(), partArrays(first, parts.ownLengths(), parts.own)...)
	if err := l.restoreArrays(in, state, l.settings.Step.State(), arrays); err != nil {
		return err
	}
	if l.auto != nil {
		if err := l.auto.curvature.Validate(); err != nil {
			return runstate.Errorf("%v", err)
		}
	}
	ended := l.progress.Status.Stationary() && l.progress.SmallPromises < smallPromises
	if !ended || l.claims.whyNotConverged() != "" {
		l.goOn()
	}
	return l.schedule.source.UnmarshalBinary(in.Random)
}

// validate refuses progress that no run of this problem can have made.
func (l *learner) validate(p *progress) error {
	c, at := &p.Check, &p.Pass
	switch {
	case p.Iterations < 0 || p.LastCheck < 0 || p.LastCheck > p.Iterations || p.FailedChecks < 0:
		return runstate.Errorf("%d iterations, the last check at %d, %d checks failed: the file is damaged",
			p.Iterations, p.LastCheck, p.FailedChecks)
	case at.Next < 0 || at.Next >= len(l.schedule.wholePass) || at.WorstAt < 0 || at.WorstAt >= len(l.schedule.wholePass),
		p.Accepted.WorstAt < 0 || p.Accepted.WorstAt >= len(l.schedule.wholePass):
		return runstate.Errorf("a pass at block visit %d of %d: the file is damaged", at.Next, len(l.schedule.wholePass))
	case c.Active && c.Purpose != checkInitial && c.Purpose != checkConvergence && c.Purpose != checkFinal:
		return runstate.Errorf("a check with the purpose %q: the file is damaged", c.Purpose)
	}
	return nil
}

// goOn decides what a run does next whose state is of one that a limit ended, or an interruption: the final check if
// the limits of this run are reached too, else more iterations.
func (l *learner) goOn() {
	p := &l.progress
	wasEnded := p.Status != ""
	p.Status, p.Reason = "", ""
	if !wasEnded {
		return
	}
	p.FellBack = false
	if p.Status, p.Reason = l.settings.limitReached(p, l.endSeconds()); p.Status != "" {
		l.takeAccepted()
		l.startCheck(checkFinal)
	}
}

// identify tells what the run works on, even where all arrays of another one have the same lengths. It costs about as
// much as reading the data once, and is done when it is first asked for: a run without checkpoints needs none of it.
func (l *learner) identify() []trait {
	if l.worksOn == nil {
		var partitions []*partition.Partition
		var numbers []*counting.Numbers
		for _, u := range l.units {
			partitions, numbers = append(partitions, u.partition), append(numbers, u.net.Counting)
		}
		l.worksOn = []trait{
			{"data", digestProblem(l.problem)},
			{"number of blocks", fmt.Sprint(l.blocks)},
			{"blocks", runstate.OfEach(partitions, (*runstate.Digest).AddPartition).String()},
			traitOf(numbers),
		}
	}
	return l.worksOn
}

// traitOf tells counting numbers of instances apart.
func traitOf(numbers []*counting.Numbers) trait {
	return trait{"counting numbers",
		numbers[0].Name + ":" + runstate.OfEach(numbers, (*runstate.Digest).AddCounting).String()}
}

// digestProblem is that of data, class weights and means that were given.
func digestProblem(p *Problem) string {
	d := runstate.Of(p.Data)
	for _, numbers := range append(slices.Clone(p.ClassWeights), p.Statistics) {
		d.AddFloats(numbers)
	}
	return d.String()
}
