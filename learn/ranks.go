package learn

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/infile"
	"github.com/blockbp/blockbp/internal/machine"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/partition"
)

// ranks is the executor of several processes. Each part of the jobs belongs to one of them, which
// does all of them, in all passes. The loop, with all that is made of sums, runs in each. What the
// neighbours of a block see of it, messages, and beliefs of nodes at cut edges and of these,
// goes to the processes that these belong to.
type ranks struct {
	l      *learner
	group  Group
	me     int
	halos  [][][]halo // [bundle][block·units + unit] what others need of it
	stale  bool       // blocks of other processes may have moved on since gather
	near   []bool     // [part] blocks here see something of it
	bounds []int      // of parts

	mine, round   []int32 // jobs of a visit, and of a round
	heads, bodies []float64
	counts        []int
	send, receive [][]float64
	left          [][]float64 // of receive
}

// halo is what a process needs of a block after its visits.
type halo struct {
	peer                    int32
	messages, beliefs, kept []stretchOf
	out                     []stretchOf // messages out of the block, which visits as printed change, too
	runs                    [][2]int    // where of messages and beliefs those of each run begin, and the end; nil: visits are of one block each
}

// stretchOf is a piece of an array.
type stretchOf struct{ at, n int }

// newRanks deals the parts over the processes.
func newRanks(l *learner, g Group) *ranks {
	size := g.Size()
	r := &ranks{l: l, group: g, me: g.Rank(), bounds: make([]int, size+1), counts: make([]int, size), send: make([][]float64, size), receive: make([][]float64, size), left: make([][]float64, size), stale: true, near: make([]bool, mostParts)}
	for i, b := range l.bundles {
		r.halos = append(r.halos, make([][]halo, l.blocks*len(b.units)))
		for block := range l.blocks {
			for j := range b.units {
				x := job{i, block, j}
				r.findHalos(x)
				part := b.part[r.at(x)]
				r.near[part] = r.near[part] || r.owns(part) || len(r.halos[i][r.at(x)]) > 0
			}
		}
	}
	return r
}

// begin implements executor.
func (r *ranks) begin() {
	r.pieces(func(u *unit, p piece) {
		if p.belief { // of one node
			bp.Even(p.of(nil, u.state.LogBelief))
		}
	})
}

// forget drops what only visits of blocks of other processes would need: lists of these, and features.
func (r *ranks) forget() {
	l := r.l
	if l.response != nil || l.model.Layout.UntiedSize > 0 {
		return // it goes through all blocks
	}
	wanted := map[*partition.Partition][]bool{}
	for _, b := range l.bundles {
		for at, part := range b.part {
			u := b.units[at%len(b.units)]
			if wanted[u.part] == nil {
				wanted[u.part] = make([]bool, l.blocks)
			}
			wanted[u.part][at/len(b.units)] = wanted[u.part][at/len(b.units)] || r.owns(part)
		}
	}
	bytes := 0
	for p, blocks := range wanted {
		bytes += p.Bytes()
		p.Keep(func(i int) bool { return blocks[i] }, l.space == nil)
	}
	if !slices.ContainsFunc(l.bundles, func(b *bundle) bool { return !b.alone() }) {
		for _, b := range l.bundles {
			r.forgetFeatures(b.units[0], b.part)
		}
		l.partial = true
	}
	if bytes > worthCollecting {
		machine.GiveBack()
	}
}

// forgetFeatures lets go of features of nodes and edges that no block has which is visited here.
func (r *ranks) forgetFeatures(u *unit, part []int32) {
	layout, in := &r.l.model.Layout, u.in
	nodes, edges := make([][]bool, len(layout.Node)), make([][]bool, len(layout.Edge))
	for t := range nodes {
		nodes[t] = make([]bool, in.NodeFeatures(t).Rows())
	}
	for t := range edges {
		edges[t] = make([]bool, in.EdgeFeatures(t).Rows())
	}
	for x, part := range part {
		if !r.owns(part) {
			continue
		}
		for _, s := range u.part.Blocks[x].Nodes {
			nodes[in.NodeType(s)][in.NodeRow(s)] = true
		}
		for _, e := range u.part.Blocks[x].Edges {
			edges[in.EdgeType(e)][in.EdgeRow(e)] = true
		}
	}
	for t := range nodes {
		forgetRows(in.NodeFeatures(t).Data(), nodes[t])
	}
	for t := range edges {
		forgetRows(in.EdgeFeatures(t).Data(), edges[t])
	}
}

// forgetRows lets go of rows of dense features that are not wanted.
func forgetRows(f *crf.FeatureData, wanted []bool) {
	for lo := 0; lo < len(wanted); lo++ {
		hi := lo
		for hi < len(wanted) && !wanted[hi] {
			hi++
		}
		if f.Single != nil {
			infile.Release(f.Single, lo*f.Dim, hi*f.Dim)
		} else if f.Double != nil {
			infile.Release(f.Double, lo*f.Dim, hi*f.Dim)
		}
		lo = hi
	}
}

// job is a block of a unit.
type job struct{ bundle, block, unit int }

// at is the place of a job in bundle.part and halos.
func (r *ranks) at(j job) int { return j.block*len(r.l.bundles[j.bundle].units) + j.unit }

// of returns whose a job is, and owner whose a part is.
func (r *ranks) of(j job) int { return r.owner(r.l.bundles[j.bundle].part[r.at(j)]) }

func (r *ranks) owner(part int32) int { return int(part) * r.group.Size() / mostParts }

// has implements executor.
func (r *ranks) has(b *bundle, part int32) bool { return !b.alone() || r.owner(part) == r.me }

// needs implements executor.
func (r *ranks) needs(part int32) bool { return r.near[part] }

// owns implements executor.
func (r *ranks) owns(part int32) bool { return r.owner(part) == r.me }

// share implements executor.
func (r *ranks) share(dst, own []float64) []float64 {
	r.heads = numeric.Resize(r.heads, r.group.Size())
	for i := range r.counts {
		r.counts[i] = 1
	}
	r.heads[r.me] = float64(len(own))
	r.gatherAll(r.heads)
	total := 0
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

// sum implements executor.
func (r *ranks) sum(b *bundle, p *parts) {
	if !b.alone() {
		p.tree.Sum(p.total, p.own)
		return
	}
	r.sumParts(p)
}

// sumParts implements executor.
func (r *ranks) sumParts(p *parts) {
	clear(r.bounds)
	for _, part := range p.touched {
		r.bounds[r.owner(part)+1]++
	}
	for i := range r.bounds[1:] {
		r.bounds[i+1] += r.bounds[i]
	}
	r.group.Sum(p.total, p.own, r.bounds)
}

// findHalos notes what other processes need of a job, where that is this one's or they are it.
func (r *ranks) findHalos(j job) {
	l, mine := r.l, r.of(j) == r.me
	b := l.bundles[j.bundle]
	u := b.units[j.unit]
	block := &u.part.Blocks[j.block]
	var halos []halo
	var colours [][]int32 // [halos] of the nodes that messages go into
	for _, group := range block.Groups {
		other := j
		other.block = int(group.Other)
		peer := r.of(other)
		if peer == r.of(j) || !mine && peer != r.me {
			continue
		}
		at := slices.IndexFunc(halos, func(h halo) bool { return int(h.peer) == peer })
		if at < 0 {
			at = len(halos)
			halos, colours = append(halos, halo{peer: int32(peer)}), append(colours, nil)
		}
		h := &halos[at]
		for _, e := range block.Edges[group.Lo:group.Hi] {
			d := 2 * e // into V, or into U
			if int(u.part.Of[u.in.Graph.Target(d)]) != j.block {
				d++
			}
			target := u.in.Graph.Target(d)
			if first := u.net.MessageAt(d); first >= 0 {
				h.messages = append(h.messages, stretchOf{first, u.in.States(target)})
				h.beliefs = append(h.beliefs, stretchOf{u.net.BeliefAt(target), u.in.States(target)})
				if l.visitsAtOnce() {
					colours[at] = append(colours[at], u.part.Colour[target])
				}
			}
			if first := u.net.MessageAt(d ^ 1); first >= 0 {
				h.out = append(h.out, stretchOf{first, u.in.States(u.in.Graph.Source(d))})
			}
		}
		if l.keepsCut() {
			at, n := l.keptAt(u, &group)
			h.kept = append(h.kept, stretchOf{at, n})
		}
	}
	for i := range halos {
		h := &halos[i]
		if l.visitsAtOnce() {
			h.divide(colours[i], u.part.Colours)
			continue
		}
		slices.SortFunc(h.beliefs, func(a, b stretchOf) int { return a.at - b.at })
		h.beliefs = slices.Compact(h.beliefs)
	}
	r.halos[j.bundle][r.at(j)] = halos
}

// divide sorts messages and beliefs by the colours of their nodes: that of the first message is
// colours[0].
func (h *halo) divide(colours []int32, count int) {
	m, b := h.messages, h.beliefs
	h.messages, h.beliefs = nil, nil
	for colour := range int32(count) {
		h.runs = append(h.runs, [2]int{len(h.messages), len(h.beliefs)})
		for i, c := range colours {
			if c == colour {
				h.messages, h.beliefs = append(h.messages, m[i]), append(h.beliefs, b[i])
			}
		}
		run := h.beliefs[h.runs[colour][1]:]
		slices.SortFunc(run, func(x, y stretchOf) int { return x.at - y.at })
		h.beliefs = h.beliefs[:h.runs[colour][1]+len(slices.Compact(run))]
	}
	h.runs = append(h.runs, [2]int{len(h.messages), len(h.beliefs)})
}

// jobs implements executor.
func (r *ranks) jobs(v *visit, n int) []int32 {
	r.mine = r.mine[:0]
	for i := range n {
		if r.whose(v, i) == r.me {
			r.mine = append(r.mine, int32(i))
		}
	}
	return r.mine
}

// whose returns which process a job is done by.
func (r *ranks) whose(v *visit, i int) int {
	block, lo, _ := v.job(i)
	return r.owner(v.bundle.part[block*len(v.bundle.units)+lo])
}

// exchangeRun implements executor.
func (r *ranks) exchangeRun(v *visit, n, run int) {
	r.exchange(v, n, run)
	r.stale = true
}

// visit implements executor.
func (r *ranks) visit(v visit, n int) (results []jobResult, t tally) {
	l := r.l
	whose := func(i int) int { return r.whose(&v, i) }
	r.round = r.round[:0]
	for i := range n {
		if whose(v.first+i) == r.me {
			r.round = append(r.round, int32(i))
		}
	}
	v.jobs = r.round
	l.pool.Run(v, len(r.round))
	t = tally{converged: true, failed: -1, ended: v.ended()}
	for _, i := range r.round {
		t.add(int(i), &l.results[i])
	}
	if t = r.merge(t); t.failed >= 0 {
		r.tellError(&v, v.first+t.failed, &l.results[t.failed])
	}
	v.contribute = v.contribute && !t.ended && t.failed < 0
	switch {
	case v.split:
		r.gatherSplits(&v, n, whose)
	case !v.resum && l.atOnce == nil:
		r.exchange(&v, n, noRun)
		r.stale = true
	}
	if v.contribute || v.resum {
		r.gatherBodies(&v, n, whose)
	}
	return l.results[:n], t
}

// tallyNumbers is how many numbers a tally has.
const tallyNumbers = 8

// merge implements executor.
func (r *ranks) merge(t tally) tally {
	r.heads = numeric.Resize(r.heads, tallyNumbers*r.group.Size())
	for i := range r.counts {
		r.counts[i] = tallyNumbers
	}
	copy(r.heads[r.me*tallyNumbers:], []float64{float64(t.sweeps), float64(t.work), t.residual, t.first, float64(oneIf(t.converged)), float64(oneIf(t.infeasible)), float64(t.failed), float64(oneIf(t.ended))})
	r.gatherAll(r.heads)
	t = nothingYet
	for x := r.heads; len(x) > 0; x = x[tallyNumbers:] {
		t.merge(&tally{int(x[0]), int(x[1]), x[2], x[3], x[4] > 0, x[5] > 0, int(x[6]), x[7] > 0})
	}
	return t
}

// tellError implements executor.
func (r *ranks) tellError(v *visit, job int, s *jobResult) {
	who := r.whose(v, job)
	at := &bp.NumericalError{Node: -1, Edge: -1}
	var text []byte
	if r.me == who {
		numerical := errors.As(s.err, &at)
		if text = []byte(at.Reason); !numerical {
			text = []byte(s.err.Error())
		}
		text = fmt.Appendf(nil, "%d %d %d %d %s", s.failed, oneIf(numerical), at.Node, at.Edge, text)
	}
	text = r.group.Bytes(text)[who]
	if r.me == who {
		return
	}
	var numerical int
	_, _ = fmt.Sscan(string(text), &s.failed, &numerical, &at.Node, &at.Edge) // as it was written
	at.Reason = string(bytes.SplitN(text, []byte(" "), 5)[4])
	if s.err = at; numerical == 0 {
		s.err = errors.New(at.Reason)
	}
}

// gatherSplits tells all processes what splits add to the bound.
func (r *ranks) gatherSplits(v *visit, n int, whose func(int) int) {
	l := r.l
	r.bodies = numeric.Resize(r.bodies, n)
	clear(r.counts)
	for i := range n {
		r.counts[whose(v.first+i)]++
	}
	one := func(int) int { return 1 }
	r.eachResult(r.bodies, v, n, whose, one, func(i int, mine bool, x []float64) {
		if mine {
			x[0] = l.results[i].split
		}
	})
	r.gatherAll(r.bodies)
	r.eachResult(r.bodies, v, n, whose, one, func(i int, _ bool, x []float64) { l.results[i].split = x[0] })
}

// gatherAll fills a buffer, of which counts says how much each process has, and its own part does.
func (r *ranks) gatherAll(buffer []float64) {
	at := 0
	for _, n := range r.counts[:r.me] {
		at += n
	}
	r.group.Gather(buffer, buffer[at:][:r.counts[r.me]], r.counts)
}

// eachResult calls do for the results of a round, with as many numbers of buffer as size says:
// those of a process lie side by side.
func (r *ranks) eachResult(buffer []float64, v *visit, n int, whose func(int) int, size func(i int) int, do func(i int, mine bool, numbers []float64)) {
	for p := range r.counts {
		for i := range n {
			if whose(v.first+i) == p {
				k := size(i)
				do(i, p == r.me, buffer[:k])
				buffer = buffer[k:]
			}
		}
	}
}

// gatherBodies tells all processes what the jobs of a round contribute.
func (r *ranks) gatherBodies(v *visit, n int, whose func(int) int) {
	l := r.l
	clear(r.counts)
	total := 0
	size := func(i int) int {
		return l.bodySize(v, v.first+i)
	}
	for i := range n {
		k := size(i)
		r.counts[whose(v.first+i)] += k
		total += k
	}
	r.bodies = numeric.Resize(r.bodies, total)
	r.eachResult(r.bodies, v, n, whose, size, func(i int, mine bool, body []float64) {
		if mine {
			l.packBody(body, v, &l.results[i], v.first+i, true)
		}
	})
	if total > 0 {
		r.gatherAll(r.bodies)
	}
	r.eachResult(r.bodies, v, n, whose, size, func(i int, mine bool, body []float64) {
		if !mine {
			l.packBody(body, v, &l.results[i], v.first+i, false)
		}
	})
}

// bodySize returns how many numbers all processes are told of a job.
func (l *learner) bodySize(v *visit, job int) (n int) {
	block, lo, hi := v.job(job)
	if !v.bundle.alone() {
		n = l.stride * (oneIf(v.contribute) + oneIf(l.keepsCut()))
	}
	if v.contribute {
		n += l.untiedNumbers(v.bundle.units[lo:hi], block)
	}
	return n
}

// packBody copies what a job contributes from its result to body, or from there.
func (l *learner) packBody(body []float64, v *visit, s *jobResult, job int, pack bool) {
	move := func(x []float64) {
		if pack {
			copy(body, x)
		} else {
			copy(x, body)
		}
		body = body[len(x):]
	}
	block, lo, hi := v.job(job)
	if !v.bundle.alone() {
		if v.contribute {
			move(s.inside)
		}
		move(s.cut)
	}
	if v.contribute {
		if !pack {
			s.untied = numeric.Resize(s.untied, l.untiedNumbers(v.bundle.units[lo:hi], block))
		}
		move(s.untied)
	}
}

// noRun stands for the run of a sweep where the visit is over.
const noRun = -1

// exchange brings what neighbours see of blocks, after a visit or a run of a sweep, to the processes that
// these belong to.
func (r *ranks) exchange(v *visit, n, run int) {
	bundle := slices.Index(r.l.bundles, v.bundle)
	for p := range r.send {
		r.send[p], r.receive[p] = r.send[p][:0], r.receive[p][:0]
	}
	each := func(do func(owner int, h *halo, u *unit)) {
		for i := range n {
			block, lo, hi := v.job(v.first + i)
			for j, u := range v.bundle.units[lo:hi] {
				halos := r.halos[bundle][block*len(v.bundle.units)+lo+j]
				for h := range halos {
					do(r.whose(v, v.first+i), &halos[h], u)
				}
			}
		}
	}
	each(func(owner int, h *halo, u *unit) {
		if owner == r.me {
			h.eachPiece(u, v, run, func(x []float64) { r.send[h.peer] = append(r.send[h.peer], x...) })
			return
		}
		k := 0
		h.eachPiece(u, v, run, func(x []float64) { k += len(x) })
		r.receive[owner] = numeric.Resize(r.receive[owner], len(r.receive[owner])+k)
	})
	r.group.Exchange(r.send, r.receive)
	copy(r.left, r.receive)
	each(func(owner int, h *halo, u *unit) {
		if owner == r.me {
			return
		}
		next := func(n int) []float64 {
			x := r.left[owner][:n]
			r.left[owner] = r.left[owner][n:]
			return x
		}
		h.eachPiece(u, v, run, func(x []float64) { copy(x, next(len(x))) })
	})
}

// eachPiece calls do for all of a halo that a visit of a unit changes, or a run of a sweep.
func (h *halo) eachPiece(u *unit, v *visit, run int, do func([]float64)) {
	messages, beliefs, kept := h.messages, h.beliefs, h.kept
	if v.limits.Outward && run == noRun {
		for _, m := range h.out {
			do(u.state.LogMessage[m.at:][:m.n])
		}
	}
	if run != noRun {
		from, to := h.runs[run], h.runs[run+1]
		messages, beliefs = messages[from[0]:to[0]], beliefs[from[1]:to[1]]
	}
	for _, m := range messages {
		do(u.state.LogMessage[m.at:][:m.n])
	}
	for _, b := range beliefs {
		do(u.state.LogBelief[b.at:][:b.n])
	}
	for _, k := range kept {
		do(u.keptBeliefs[k.at:][:k.n])
	}
}

// pieces implements executor.
func (r *ranks) pieces(do func(u *unit, p piece)) {
	for i, b := range r.l.bundles {
		r.l.each(len(b.part), func(_, at int) {
			u, x := b.units[at%len(b.units)], at/len(b.units)
			if r.owner(b.part[at]) == r.me {
				eachOfBlock(u, x, func(p piece) { do(u, p) })
				return
			}
			for _, h := range r.halos[i][at] { // of others, those are for this process
				for _, m := range h.messages {
					do(u, piece{m, false})
				}
				for _, m := range h.beliefs {
					do(u, piece{m, true})
				}
			}
		})
	}
}

// eachOfBlock calls do for the beliefs of a block's nodes, and for the messages into them.
func eachOfBlock(u *unit, x int, do func(p piece)) {
	block := &u.part.Blocks[x]
	for _, s := range block.Nodes {
		if at := u.net.BeliefAt(s); at >= 0 {
			do(piece{stretchOf{at, u.in.States(s)}, true})
		}
	}
	for _, s := range block.Nodes {
		for _, d := range u.in.Graph.Incoming(s) {
			if at := u.net.MessageAt(d); at >= 0 {
				do(piece{stretchOf{at, u.in.States(s)}, false})
			}
		}
	}
}

// gathered is how many numbers of messages and beliefs go to other processes at a time.
const gathered = 1 << 20

// gather implements executor.
func (r *ranks) gather() {
	if !r.stale {
		return
	}
	r.stale = false
	for _, b := range r.l.bundles {
		for lo := 0; lo < len(b.part); {
			hi, total := lo, 0
			for ; hi < len(b.part) && (hi == lo || total < gathered); hi++ {
				r.l.eachOwned(b, hi, false, func(x []float64) { total += len(x) })
			}
			r.gatherBlocks(b, lo, hi, total)
			lo = hi
		}
	}
}

// gatherBlocks tells all processes messages and beliefs of blocks lo ≤ at < hi, which have so many numbers.
func (r *ranks) gatherBlocks(b *bundle, lo, hi, total int) {
	r.bodies = numeric.Resize(r.bodies, total)
	clear(r.counts)
	each := func(do func(p int, x, buffer []float64)) {
		buffer := r.bodies
		for p := range r.counts {
			for at := lo; at < hi; at++ {
				if r.owner(b.part[at]) == p {
					r.l.eachOwned(b, at, false, func(x []float64) {
						do(p, x, buffer[:len(x)])
						buffer = buffer[len(x):]
					})
				}
			}
		}
	}
	each(func(p int, x, buffer []float64) {
		if r.counts[p] += len(x); p == r.me {
			copy(buffer, x)
		}
	})
	if total > 0 {
		r.gatherAll(r.bodies)
	}
	each(func(p int, x, buffer []float64) {
		if p != r.me {
			copy(x, buffer)
		}
	})
}

// eachOwned calls do for all that visits of a block change: messages into its nodes, their beliefs,
// what is kept of edges to higher blocks, and, where all that a state has is asked for, where its
// pass began, and contributions that not all processes have.
func (l *learner) eachOwned(b *bundle, at int, all bool, do func([]float64)) {
	u, x := b.units[at%len(b.units)], at/len(b.units)
	block := &u.part.Blocks[x]
	eachOfBlock(u, x, func(p piece) { do(p.of(u.state.LogMessage, u.state.LogBelief)) })
	if all && l.progress.Copied {
		eachOfBlock(u, x, func(p piece) { do(p.of(u.before.halves(u))) })
		if u.kept != nil {
			eachOfBlock(u, x, func(p piece) { do(p.of(u.kept.halves(u))) })
		}
	}
	for _, g := range block.Groups {
		if l.keepsCut() && int(g.Other) > x {
			at, n := l.keptAt(u, &g)
			do(u.keptBeliefs[at:][:n])
		}
	}
	if all && b.alone() {
		do(b.contribution[x*l.stride:][:l.stride])
	}
}
