package learn

import (
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/ground"
)

// Of a graph without an order few blocks share no edge. With Settings.AtOnce an iteration visits all of
// them. Sweeps go through the colours of the nodes: all blocks update their nodes of one colour, of
// which no two are neighbours, and then see what the others have made. So each sweep is one over the
// whole network, node after node in the order of the colours, whoever does which block, and lowers
// F as any other does. Visits of neighbours with messages from before the visit need no such steps
// in time, but 2 to 6 times as many passes (results/README.md).
//
// Tables of all blocks are kept from colour to colour, as much as a network has that is not cut.
// A cut edge is contributed by the lower one of its blocks.

// atOnce is a visit of all blocks at work.
type atOnce struct {
	spaces  []bp.Workspace // [jobs]
	results []jobResult    // [jobs] how sweeps went
	visit   visit
	run     int                 // of a sweep, or grounding
	do      func(worker, i int) // l.doAtOnce: made once
}

// grounding stands for the run of a sweep before the first.
const grounding = -1

// visitsAtOnce reports whether iterations visit all blocks at once.
func (l *learner) visitsAtOnce() bool { return l.settings.AtOnce && l.blocks > 1 }

// makeAtOnce makes what such visits keep.
func (l *learner) makeAtOnce() {
	jobs := 0
	for _, b := range l.bundles {
		jobs = max(jobs, l.blocks*len(b.units))
	}
	a := &atOnce{spaces: make([]bp.Workspace, jobs), results: make([]jobResult, jobs)}
	a.do = l.doAtOnce
	l.atOnce = a
}

// sweepAtOnce grounds all blocks of a visit, and makes its sweeps. It reports whether the visit was
// ended between two of them.
func (l *learner) sweepAtOnce(asked visit) (ended bool, err error) {
	a := l.atOnce
	a.visit = asked
	v := &a.visit
	a.run = grounding
	l.pool.Run(visit{task: a.do}, len(v.jobs))
	colours := v.bundle.units[0].part.Colours
	for _, u := range v.bundle.units {
		colours = max(colours, u.part.Colours)
	}
	t := l.executor.tally(v, v.jobs, a.results)
	for sweep := range v.limits.MaxSweeps {
		if t.failed >= 0 || t.ended || sweep > 0 && (t.converged || !(t.residual > 0)) {
			break
		}
		for a.run = range colours {
			l.pool.Run(visit{task: a.do}, len(v.jobs))
			l.executor.exchange(v, a.run)
		}
		t = l.executor.tally(v, v.jobs, a.results)
	}
	if t.failed >= 0 {
		s := &a.results[t.failed]
		l.executor.tellError(v, t.failed, s)
		block, _, _ := v.job(t.failed)
		return false, l.locate(s.err, v.bundle.units[s.failed], block)
	}
	return t.ended, nil
}

// doAtOnce grounds the block of a job, or makes a run of a sweep over it.
func (l *learner) doAtOnce(_, i int) {
	a := l.atOnce
	job := int(a.visit.jobs[i])
	blockIndex, at, _ := a.visit.job(job)
	u, s, space := a.visit.bundle.units[at], &a.results[job], &a.spaces[job]
	block := &u.part.Blocks[blockIndex]
	if a.run == grounding {
		s.outcome, s.err, s.failed = bp.Outcome{Converged: len(block.Nodes) == 0}, nil, at
		if cap(space.Potentials.Table) == 0 {
			space.Potentials.Reserve(ground.RoomOf(&l.model.Layout, u.in, block))
		}
		if block.Elements() > 0 {
			l.settings.PhaseTimes.begin()
			s.err = space.Ground(l.model, u.in, u.net, block)
			l.settings.PhaseTimes.end(phaseGround)
		}
		return
	}
	if len(block.Nodes) == 0 || s.err != nil {
		return
	}
	o, limits := &s.outcome, a.visit.limits
	if a.run == 0 {
		o.Residual = 0
	}
	l.settings.PhaseTimes.begin()
	var residual float64
	residual, s.err = space.SweepRun(u.net, u.state, block, a.run, limits)
	o.Residual = max(o.Residual, residual)
	if a.run == u.part.Colours-1 {
		if o.Sweeps++; o.Sweeps == 1 {
			o.First = o.Residual
		}
		o.Work += block.Work()
		o.Converged = s.err == nil && space.Settled(u.net, u.state, block, o.Residual, limits)
	}
	l.settings.PhaseTimes.end(phaseSweep)
}
