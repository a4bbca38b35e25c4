package learn

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/machine"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/partition"
)

// ranks are the processes that make a run, as one of them sees them; a process alone is a group of one. A job is a
// block of a unit. Its part (parts.go) says which process does it, in all passes. The loop, with all that is made of
// sums, runs in each process. What the neighbours of a block see of it, which are messages and beliefs at cut edges,
// and contributions of pairs, goes to the processes that do these after a visit.
//
// Processes tell each other slices that lie at the same place in each: all of them go through the same list of
// slices in the same order, so that nothing has to say what comes.
type ranks struct {
	l        *learner
	group    Group
	me, size int
	all      []int // blocks
	stale    bool  // blocks of other processes may have moved on since gather
	bounds   []int // of parts

	mine          []int32 // jobs of a visit
	heads, buffer []float64
	counts, at    []int     // [processes]
	lengths       []float64 // [mostParts] how many numbers a state has of each part, while it is saved
	send, receive [][]float64
}

func newRanks(l *learner, g Group) *ranks {
	size := g.Size()
	r := &ranks{
		l: l, group: g, me: g.Rank(), size: size, stale: size > 1, bounds: make([]int, size+1), counts: make([]int, size),
		at: make([]int, size), send: make([][]float64, size), receive: make([][]float64, size),
	}
	for x := range l.blocks {
		r.all = append(r.all, x)
	}
	return r
}

// owner returns the process that does the jobs of a part.
func (r *ranks) owner(part int32) int { return int(part) * r.size / mostParts }

// owns reports whether that is this one.
func (r *ranks) owns(part int32) bool { return r.owner(part) == r.me }

// parts returns which parts that are: from ≤ part < to.
func (r *ranks) parts() (from, to int) {
	first := func(process int) int { return (process*mostParts + r.size - 1) / r.size }
	return first(r.me), first(r.me + 1)
}

// whose returns the process that does a job of a visit.
func (r *ranks) whose(v *visit, job int) int {
	units := len(v.bundle.units)
	return r.owner(v.bundle.part[v.blocks[job/units]*units+job%units])
}

// has reports whether this process has the contributions of the jobs of a part.
func (r *ranks) has(b *bundle, part int32) bool { return !b.alone() || r.owns(part) }

// begin makes the beliefs uniform that are in use here. Messages are zeros.
func (r *ranks) begin() {
	for _, b := range r.l.bundles {
		r.l.each(len(b.part), func(_, at int) {
			u, x := b.jobAt(at)
			for _, s := range u.part.Blocks[x].Nodes {
				if place := u.net.BeliefAt(s); place >= 0 && r.owns(b.part[at]) {
					bp.Even(u.state.LogBelief[place:][:u.in.States(s)])
				}
			}
		})
	}
	r.exchangeAll(false)
}

// forget drops lists of blocks that other processes visit, once all else has been made of them.
func (r *ranks) forget() {
	l := r.l
	if r.size == 1 || l.response != nil || l.model.Layout.UntiedSize > 0 {
		return // somebody goes through all blocks
	}
	wanted, bytes := map[*partition.Partition][]bool{}, 0
	for _, b := range l.bundles {
		for at, part := range b.part {
			u, x := b.jobAt(at)
			if wanted[u.part] == nil {
				wanted[u.part] = make([]bool, l.blocks)
			}
			wanted[u.part][x] = wanted[u.part][x] || r.owns(part)
		}
	}
	for p, blocks := range wanted {
		bytes += p.Bytes()
		p.Keep(func(x int) bool { return blocks[x] }, l.space == nil)
	}
	if bytes > worthCollecting {
		machine.GiveBack()
	}
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

// visit does n jobs of v, from v.first on, in all processes, and returns their results, good until the next call,
// and how they went. Where the tally says that v.until has ended the visit, some have contributed nothing.
func (r *ranks) visit(v visit, n int) (results []unitResult, t tally) {
	l := r.l
	lo, _ := slices.BinarySearch(v.jobs, int32(v.first))
	hi, _ := slices.BinarySearch(v.jobs, int32(v.first+n))
	v.from = lo
	l.pool.Run(v, hi-lo)
	results, t = l.results[:n], tally{converged: true, failed: -1, ended: v.ended()}
	for _, job := range v.jobs[lo:hi] {
		i := int(job) - v.first
		t.add(i, &results[i])
	}
	t = r.merge(t)
	switch {
	case t.failed >= 0:
		r.tellError(&v, v.first+t.failed, &results[t.failed].err)
	case v.resum || v.contribute && !t.ended:
		r.tellResults(&v, results)
	}
	return results, t
}

// endVisit tells the other processes what they need of a visit that is over.
func (r *ranks) endVisit(v *visit) {
	switch {
	case r.size == 1 || v.resum:
	case v.split:
		units := len(v.bundle.units)
		r.tell(func(do func(owner int, x []float64)) {
			for i := range len(v.blocks) * units {
				do(r.whose(v, i), r.l.splitOf[v.blocks[i/units]*units+i%units:][:1])
			}
		})
	case r.l.atOnce == nil:
		r.exchange(v, afterVisit)
	}
}

// merge makes one of the tallies of all processes.
func (r *ranks) merge(t tally) tally {
	if r.size == 1 {
		return t
	}
	own := [...]float64{
		float64(t.sweeps), float64(t.work), t.residual, t.first, float64(t.failed),
		float64(oneIf(!t.converged)), float64(oneIf(t.infeasible)), float64(oneIf(t.ended)),
	}
	r.heads = r.gatherEach(r.heads, own[:])
	t = tally{failed: -1}
	open := false
	for x := range slices.Chunk(r.heads, len(own)) {
		t.sweeps, t.work = max(t.sweeps, int(x[0])), t.work+int(x[1])
		t.residual, t.first = max(t.residual, x[2]), max(t.first, x[3])
		if failed := int(x[4]); failed >= 0 && (t.failed < 0 || failed < t.failed) {
			t.failed = failed
		}
		open, t.infeasible, t.ended = open || x[5] > 0, t.infeasible || x[6] > 0, t.ended || x[7] > 0
	}
	t.converged = !open
	return t
}

// tellError tells all processes the error of a job: what fails in a visit is a number.
func (r *ranks) tellError(v *visit, job int, err *error) {
	at, who, text := &bp.NumericalError{}, r.whose(v, job), []byte(nil)
	if r.me == who && errors.As(*err, &at) {
		text, _ = json.Marshal(at)
	}
	if text = r.group.Bytes(text)[who]; r.me != who {
		_ = json.Unmarshal(text, at) // as it was written
		*err = at
	}
}

// tell gives all processes what the owner of each slice has in it. each goes through the same slices in all.
func (r *ranks) tell(each func(do func(owner int, x []float64))) {
	clear(r.counts)
	each(func(owner int, x []float64) { r.counts[owner] += len(x) })
	total := 0
	for p, n := range r.counts {
		r.at[p] = total
		total += n
	}
	if total == 0 {
		return
	}
	r.buffer = numeric.Resize(r.buffer, total)
	own := r.buffer[r.at[r.me]:][:r.counts[r.me]]
	left := own
	each(func(owner int, x []float64) {
		if owner == r.me {
			left = left[copy(left, x):]
		}
	})
	r.group.Gather(r.buffer, own, r.counts)
	each(func(owner int, x []float64) {
		if owner != r.me {
			r.at[owner] += copy(x, r.buffer[r.at[owner]:])
		}
	})
}

// tellResults tells all processes what the jobs of a round contribute.
func (r *ranks) tellResults(v *visit, results []unitResult) {
	if r.size == 1 {
		return
	}
	for i := range results {
		if r.whose(v, v.first+i) != r.me {
			block, u := v.job(v.first + i)
			r.l.beginTied(&results[i], u, r.l.toldContributions(v, u, block))
			results[i].untied = numeric.Resize(results[i].untied, oneIf(!v.resum)*r.l.untiedNumbers(u, block))
		}
	}
	r.tell(func(do func(owner int, x []float64)) {
		for i := range results {
			block, u := v.job(v.first + i)
			owner := r.whose(v, v.first+i)
			r.l.eachTold(v, &results[i], u, block, func(x []float64) { do(owner, x) })
		}
	})
}

// toldContributions returns how many contributions of a result all processes are told.
func (l *learner) toldContributions(v *visit, u *unit, block int) int {
	switch {
	case v.bundle.alone() || u.part.Blocks[block].Elements() == 0:
		return 0
	case v.resum:
		return oneIf(len(u.keptBeliefs) > 0)
	}
	return len(v.bundle.touched[block]) + v.bundle.sparseSlots(block)
}

// eachTold calls do for what all processes are told of a result.
func (l *learner) eachTold(v *visit, s *unitResult, u *unit, block int, do func(x []float64)) {
	tied := s.tied[:l.toldContributions(v, u, block)*l.stride]
	for ; len(tied) > 0; tied = tied[l.stride:] {
		if u.reach == nil {
			do(tied)
			break
		}
		l.eachRun(u.reach, false, func(_, part, n int) { do(tied[part:][:n]) })
		do(tied[l.model.Layout.TiedSize:l.stride])
	}
	if v.resum || u.part.Blocks[block].Elements() == 0 {
		return
	}
	do(s.untied)
	for t, c := range l.columns {
		if c != nil && !v.bundle.alone() {
			k := c.span.States
			do(c.beliefs[u.firstRows[t]*k:][:u.in.NodeFeatures(t).Data().Rows*k])
		}
	}
}

// When neighbours are told of blocks: after a run of a sweep over them, whose number it has, after a visit, or of all
// blocks when none is visited.
const afterVisit, ofAll = -1, -2

// exchangeRun is exchange after a run of a sweep.
func (r *ranks) exchangeRun(v *visit, _, run int) { r.exchange(v, run) }

// exchange brings what neighbours see of the blocks of a visit to the processes that do these.
func (r *ranks) exchange(v *visit, when int) {
	if r.size == 1 {
		return
	}
	r.stale = true
	for p := range r.send {
		r.send[p], r.receive[p] = r.send[p][:0], r.receive[p][:0]
	}
	each := func(do func(owner, peer int, x []float64)) {
		for i := range len(v.blocks) * len(v.bundle.units) {
			r.eachSeen(v, i, when, do)
		}
	}
	each(func(owner, peer int, x []float64) {
		if owner == r.me {
			r.send[peer] = append(r.send[peer], x...)
		} else {
			r.receive[owner] = numeric.Resize(r.receive[owner], len(r.receive[owner])+len(x))
		}
	})
	r.group.Exchange(r.send, r.receive)
	clear(r.at)
	each(func(owner, peer int, x []float64) {
		if owner != r.me {
			r.at[owner] += copy(x, r.receive[owner][r.at[owner]:])
		}
	})
}

// exchangeAll is exchange of all blocks, also of contributions if these were read.
func (r *ranks) exchangeAll(contributions bool) {
	for _, b := range r.l.bundles {
		r.exchange(&visit{bundle: b, blocks: r.all, contribute: contributions}, ofAll)
	}
}

// eachSeen calls do for all that another process sees of a job which this one does, or the other way round: do gets
// whose the job is, and who sees it. A belief may come twice.
func (r *ranks) eachSeen(v *visit, job, when int, do func(owner, peer int, x []float64)) {
	b, l := v.bundle, r.l
	x, u := v.job(job)
	owner, block := r.whose(v, job), &u.part.Blocks[x]
	for i, g := range block.Groups {
		peer := r.owner(b.part[int(g.Other)*len(b.units)+job%len(b.units)])
		if peer == owner || peer != r.me && owner != r.me {
			continue
		}
		edges := block.Edges
		if owner != r.me { // these lists may be dropped: an own block has the same edges in the same order
			block := &u.part.Blocks[g.Other]
			byOther := func(g partition.Group, x int) int { return cmp.Compare(int(g.Other), x) }
			at, _ := slices.BinarySearchFunc(block.Groups[1:], x, byOther)
			g.Lo, g.Hi, edges = block.Groups[1+at].Lo, block.Groups[1+at].Hi, block.Edges
		}
		r.eachSeenAt(v, u, x, edges[g.Lo:g.Hi], when, func(x []float64) { do(owner, peer, x) })
		if !v.contribute || when >= 0 || l.visitsAtOnce() || when == ofAll && int(g.Other) < x {
			continue // the lower block tells of a pair if none of them was visited
		}
		switch slot := u.slots[x][i]; {
		case slot == isSparse:
			n := len(edges[g.Lo:g.Hi]) * l.perSparseEdge
			do(owner, peer, u.keptBeliefs[u.sparseEdges.first[x][i]*l.perSparseEdge:][:n])
		case b.alone():
			do(owner, peer, b.contribution[int(b.touched[x][slot])*l.stride:][:l.stride])
		}
	}
}

// eachSeenAt calls do for messages and beliefs of a block at some of its cut edges. Visits as printed change
// messages out of a block, too.
func (r *ranks) eachSeenAt(v *visit, u *unit, block int, edges []int32, when int, do func(x []float64)) {
	last := int32(-1)
	for _, e := range edges {
		d := 2 * e // into V, or into U
		if int(u.part.Of[u.in.Graph.Target(d)]) != block {
			d++
		}
		node := u.in.Graph.Target(d)
		if at := u.net.MessageAt(d); at >= 0 && (when < 0 || int(u.part.Colour[node]) == when) {
			n := u.in.States(node)
			if do(u.state.LogMessage[at:][:n]); node != last {
				do(u.state.LogBelief[u.net.BeliefAt(node):][:n])
			}
			last = node
		}
		if at := u.net.MessageAt(d ^ 1); at >= 0 && v.limits.Outward && when == afterVisit {
			do(u.state.LogMessage[at:][:u.in.States(u.in.Graph.Source(d))])
		}
	}
}

// gatherEach sets dst to numbers of all processes, as many of each, one after another.
func (r *ranks) gatherEach(dst, own []float64) []float64 {
	for i := range r.counts {
		r.counts[i] = len(own)
	}
	dst = numeric.Resize(dst, r.size*len(own))
	r.group.Gather(dst, own, r.counts)
	return dst
}

// share returns the numbers of all processes, one after another, in dst or as they are. own, which may be its place
// in dst, are those of this one. So what each makes of its own parts is in the order of the parts.
func (r *ranks) share(dst, own []float64) []float64 {
	if r.size == 1 {
		return own
	}
	length, total := [1]float64{float64(len(own))}, 0
	r.heads = r.gatherEach(r.heads, length[:])
	for i, n := range r.heads {
		r.counts[i] = int(n)
		total += int(n)
	}
	dst = numeric.Resize(dst, total)
	if total > 0 {
		r.group.Gather(dst, own, r.counts)
	}
	return dst
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
	r.group.Sum(p.total, p.own, r.bounds)
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
	for _, b := range r.l.bundles {
		r.l.each(len(b.part), func(_, at int) {
			if u, x := b.jobAt(at); r.owns(b.part[at]) {
				eachOfBlock(u, x, func(p piece) { do(u, p) })
			}
		})
	}
	r.l.readApart(true)
	r.exchangeAll(false)
}

// jobAt returns unit and block of a job, by its place in b.part.
func (b *bundle) jobAt(at int) (u *unit, block int) {
	return b.units[at%len(b.units)], at / len(b.units)
}

// eachOfBlock calls do for the beliefs of a block's nodes, and for the messages into them, in few pieces.
func eachOfBlock(u *unit, x int, do func(p piece)) {
	var run piece
	add := func(at, n int, belief bool) {
		if at == run.at+run.n && belief == run.belief {
			run.n += n
		} else if at >= 0 {
			if run.n > 0 {
				do(run)
			}
			run = piece{at, n, belief}
		}
	}
	block := &u.part.Blocks[x]
	for _, s := range block.Nodes {
		add(u.net.BeliefAt(s), u.in.States(s), true)
	}
	for _, e := range block.Edges {
		for d := 2 * e; d < 2*e+2; d++ {
			if s := u.in.Graph.Target(d); int(u.part.Of[s]) == x {
				add(u.net.MessageAt(d), u.in.States(s), false)
			}
		}
	}
	if run.n > 0 {
		do(run)
	}
}

// eachOwned calls do for all that visits of a block change: messages into its nodes, their beliefs, what is kept of
// sparse pairs with higher blocks, and, where all that a state has is asked for, where its pass began, and
// contributions that not all processes have.
func (l *learner) eachOwned(b *bundle, at int, all bool, do func([]float64)) {
	u, x := b.jobAt(at)
	eachOfBlock(u, x, func(p piece) { do(p.of(u.state.LogMessage, u.state.LogBelief)) })
	for _, copied := range []messageCopy{u.before, u.kept} {
		if all && l.progress.Copied && copied != nil {
			eachOfBlock(u, x, func(p piece) { do(p.of(copied.halves(u))) })
		}
	}
	for i, g := range u.part.Blocks[x].Groups {
		if u.slots[x][i] == isSparse && int(g.Other) > x {
			do(u.keptBeliefs[u.sparseEdges.first[x][i]*l.perSparseEdge:][:int(g.Hi-g.Lo)*l.perSparseEdge])
		}
	}
	if all && b.alone() {
		do(b.contribution[int(b.first[x])*l.stride : int(b.first[x+1])*l.stride])
	}
}

// gather makes messages and beliefs of all blocks those of the last visits, here.
func (r *ranks) gather() {
	for part := int32(0); r.stale && part < mostParts; part++ {
		r.tell(func(do func(owner int, x []float64)) {
			r.l.eachOfPart(part, false, func(x []float64) { do(r.owner(part), x) })
		})
	}
	r.stale = false
}

// gathered is how many numbers of messages and beliefs go to other processes at a time.
const gathered = 1 << 20

// ranksMemory lists what passes through: sums of parts, results that all are told, and about as many
// numbers as are gathered at a time, which is more than visits exchange.
func (l *learner) ranksMemory(m *Memory) {
	sums, results, block := float64(l.parts.most*l.stride), 0.0, 0.0
	for _, b := range l.bundles {
		for x := range l.blocks {
			for _, u := range b.units {
				n := 0
				eachOfBlock(u, x, func(p piece) { n += p.n })
				block = max(block, float64(n+len(b.touched[x])*l.stride))
			}
		}
		if !b.alone() {
			for _, room := range l.resultRoom {
				results += float64(room.groups*l.stride + room.untied)
			}
		}
	}
	moved := min(float64(l.stateBytes())/doubleBytes, gathered+2*block)
	m.Add("between processes", doubleBytes*(sums+max(results, 2*moved)),
		"%.0f numbers of sums, and twice %.0f of messages, beliefs and contributions, or %.0f of results, × 8 bytes", sums, moved, results)
}
