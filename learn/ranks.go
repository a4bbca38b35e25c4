package learn

import (
	"errors"
	"slices"

	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/numeric"
)

// ranks is the executor of several processes. Each block of an inference belongs to one of them,
// which makes all of its visits. Results go to all processes, and the loop, with all that is made
// of results, runs in each. What a block's neighbours see of it, its messages and beliefs at cut
// edges, goes to the processes that these belong to.
type ranks struct {
	l     *learner
	group Group
	me    int
	// owner [bundle][block·units + unit] is whose each block is, and halos what others need of it.
	owner [][]int32
	halos [][][]halo
	stale bool // blocks of other processes have moved on

	jobs          []int32 // of a round, that are mine
	heads, bodies []float64
	counts        []int
	send, receive [][]float64
}

// halo is what a process needs of a block after its visits.
type halo struct {
	peer                    int32
	messages, beliefs, kept []stretchOf
}

// stretchOf is a piece of an array.
type stretchOf struct{ at, n int }

// newRanks deals the blocks over the processes. Each set of a pass is divided in its order by the
// work of sweeps: a process then has blocks that lie beside each other, in all sets the same part.
func newRanks(l *learner, g Group) *ranks {
	r := &ranks{l: l, group: g, me: g.Rank(), counts: make([]int, g.Size()), send: make([][]float64, g.Size()), receive: make([][]float64, g.Size())}
	for _, b := range l.bundles {
		r.owner = append(r.owner, make([]int32, l.blocks*len(b.units)))
		r.halos = append(r.halos, make([][]halo, l.blocks*len(b.units)))
	}
	var few []job // of sets with too few for all processes
	for _, t := range l.schedule {
		b := l.bundles[t.bundle]
		var jobs []job
		for _, block := range t.blocks {
			for i := range b.units {
				jobs = append(jobs, job{t.bundle, block, i})
			}
		}
		if len(jobs) < g.Size() {
			few = append(few, jobs...)
			continue
		}
		r.deal(jobs)
	}
	r.deal(few)
	for i, b := range l.bundles {
		for block := range l.blocks {
			for j := range b.units {
				r.findHalos(job{i, block, j})
			}
		}
	}
	return r
}

// job is a block of a unit.
type job struct{ bundle, block, unit int }

// at is the place of a job in owner and halos.
func (r *ranks) at(j job) int { return j.block*len(r.l.bundles[j.bundle].units) + j.unit }

func (r *ranks) of(j job) int { return int(r.owner[j.bundle][r.at(j)]) }

// deal divides jobs in their order.
func (r *ranks) deal(jobs []job) {
	work := func(j job) float64 {
		return float64(1 + r.l.bundles[j.bundle].units[j.unit].part.Blocks[j.block].Work())
	}
	total, done := 0.0, 0.0
	for _, j := range jobs {
		total += work(j)
	}
	for _, j := range jobs {
		w := work(j)
		r.owner[j.bundle][r.at(j)] = int32((done + w/2) / total * float64(r.group.Size()))
		done += w
	}
}

// findHalos notes what other processes need of a job, where that is this one's or they are it.
func (r *ranks) findHalos(j job) {
	l, mine := r.l, r.of(j) == r.me
	b := l.bundles[j.bundle]
	u := b.units[j.unit]
	block := &u.part.Blocks[j.block]
	var halos []halo
	for i, group := range block.Groups {
		other := j
		other.block = int(group.Other)
		peer := r.of(other)
		if peer == r.of(j) || !mine && peer != r.me {
			continue
		}
		at := slices.IndexFunc(halos, func(h halo) bool { return int(h.peer) == peer })
		if at < 0 {
			at = len(halos)
			halos = append(halos, halo{peer: int32(peer)})
		}
		h := &halos[at]
		for _, e := range block.Edges[group.Lo:group.Hi] {
			d := 2 * e // into V, or into U
			if int(u.part.Of[u.in.Graph.Target(d)]) != j.block {
				d++
			}
			target := u.in.Graph.Target(d)
			if at := u.net.MessageAt(d); at >= 0 {
				h.messages = append(h.messages, stretchOf{at, u.in.States(target)})
				h.beliefs = append(h.beliefs, stretchOf{u.net.BeliefAt(target), u.in.States(target)})
			}
		}
		if u.slots[j.block][i] == isSparse {
			h.kept = append(h.kept, stretchOf{u.sparseEdges.first[j.block][i] * l.perSparseEdge, int(group.Hi-group.Lo) * l.perSparseEdge})
		}
	}
	for i := range halos {
		h := &halos[i]
		slices.SortFunc(h.beliefs, func(a, b stretchOf) int { return a.at - b.at })
		h.beliefs = slices.Compact(h.beliefs)
	}
	r.halos[j.bundle][r.at(j)] = halos
}

// Numbers of a result that all processes are told first.
const (
	headSweeps = iota
	headConverged
	headResidual
	headFirst
	headSplit
	headInfeasible
	headFailed // 0: not, 1: with an error, 2: with a NumericalError
	headNode   // of that
	headEdge
	headEnded // the visit
	headNumbers
)

// visit implements executor.
func (r *ranks) visit(v visit, n int) (results []unitResult, ended bool) {
	l := r.l
	bundle := slices.Index(l.bundles, v.bundle)
	whose := func(i int) int {
		return int(r.owner[bundle][v.blocks[i/len(v.bundle.units)]*len(v.bundle.units)+i%len(v.bundle.units)])
	}
	r.jobs = r.jobs[:0]
	for i := range n {
		if whose(v.first+i) == r.me {
			r.jobs = append(r.jobs, int32(i))
		}
	}
	v.jobs = r.jobs
	l.pool.run(v, len(r.jobs))
	ended = r.gatherHeads(&v, n, whose)
	failed := slices.ContainsFunc(l.results[:n], func(s unitResult) bool { return s.err != nil })
	if !v.split && !v.resum {
		r.exchange(&v, bundle, n, whose)
		r.stale = true
	}
	if (v.contribute || v.resum) && !ended && !failed {
		r.gatherBodies(&v, n, whose)
	}
	return l.results[:n], ended
}

// gatherHeads tells all processes how the jobs of a round went, and whether the visit was ended.
func (r *ranks) gatherHeads(v *visit, n int, whose func(int) int) (ended bool) {
	l := r.l
	// Numbers of one process lie side by side: in the order of processes, and of jobs within.
	r.heads = numeric.Resize(r.heads, headNumbers*n)
	clear(r.counts)
	for i := range n {
		r.counts[whose(v.first+i)] += headNumbers
	}
	r.eachResult(r.heads, v, n, whose, func(int) int { return headNumbers }, func(i int, mine bool, head []float64) {
		s := &l.results[i]
		if !mine {
			return
		}
		clear(head)
		head[headSweeps], head[headConverged], head[headResidual], head[headFirst] = float64(s.outcome.Sweeps), float64(oneIf(s.outcome.Converged)), s.outcome.Residual, s.outcome.First
		head[headSplit], head[headInfeasible], head[headEnded] = s.split, float64(oneIf(s.infeasible)), float64(oneIf(v.ended()))
		var numerical *bp.NumericalError
		switch {
		case errors.As(s.err, &numerical):
			head[headFailed], head[headNode], head[headEdge] = 2, float64(numerical.Node), float64(numerical.Edge)
		case s.err != nil:
			head[headFailed] = 1
		}
	})
	r.gatherAll(r.heads)
	r.eachResult(r.heads, v, n, whose, func(int) int { return headNumbers }, func(i int, mine bool, head []float64) {
		s := &l.results[i]
		ended = ended || head[headEnded] > 0
		if mine {
			return
		}
		s.outcome = bp.Outcome{Sweeps: int(head[headSweeps]), Converged: head[headConverged] > 0, Residual: head[headResidual], First: head[headFirst]}
		s.split, s.infeasible, s.err = head[headSplit], head[headInfeasible] > 0, nil
	})
	r.eachResult(r.heads, v, n, whose, func(int) int { return headNumbers }, func(i int, mine bool, head []float64) {
		if s := &l.results[i]; head[headFailed] > 0 {
			s.err = r.tellError(s.err, whose(v.first+i), head)
		}
	})
	return ended
}

// gatherAll fills a buffer, of which counts says how much each process has, and its own part does.
func (r *ranks) gatherAll(buffer []float64) {
	at := 0
	for _, n := range r.counts[:r.me] {
		at += n
	}
	r.group.Gather(buffer, buffer[at:][:r.counts[r.me]], r.counts)
}

// tellError returns the error of another process, which has all of it.
func (r *ranks) tellError(err error, who int, head []float64) error {
	text := ""
	var numerical *bp.NumericalError
	if errors.As(err, &numerical) {
		text = numerical.Reason
	} else if err != nil {
		text = err.Error()
	}
	text = string(r.group.Bytes([]byte(text))[who])
	switch {
	case err != nil:
		return err
	case head[headFailed] == 2:
		return &bp.NumericalError{Node: int32(head[headNode]), Edge: int32(head[headEdge]), Reason: text}
	}
	return errors.New(text)
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
		block, u := v.job(v.first + i)
		return l.bodySize(v, u, block)
	}
	for i := range n {
		k := size(i)
		r.counts[whose(v.first+i)] += k
		total += k
	}
	r.bodies = numeric.Resize(r.bodies, total)
	r.eachResult(r.bodies, v, n, whose, size, func(i int, mine bool, body []float64) {
		if mine {
			block, u := v.job(v.first + i)
			l.packBody(body, v, &l.results[i], u, block, true)
		}
	})
	r.gatherAll(r.bodies)
	r.eachResult(r.bodies, v, n, whose, size, func(i int, mine bool, body []float64) {
		if !mine {
			block, u := v.job(v.first + i)
			l.packBody(body, v, &l.results[i], u, block, false)
		}
	})
}

// contributions returns how many of them the result of a job has.
func (l *learner) contributions(v *visit, u *unit, block int) int {
	b := &u.part.Blocks[block]
	switch {
	case len(b.Nodes) == 0 && len(b.Edges) == 0:
		return 0
	case v.resum:
		return 1
	}
	return len(v.bundle.touched[block]) + v.bundle.sparseSlots(block)
}

// bodySize returns how many numbers a job contributes.
func (l *learner) bodySize(v *visit, u *unit, block int) int {
	contributions := l.contributions(v, u, block)
	if contributions == 0 {
		return 0
	}
	n := contributions * l.stride
	if u.reach != nil {
		one := l.stride - l.model.Layout.TiedSize
		l.eachRun(u.reach, false, func(_, _, k int) { one += k })
		n = contributions * one
	}
	if v.resum {
		return n
	}
	n += l.untiedNumbers(u, block)
	for t, c := range l.columns {
		if c != nil {
			n += u.in.NodeFeatures(t).Data().Rows * c.span.States
		}
	}
	return n
}

// packBody copies what a job contributes from its result to body, or from there.
func (l *learner) packBody(body []float64, v *visit, s *unitResult, u *unit, block int, pack bool) {
	move := func(x []float64) {
		if pack {
			copy(body, x)
		} else {
			copy(x, body)
		}
		body = body[len(x):]
	}
	contributions := l.contributions(v, u, block)
	if !pack {
		l.beginTied(s, u, contributions)
	}
	for at := 0; at < contributions*l.stride; at += l.stride {
		tied := s.tied[at:][:l.stride]
		if u.reach == nil {
			move(tied)
			continue
		}
		l.eachRun(u.reach, false, func(_, part, n int) { move(tied[part:][:n]) })
		move(tied[l.model.Layout.TiedSize:])
	}
	if v.resum {
		return
	}
	if !pack {
		s.untied = s.untied[:0]
	}
	if contributions == 0 {
		return
	}
	if !pack {
		s.untied = numeric.Resize(s.untied, l.untiedNumbers(u, block))
	}
	move(s.untied)
	for t, c := range l.columns {
		if c != nil {
			k := c.span.States
			move(c.beliefs[u.firstRows[t]*k:][:u.in.NodeFeatures(t).Data().Rows*k])
		}
	}
}

// exchange brings what neighbours see of blocks to the processes that these belong to.
func (r *ranks) exchange(v *visit, bundle, n int, whose func(int) int) {
	for p := range r.send {
		r.send[p], r.receive[p] = r.send[p][:0], r.receive[p][:0]
	}
	each := func(do func(owner int, h *halo, u *unit)) {
		for i := range n {
			block, u := v.job(v.first + i)
			halos := r.halos[bundle][block*len(v.bundle.units)+(v.first+i)%len(v.bundle.units)]
			for j := range halos {
				do(whose(v.first+i), &halos[j], u)
			}
		}
	}
	each(func(owner int, h *halo, u *unit) {
		if owner == r.me {
			h.eachPiece(u, func(x []float64) { r.send[h.peer] = append(r.send[h.peer], x...) })
			return
		}
		k := 0
		h.eachPiece(u, func(x []float64) { k += len(x) })
		r.receive[owner] = numeric.Resize(r.receive[owner], len(r.receive[owner])+k)
	})
	r.group.Exchange(r.send, r.receive)
	for p := range r.send {
		r.send[p] = r.receive[p] // what is left of it
	}
	each(func(owner int, h *halo, u *unit) {
		if owner != r.me {
			h.eachPiece(u, func(x []float64) { r.send[owner] = r.send[owner][copy(x, r.send[owner]):] })
		}
	})
}

// eachPiece calls do for all that a halo has of a unit.
func (h *halo) eachPiece(u *unit, do func([]float64)) {
	for _, m := range h.messages {
		do(u.state.LogMessage[m.at:][:m.n])
	}
	for _, b := range h.beliefs {
		do(u.state.LogBelief[b.at:][:b.n])
	}
	for _, k := range h.kept {
		do(u.keptBeliefs[k.at:][:k.n])
	}
}

// gathered is how many numbers of messages and beliefs go to all processes at a time.
const gathered = 1 << 20

// gather implements executor.
func (r *ranks) gather() {
	if !r.stale {
		return
	}
	r.stale = false
	for i, b := range r.l.bundles {
		for lo := 0; lo < len(r.owner[i]); {
			hi, total := lo, 0
			for ; hi < len(r.owner[i]) && (hi == lo || total < gathered); hi++ {
				r.eachOwned(b, i, hi, func(x []float64) { total += len(x) })
			}
			r.gatherBlocks(b, i, lo, hi, total)
			lo = hi
		}
	}
}

// gatherBlocks gathers the blocks lo ≤ at < hi, which have so many numbers together.
func (r *ranks) gatherBlocks(b *bundle, bundle, lo, hi, total int) {
	r.bodies = numeric.Resize(r.bodies, total)
	clear(r.counts)
	buffer := r.bodies
	for p := range r.counts {
		for at := lo; at < hi; at++ {
			if int(r.owner[bundle][at]) == p {
				r.eachOwned(b, bundle, at, func(x []float64) {
					if p == r.me {
						copy(buffer, x)
					}
					buffer = buffer[len(x):]
					r.counts[p] += len(x)
				})
			}
		}
	}
	r.gatherAll(r.bodies)
	buffer = r.bodies
	for p := range r.counts {
		for at := lo; at < hi; at++ {
			if int(r.owner[bundle][at]) == p {
				r.eachOwned(b, bundle, at, func(x []float64) {
					if p != r.me {
						copy(x, buffer)
					}
					buffer = buffer[len(x):]
				})
			}
		}
	}
}

// eachOwned calls do for all that visits of a block change: messages into its nodes, their beliefs,
// and what is kept of sparse pairs with higher blocks.
func (r *ranks) eachOwned(b *bundle, bundle, at int, do func([]float64)) {
	u, x := b.units[at%len(b.units)], at/len(b.units)
	block := &u.part.Blocks[x]
	for _, s := range block.Nodes {
		if at := u.net.BeliefAt(s); at >= 0 {
			do(u.state.LogBelief[at:][:u.in.States(s)])
		}
	}
	for _, d := range block.In {
		if at := u.net.MessageAt(d); at >= 0 {
			do(u.state.LogMessage[at:][:u.in.States(u.in.Graph.Target(d))])
		}
	}
	for i, g := range block.Groups {
		if u.slots[x][i] == isSparse && int(g.Other) > x {
			do(u.keptBeliefs[u.sparseEdges.first[x][i]*r.l.perSparseEdge:][:int(g.Hi-g.Lo)*r.l.perSparseEdge])
		}
	}
}
