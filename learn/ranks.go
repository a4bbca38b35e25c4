package learn

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/distributed"
	"github.com/blockbp/blockbp/internal/numeric"
)

// ranks are the processes that make a run, as one of them sees them; a process alone is a group of one. The part of a
// job says which of them does it, in all passes. The loop, with all that is made of sums, runs in each. What neighbours
// of a block see of it, messages and beliefs at cut edges and what these keep, goes to their processes after a visit.
type ranks struct {
	*distributed.Team
	inf      *inference
	me, size int
	all      []int // the numbers of all blocks
	bounds   []int // scratch of sumParts

	mine    []int32   // jobs of a visit
	tallies []float64 // of all processes
}

func newRanks(inf *inference, team *distributed.Team) *ranks {
	size := team.Size()
	r := &ranks{Team: team, inf: inf, me: team.Rank(), size: size, bounds: make([]int, size+1)}
	for x := range inf.blocks {
		r.all = append(r.all, x)
	}
	return r
}

// owner returns the process that does the jobs of a part.
func (r *ranks) owner(part int32) int { return int(part) * r.size / mostParts }

// Owns reports whether this process does the jobs of a part.
func (r *ranks) Owns(part int32) bool { return r.owner(part) == r.me }

// ownParts returns the range of parts that this process does: from ≤ part < to.
func (r *ranks) ownParts() (from, to int) {
	first := func(process int) int { return (process*mostParts + r.size - 1) / r.size }
	return first(r.me), first(r.me + 1)
}

// whose returns the process that does a job of a visit.
func (r *ranks) whose(v *visit, job int) int {
	block, unit, _ := r.inf.job(v.blocks, job)
	return r.owner(r.inf.parts[block*len(r.inf.units)+unit])
}

// has reports whether this process has the contributions of the jobs of a part.
func (r *ranks) has(part int32) bool { return !r.inf.oneUnit() || r.Owns(part) }

// visitedHere returns a function that reports whether a node of the i-th unit is in a block that is visited here.
func (r *ranks) visitedHere(i int) func(node int32) bool {
	of, inf := r.inf.units[i].partition.Of, r.inf
	return func(node int32) bool { return r.Owns(inf.parts[int(of[node])*len(inf.units)+i]) }
}

// begin makes the beliefs uniform that this process works with. Messages are zeros already.
func (r *ranks) begin() {
	r.inf.each(len(r.inf.units), func(_, i int) {
		u, here := r.inf.units[i], r.visitedHere(i)
		for s := range int32(u.in.Graph.NumNodes()) {
			if here(s) {
				u.net.Begin(u.state.LogBelief, s)
			}
		}
	})
	r.exchangeAll(false)
}

// jobs returns those of n jobs of a visit that are done here, ascending, good until the next call.
func (r *ranks) jobs(v *visit, n int) []int32 {
	r.mine = r.mine[:0]
	for i := range n {
		if r.whose(v, i) == r.me {
			r.mine = append(r.mine, int32(i))
		}
	}
	return r.mine
}

// doJobs does a round of n jobs in all processes, and returns their results, good until the next call, and how they
// went. Where the tally says that v.until has ended the visit, some have contributed nothing.
func (r *ranks) doJobs(v jobRound, n int) (results []jobResult, t tally) {
	inf := r.inf
	lo, _ := slices.BinarySearch(v.jobs, int32(v.firstJob))
	hi, _ := slices.BinarySearch(v.jobs, int32(v.firstJob+n))
	v.from = lo
	inf.pool.Run(v, hi-lo)
	results = inf.results[:n]
	t = r.tally(&v, v.jobs[lo:hi], results)
	switch {
	case t.failed >= 0:
		r.tellError(&v, v.firstJob+t.failed, &results[t.failed])
	case v.kind == sumVisit || v.kind.contributes() && !t.ended:
		r.tellResults(&v, results)
	}
	return results, t
}

// endVisit tells the other processes what they need of a visit that is over.
func (r *ranks) endVisit(v *visit) {
	switch v.kind {
	case sumVisit:
	case splitVisit:
		r.Tell(func(do func(owner int, x []float64)) {
			for i := range r.inf.jobsOf(v.blocks) {
				do(r.whose(v, i), r.inf.splitOf[r.inf.placeOfJob(v.blocks, i):][:1])
			}
		})
	default:
		r.exchange(v.blocks, seen{cutBeliefs: v.kind.contributes(), outward: v.limits.Outward})
	}
}

// tally tells how jobs of a visit went, in all processes. jobs are done here, and results of those from v.firstJob on.
func (r *ranks) tally(v *jobRound, jobs []int32, results []jobResult) tally {
	t := nothingYet
	t.ended = v.ended()
	for _, job := range jobs {
		i := int(job) - v.firstJob
		t.add(i, &results[i])
	}
	if r.size == 1 {
		return t
	}
	own := [...]float64{
		float64(t.sweeps), float64(t.work), t.residual, t.firstResidual, float64(numeric.OneIf(t.converged)),
		float64(numeric.OneIf(t.infeasible)), float64(t.failed), float64(numeric.OneIf(t.ended)),
	}
	r.tallies = r.GatherEach(r.tallies, own[:])
	t = nothingYet
	for x := range slices.Chunk(r.tallies, len(own)) {
		t.merge(&tally{int(x[0]), int(x[1]), x[2], x[3], x[4] > 0, x[5] > 0, int(x[6]), x[7] > 0})
	}
	return t
}

// tellError tells all processes the error of a job, which is in its result: what fails in a visit is a number.
func (r *ranks) tellError(v *jobRound, job int, s *jobResult) {
	told := struct {
		Unit int
		At   *bp.NumericalError
	}{s.failed, &bp.NumericalError{}}
	who, text := r.whose(&v.visit, job), []byte(nil)
	if r.me == who && errors.As(s.err, &told.At) {
		text, _ = json.Marshal(told)
	}
	if text = r.Bytes(text)[who]; r.me != who {
		_ = json.Unmarshal(text, &told) // as it was written
		s.failed, s.err = told.Unit, told.At
	}
}

// tellResults tells all processes what the jobs of a round contribute.
func (r *ranks) tellResults(v *jobRound, results []jobResult) {
	for i := range results {
		if job := v.firstJob + i; v.kind.contributes() && r.whose(&v.visit, job) != r.me {
			results[i].untied = numeric.Resize(results[i].untied, r.inf.untiedNumbers(&r.inf.model.Layout, v.blocks, job))
		}
	}
	r.Tell(func(do func(owner int, x []float64)) {
		for i := range results {
			s, owner := &results[i], r.whose(&v.visit, v.firstJob+i)
			if !r.inf.oneUnit() {
				do(owner, s.cut)
			}
			if v.kind.contributes() && !r.inf.oneUnit() {
				do(owner, s.inside)
			}
			if v.kind.contributes() {
				do(owner, s.untied)
			}
		}
	})
}

// seen is what blocks in other processes see of some blocks, beside messages into them and beliefs.
type seen struct {
	cutBeliefs bool // what is kept of cut edges
	outward    bool // messages that leave the blocks, which visits of Algorithm 2 change, too
	unvisited  bool // none of the blocks was visited
}

// exchange brings what neighbours see of some blocks to the processes that visit these.
func (r *ranks) exchange(blocks []int, what seen) {
	if r.size == 1 {
		return
	}
	r.Swap(func(do func(owner, peer int, x []float64)) {
		for _, x := range blocks {
			for i := range r.inf.units {
				r.eachSeen(what, x, i, do)
			}
		}
	})
}

// exchangeAll is exchange of all blocks, none of which was visited: with what is kept of cut edges where it was read.
func (r *ranks) exchangeAll(cutBeliefs bool) {
	r.exchange(r.all, seen{cutBeliefs: cutBeliefs, unvisited: true})
}

// eachSeen calls do for all that another process sees of a block of a unit which this one does, or the other way
// round: do gets whose the block is, and who sees it. A belief may come twice.
func (r *ranks) eachSeen(what seen, x, unit int, do func(owner, peer int, x []float64)) {
	whose := func(x int) int { return r.owner(r.inf.parts[x*len(r.inf.units)+unit]) }
	u, owner := r.inf.units[unit], whose(x)
	block := &u.partition.Blocks[x]
	for _, g := range block.Groups {
		peer := whose(int(g.Other))
		if peer == owner || peer != r.me && owner != r.me {
			continue
		}
		r.eachSeenAt(what, u, x, block.Edges[g.Lo:g.Hi], func(x []float64) { do(owner, peer, x) })
		// The lower block tells what a pair keeps if none of them was visited.
		if what.cutBeliefs && int(g.Other) != x && (!what.unvisited || int(g.Other) > x) {
			at, n := r.inf.shape.cutRange(u, &g)
			do(owner, peer, u.cutBeliefs[at:][:n])
		}
	}
}

// eachSeenAt calls do for messages and beliefs of a block at some of its cut edges.
func (r *ranks) eachSeenAt(what seen, u *unit, block int, edges []int32, do func(x []float64)) {
	last := int32(-1)
	for _, e := range edges {
		d := 2 * e // into V, or into U
		if int(u.partition.Of[u.in.Graph.Target(d)]) != block {
			d++
		}
		node := u.in.Graph.Target(d)
		if at := u.net.MessageAt(d); at >= 0 {
			n := u.in.States(node)
			if do(u.state.LogMessage[at:][:n]); node != last {
				do(u.state.LogBelief[u.net.BeliefAt(node):][:n])
			}
			last = node
		}
		if at := u.net.MessageAt(d ^ 1); at >= 0 && what.outward {
			do(u.state.LogMessage[at:][:u.in.States(u.in.Graph.Source(d))])
		}
	}
}

// sumParts sets p.total to the sum of all parts that are touched, of which p.own are here.
func (r *ranks) sumParts(p *partSums) {
	clear(r.bounds)
	for _, part := range p.touched {
		r.bounds[r.owner(part)+1]++
	}
	for i := range r.size {
		r.bounds[i+1] += r.bounds[i]
	}
	r.Sum(p.total, p.own, r.bounds)
}

// piece is some of a unit's messages, or of its beliefs.
type piece struct {
	at, n  int
	belief bool
}

// of returns the piece of messages or beliefs.
func (p piece) of(messages, beliefs []float64) []float64 {
	if p.belief {
		messages = beliefs
	}
	return messages[p.at:][:p.n]
}

// pieces calls do for pieces of all messages and beliefs of blocks that are visited here, and tells others what they
// see of these. Several goroutines do so, and no piece comes twice.
func (r *ranks) pieces(do func(u *unit, p piece)) {
	r.inf.spilled.readApart(false)
	if units := r.inf.units; r.size == 1 {
		chunks := max(1, 64/len(units)) // of each, in the order of the arrays, of which memory may not hold all
		r.inf.each(chunks*len(units), func(_, at int) {
			u, c := units[at/chunks], at%chunks
			part := func(n int, belief bool) { do(u, piece{n * c / chunks, n*(c+1)/chunks - n*c/chunks, belief}) }
			part(u.net.Messages(), false)
			part(u.net.Beliefs(), true)
		})
	} else {
		r.inf.each(len(r.inf.parts), func(_, at int) {
			if u, x := r.inf.jobAt(at); r.Owns(r.inf.parts[at]) {
				eachOfBlock(u, x, func(p piece) { do(u, p) })
			}
		})
	}
	r.inf.spilled.readApart(true)
	r.exchangeAll(false)
}

// eachOfBlock calls do for the beliefs of the nodes of a block, and for the messages into such, in few pieces.
func eachOfBlock(u *unit, x int, do func(p piece)) {
	var run piece
	add := func(node int32, at int, belief bool) {
		switch n := u.in.States(node); {
		case at < 0 || int(u.partition.Of[node]) != x:
		case at == run.at+run.n && belief == run.belief:
			run.n += n
		default:
			if run.n > 0 {
				do(run)
			}
			run = piece{at, n, belief}
		}
	}
	for _, s := range u.partition.Blocks[x].Nodes {
		add(s, u.net.BeliefAt(s), true)
	}
	for _, e := range u.partition.Blocks[x].Edges {
		for d := 2 * e; d < 2*e+2; d++ {
			add(u.in.Graph.Target(d), u.net.MessageAt(d), false)
		}
	}
	if run.n > 0 {
		do(run)
	}
}
