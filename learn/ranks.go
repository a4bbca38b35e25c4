package learn

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/distributed"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/runstate"
)

// ranks are the processes that make a run, as one of them sees them; a process alone is a group of one. A job is a
// block in some units. Its part (parts.go) says which process does it, in all passes. The loop, with all that is made
// of sums, runs in each process. What the neighbours of a block see of it, which are messages and beliefs at cut edges,
// and what these keep, goes to the processes that do these after a visit.
type ranks struct {
	*distributed.Team
	l        *learner
	me, size int
	all      []int // blocks
	bounds   []int // of parts

	mine          []int32 // jobs of a visit
	heads, buffer []float64
	lengths       []float64 // [mostParts] how many numbers a state has of each part, while it is saved
}

func newRanks(l *learner, team *distributed.Team) *ranks {
	size := team.Size()
	r := &ranks{Team: team, l: l, me: team.Rank(), size: size, bounds: make([]int, size+1)}
	for x := range l.blocks {
		r.all = append(r.all, x)
	}
	return r
}

// owner returns the process that does the jobs of a part.
func (r *ranks) owner(part int32) int { return int(part) * r.size / mostParts }

// Owns reports whether this process does the jobs of a part.
func (r *ranks) Owns(part int32) bool { return r.owner(part) == r.me }

// parts returns the range of parts that this process does: from ≤ part < to.
func (r *ranks) parts() (from, to int) {
	first := func(process int) int { return (process*mostParts + r.size - 1) / r.size }
	return first(r.me), first(r.me + 1)
}

// whose returns the process that does a job of a visit.
func (r *ranks) whose(v *visit, job int) int {
	block, unit, _ := r.l.job(v.blocks, job)
	return r.owner(r.l.part[block*len(r.l.units)+unit])
}

// has reports whether this process has the contributions of the jobs of a part.
func (r *ranks) has(part int32) bool { return !r.l.alone() || r.Owns(part) }

// visits returns a function that reports whether a node of the i-th unit is in a block that is visited here.
func (r *ranks) visits(i int) func(node int32) bool {
	of, l := r.l.units[i].partition.Of, r.l
	return func(node int32) bool { return r.Owns(l.part[int(of[node])*len(l.units)+i]) }
}

// begin makes the beliefs uniform that are in use here. Messages are zeros.
func (r *ranks) begin() {
	r.l.each(len(r.l.units), func(_, i int) {
		u, here := r.l.units[i], r.visits(i)
		for s := range int32(u.in.Graph.NumNodes()) {
			if at := u.net.BeliefAt(s); at >= 0 && here(s) {
				bp.Even(u.state.LogBelief[at:][:u.in.States(s)])
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

// visit does n jobs of v, from v.firstJob on, in all processes, and returns their results, good until the next call,
// and how they went. Where the tally says that v.until has ended the visit, some have contributed nothing.
func (r *ranks) visit(v visit, n int) (results []jobResult, t tally) {
	l := r.l
	lo, _ := slices.BinarySearch(v.jobs, int32(v.firstJob))
	hi, _ := slices.BinarySearch(v.jobs, int32(v.firstJob+n))
	v.from = lo
	l.pool.Run(v, hi-lo)
	results = l.results[:n]
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
			for i := range r.l.jobsOf(v.blocks) {
				do(r.whose(v, i), r.l.splitOf[r.l.placeOfJob(v.blocks, i):][:1])
			}
		})
	default:
		r.exchange(v.blocks, seen{cutBeliefs: true, outward: v.limits.Outward})
	}
}

// tally tells how jobs of a visit went, in all processes. jobs are done here, and results of those from v.firstJob on.
func (r *ranks) tally(v *visit, jobs []int32, results []jobResult) tally {
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
		float64(t.sweeps), float64(t.work), t.residual, t.firstResidual, float64(oneIf(t.converged)),
		float64(oneIf(t.infeasible)), float64(t.failed), float64(oneIf(t.ended)),
	}
	r.heads = r.GatherEach(r.heads, own[:])
	t = nothingYet
	for x := range slices.Chunk(r.heads, len(own)) {
		t.merge(&tally{int(x[0]), int(x[1]), x[2], x[3], x[4] > 0, x[5] > 0, int(x[6]), x[7] > 0})
	}
	return t
}

// tellError tells all processes the error of a job, which is in its result: what fails in a visit is a number.
func (r *ranks) tellError(v *visit, job int, s *jobResult) {
	told := struct {
		Unit int
		At   *bp.NumericalError
	}{s.failed, &bp.NumericalError{}}
	who, text := r.whose(v, job), []byte(nil)
	if r.me == who && errors.As(s.err, &told.At) {
		text, _ = json.Marshal(told)
	}
	if text = r.Bytes(text)[who]; r.me != who {
		_ = json.Unmarshal(text, &told) // as it was written
		s.failed, s.err = told.Unit, told.At
	}
}

// tellResults tells all processes what the jobs of a round contribute.
func (r *ranks) tellResults(v *visit, results []jobResult) {
	for i := range results {
		if block, lo, hi := r.l.job(v.blocks, v.firstJob+i); v.kind.contributes() && r.whose(v, v.firstJob+i) != r.me {
			results[i].untied = numeric.Resize(results[i].untied, r.l.untiedNumbers(r.l.units[lo:hi], block))
		}
	}
	r.Tell(func(do func(owner int, x []float64)) {
		for i := range results {
			s, owner := &results[i], r.whose(v, v.firstJob+i)
			if !r.l.alone() {
				do(owner, s.cut)
			}
			if v.kind.contributes() && !r.l.alone() {
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
			for i := range r.l.units {
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
	whose := func(x int) int { return r.owner(r.l.part[x*len(r.l.units)+unit]) }
	u, owner := r.l.units[unit], whose(x)
	block := &u.partition.Blocks[x]
	for _, g := range block.Groups {
		peer := whose(int(g.Other))
		if peer == owner || peer != r.me && owner != r.me {
			continue
		}
		r.eachSeenAt(what, u, x, block.Edges[g.Lo:g.Hi], func(x []float64) { do(owner, peer, x) })
		// The lower block tells what a pair keeps if none of them was visited.
		if what.cutBeliefs && r.l.keepsCut() && (!what.unvisited || int(g.Other) > x) {
			at, n := r.l.cutRange(u, &g)
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
func (r *ranks) sumParts(p *parts) {
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
	r.l.readApart(false)
	if units := r.l.units; r.size == 1 {
		chunks := max(1, 64/len(units)) // of each, in the order of the arrays, of which memory may not hold all
		r.l.each(chunks*len(units), func(_, at int) {
			u, c := units[at/chunks], at%chunks
			part := func(n int, belief bool) { do(u, piece{n * c / chunks, n*(c+1)/chunks - n*c/chunks, belief}) }
			part(u.net.Messages(), false)
			part(u.net.Beliefs(), true)
		})
	} else {
		r.l.each(len(r.l.part), func(_, at int) {
			if u, x := r.l.jobAt(at); r.Owns(r.l.part[at]) {
				eachOfBlock(u, x, func(p piece) { do(u, p) })
			}
		})
	}
	r.l.readApart(true)
	r.exchangeAll(false)
}

// jobAt returns a unit and a block, by their place in j.part.
func (j *unitSet) jobAt(at int) (u *unit, block int) {
	return j.units[at%len(j.units)], at / len(j.units)
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

// eachOwned calls do for all that a state has of a block: messages into its nodes, their beliefs, both also as they
// were where the last pass began, and those to go back to, what edges to higher blocks keep, and its contribution, if
// not all processes have that.
func (l *learner) eachOwned(at int, do func([]float64)) {
	u, x := l.jobAt(at)
	eachOfBlock(u, x, func(p piece) { do(p.of(u.state.LogMessage, u.state.LogBelief)) })
	if u.passStart != nil && l.progress.Pass.Momentum > 0 {
		eachOfBlock(u, x, func(p piece) { do(p.of(u.passStart.halves(u))) })
	}
	if u.acceptedState != nil && l.leftAccepted() {
		eachOfBlock(u, x, func(p piece) { do(p.of(u.acceptedState.halves(u))) })
	}
	for _, g := range u.partition.Blocks[x].Groups {
		if l.keepsCut() && int(g.Other) > x {
			at, n := l.cutRange(u, &g)
			do(u.cutBeliefs[at:][:n])
		}
	}
	if l.alone() {
		do(l.contribution[x*l.stride:][:l.stride])
	}
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
