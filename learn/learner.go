package learn

import (
	"context"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/distributed"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/parallel"
)

// learner is a run in progress: the loop over inference and steps.
type learner struct {
	*inference
	messages  *messages
	auto      *auto // Settings.Step, if steps are automatic; nil: they are not
	claims    claims
	diagnosis diagnosis
	clock     clock
	// stopped ends visits between two sweeps. It is of a run that saves no state: the state
	// there could not be resumed to the same bytes. nil: visits are finished.
	stopped  context.Context
	recalled bool // progress has the values of the start's check: see recall
}

// newLearner makes a run. More memory than the settings allow is a *MemoryError, before any of it is taken.
func newLearner(p *Problem, s *Settings) (*learner, error) {
	l, err := planLearner(p, s)
	if err != nil {
		return nil, err
	}
	if err := l.memory().makeWay(s.Memory); err != nil {
		return nil, err
	}
	return l, l.allocate()
}

// planLearner decides on everything that the sizes of a run depend on. What it makes grows with the numbers of nodes
// and edges alone: the model may be without weights.
func planLearner(p *Problem, s *Settings) (*learner, error) {
	if err := countable(p.Model); err != nil {
		return nil, err
	}
	problem := *p.joined(s)
	if s.Assign == nil && s.Cut.Kind != "range" && s.ProofFile == "" { // which go by the numbers of nodes and edges
		problem.Data = numeric.Map(problem.Data, (*crf.Instance).LaidOut)
	}
	inf, err := planInference(&problem, s)
	if err != nil {
		return nil, err
	}
	l := &learner{
		inference: inf, messages: &messages{inference: inf}, claims: claims{inference: inf}, diagnosis: diagnosis{inf},
		clock: clock{trainingRun: inf.trainingRun},
	}
	if a, ok := s.Step.(interface{ automatic() *auto }); ok {
		l.auto = a.automatic()
		l.messages.auto, l.messages.response = l.auto, inf.newResponse()
	}
	return l, nil
}

// allocate takes the memory of the run, and begins it. Each line needs those above: ranks, and threads, are what
// inference.allocate makes the first beliefs with; processes compare their problems before any of them has taken much;
// and workers are given the copy of the model that trainingRun.allocate makes.
func (l *learner) allocate() (err error) {
	team := l.settings.team
	if l.messages.usesResponse() { // each process solves the linear systems of small problems by itself
		team = distributed.NewTeam(nil)
	}
	l.ranks = newRanks(l.inference, team)
	l.pool = parallel.NewPool(l.settings.Threads, l.visitJob) // its goroutines run until it is closed
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	if err := l.sameEverywhere(); err != nil {
		return err
	}
	l.trainingRun.allocate()
	if err := l.inference.allocate(l.messages.copiesKept()); err != nil {
		return err
	}
	l.claims.watched = make([]float64, l.model.Layout.Size)
	return l.begin()
}

// begin makes everything what it is before the first iteration: a check of the weights of the start comes first.
func (l *learner) begin() error {
	l.addLabels()
	l.startCheck(checkInitial)
	p, nodes := &l.progress, l.model.Layout.Node[len(l.model.Layout.Node)-1]
	p.Check.Uniform, p.Check.Uncoupled = l.startsUniform(0), l.startsUniform(nodes.At+nodes.Len)
	if l.messages.usesResponse() {
		l.messages.response.Allocate(l.model, func(i int) *bp.State { return l.units[i].state })
	}
	if err := l.settings.Step.Start(StepProblem{
		Model: l.model, L2: l.problem.L2, Variables: l.variables,
		Objective: func() float64 { return p.Objective }, messages: l.messages, automatic: l.auto,
	}); err != nil {
		return err
	}
	if l.auto != nil && l.auto.fisher != nil { // a test's rule that embeds it may have a Start of its own
		l.claims.squares = l.auto.fisher.Squares
	}
	l.spilled.readApart(true)
	return nil
}

// startsUniform reports whether all weights from one on are zero and nothing is forbidden or has a loss, so that
// constant messages already are the exact inference, and so are uniform beliefs if it is the first one.
func (l *learner) startsUniform(from int) bool {
	return !l.model.Layout.Masked && l.problem.Loss == 0 &&
		!slices.ContainsFunc(l.model.Weights[from:], func(w float64) bool { return w != 0 })
}

// visitBlocks is visit, with an error that names its likely cause.
func (l *learner) visitBlocks(v visit) (visitReport, error) {
	report, err := l.visit(v)
	if err != nil {
		err = l.diagnosis.locate(err)
	}
	return report, err
}

// close ends the threads of the run, and gives its memory back.
func (l *learner) close() {
	l.pool.Close()
	l.spilled.readApart(false)
	l.spilled.space.Close()
}

// countable refuses a model with so many weights, or a table so large, that arithmetic with their sizes would overflow.
func countable(m *crf.Model) error {
	const most = 1 << 40 // bytes
	bytes, name, reason := ground.Largest(&m.Schema)
	if bytes <= most {
		return nil
	}
	item := MemoryItem{Name: name, Bytes: memory.Whole(bytes), Reason: reason}
	return &MemoryError{Needed: item.Bytes, Allowed: most, Items: []MemoryItem{item}}
}
