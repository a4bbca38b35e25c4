package learn

import (
	"slices"

	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/ground"
)

// Of a graph without an order few blocks share no edge. With Settings.AtOnce an iteration visits all of
// them. Sweeps go through the colours of the nodes: all blocks update their nodes of one colour, of
// which no two are neighbours, and then see what the others have made. So each sweep is one over the
// whole network, node after node in the order of the colours, whoever does which block, and lowers
// F as any other does. Visits of neighbours with messages from before the visit need no such steps
// in time, but 2 to 6 times as many passes (results/2026-11-ranks.md).
//
// Tables of all blocks are kept from colour to colour, as much as a network has that is not cut.
// A cut edge is contributed by the lower one of its blocks.

// atOnce is a visit of all blocks at work.
type atOnce struct {
	spaces  []bp.Workspace // [jobs]
	results []unitResult   // [jobs] how sweeps went
	all     []int32        // jobs, 0, 1, …
	visit   visit
	jobs    []int32 // that are done here
	run     int
	// ground and sweep are l.groundJob and l.sweepJob: made once.
	ground, sweep func(worker, i int)
}

// visitsAtOnce reports whether iterations visit all blocks at once.
func (l *learner) visitsAtOnce() bool { return l.settings.AtOnce && l.blocks > 1 }

// makeAtOnce makes what such visits keep.
func (l *learner) makeAtOnce() {
	jobs := 0
	for _, b := range l.bundles {
		jobs = max(jobs, l.blocks*len(b.units))
	}
	a := &atOnce{spaces: make([]bp.Workspace, jobs), results: make([]unitResult, jobs), all: make([]int32, jobs)}
	for i := range a.all {
		a.all[i] = int32(i)
	}
	a.ground, a.sweep = l.groundJob, l.sweepJob
	l.atOnce = a
}

// sweepAtOnce grounds all blocks of a visit, and makes its sweeps. It reports whether the visit was
// ended between two of them.
func (l *learner) sweepAtOnce(asked visit) (ended bool, err error) {
	a, jobs := l.atOnce, len(asked.blocks)*len(asked.bundle.units)
	a.visit = asked
	v := &a.visit
	a.jobs = l.executor.jobs(v, jobs)
	l.pool.Run(visit{task: a.ground}, len(a.jobs))
	colours := v.bundle.units[0].part.Colours
	for _, u := range v.bundle.units {
		colours = max(colours, u.part.Colours)
	}
	t := l.tellAtOnce()
	for sweep := 0; sweep < v.limits.MaxSweeps && t.failed < 0 && !t.ended && (sweep == 0 || !t.converged && t.residual > 0); sweep++ {
		for a.run = range colours {
			l.pool.Run(visit{task: a.sweep}, len(a.jobs))
			l.executor.exchangeRun(v, jobs, a.run)
		}
		t = l.tellAtOnce()
	}
	if t.failed >= 0 {
		l.executor.tellError(v, t.failed, &a.results[t.failed].err)
		block, u := v.job(t.failed)
		return false, l.locate(a.results[t.failed].err, u, block)
	}
	return t.ended, nil
}

// tellAtOnce is how sweeps went so far, in all processes.
func (l *learner) tellAtOnce() tally {
	a := l.atOnce
	t := tally{converged: true, failed: -1, ended: a.visit.ended()}
	for _, i := range a.jobs {
		t.add(int(i), &a.results[i])
	}
	return l.executor.merge(t)
}

// groundJob grounds a block.
func (l *learner) groundJob(_, i int) {
	a := l.atOnce
	job := int(a.jobs[i])
	blockIndex, u := a.visit.job(job)
	block, s := &u.part.Blocks[blockIndex], &a.results[job]
	if s.outcome, s.err = (bp.Outcome{Converged: len(block.Nodes) == 0}), nil; block.Elements() > 0 {
		pot := &a.spaces[job].Potentials
		if cap(pot.Table) == 0 {
			pot.Reserve(ground.RoomOf(&l.model.Layout, u.in, block))
		}
		l.settings.PhaseTimes.begin()
		s.err = a.spaces[job].Ground(l.model, u.in, u.net, block)
		l.settings.PhaseTimes.end(phaseGround)
	}
}

// sweepJob makes a run of a sweep over a block.
func (l *learner) sweepJob(_, i int) {
	a := l.atOnce
	job := int(a.jobs[i])
	blockIndex, u := a.visit.job(job)
	block, s, space := &u.part.Blocks[blockIndex], &a.results[job], &a.spaces[job]
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
	o.Residual = larger(o.Residual, residual)
	if a.run == u.part.Colours-1 {
		if o.Sweeps++; o.Sweeps == 1 {
			o.First = o.Residual
		}
		o.Work += block.Work()
		o.Damping = limits.Damping
		o.Converged = s.err == nil && space.Settled(u.net, u.state, block, o.Residual, limits)
	}
	l.settings.PhaseTimes.end(phaseSweep)
}

// ownContributions gives each block one contribution of its own.
func (b *bundle) ownContributions() {
	b.hasSparse, b.first = make([]bool, len(b.touched)), make([]int32, 1, len(b.touched)+1)
	for x := range b.touched {
		b.touched[x] = []int32{int32(x)}
		b.first = append(b.first, int32(x+1))
	}
	for _, u := range b.units {
		u.sparseEdges = &sparseEdges{}
		for x := range u.slots {
			clear(u.slots[x])
		}
	}
}

// contributeAll adds nodes of a block, its inside, and edges to higher ones, to its contribution.
func (l *learner) contributeAll(w *worker, s *unitResult, u *unit, blockIndex int) error {
	groups := u.part.Blocks[blockIndex].Groups
	l.contributeInside(w, s, u, s.tied, blockIndex)
	for i, g := range groups {
		hi := g.Hi
		switch {
		case l.contributesLower(blockIndex, g.Other):
			if err := l.splitRange(w, u, blockIndex, int(g.Lo), int(g.Hi)); err != nil {
				return err
			}
			continue
		case i > 0: // higher ones are the last
			hi = groups[len(groups)-1].Hi
		}
		if err := l.contributeRange(w, s, u, s.tied, blockIndex, int(g.Lo), int(hi)); err != nil {
			return err
		}
		if i > 0 {
			break
		}
	}
	l.takeProduct(w, u, s.tied)
	if w.split {
		s.tied[l.crossAt()] += w.space.SplitNodes(u.net, u.state, &u.part.Blocks[blockIndex], u.labels)
	}
	return nil
}

// splitRange takes edges lo ≤ q < n of the block, that another contributes, into its nodes' split.
func (l *learner) splitRange(w *worker, u *unit, blockIndex, lo, n int) error {
	block := &u.part.Blocks[blockIndex]
	for w.split && lo < n {
		hi := ground.EdgeRun(u.in, block.Edges, lo, min(lo+l.edgesTogether, n))
		if _, err := w.space.EdgeBeliefs(w.belief, nil, u.net, u.state, block, lo, hi); err != nil {
			return err
		}
		states := l.model.Layout.Edge[u.in.EdgeType(block.Edges[lo])].States
		if err := w.space.AddSplit(w.belief[:(hi-lo)*states], u.net, u.state, block, lo, hi); err != nil {
			return err
		}
		lo = hi
	}
	return nil
}

// contributesLower reports whether the lower block of a group contributes it, not this one.
func (l *learner) contributesLower(block int, other int32) bool {
	return l.visitsAtOnce() && int(other) < block
}

// atOnceMemory is what visits of all blocks keep: tables of the largest bundle.
func (l *learner) atOnceMemory() (bytes float64) {
	for _, b := range l.bundles {
		sum := 0.0
		for _, u := range b.units {
			for x := range u.part.Blocks {
				if block := &u.part.Blocks[x]; block.Elements() > 0 {
					sum += bp.WorkspaceBytes(&l.model.Layout, u.in, u.net, block)
				}
			}
		}
		bytes = max(bytes, sum)
	}
	return bytes
}

// allAtOnce are the sets of a pass that visits all blocks of a bundle at once.
func (l *learner) allAtOnce() (sets []blockSet) {
	for i, b := range l.bundles {
		set := blockSet{bundle: i}
		for x := range l.blocks {
			if b.hasNodes(x) {
				set.blocks = append(set.blocks, x)
			}
		}
		sets = append(sets, set)
	}
	return slices.DeleteFunc(sets, func(s blockSet) bool { return len(s.blocks) == 0 })
}
