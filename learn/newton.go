package learn

import (
	"cmp"
	"math"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
	"github.com/blockbp/blockbp/internal/zeros"
)

// newton minimises weights and messages together, where an exact linear solve is cheap. With
// D the dual value (7),
//
//	F(λ', θ̃) = Σ_n weight_n D(λ'_n, θ_n) − ⟨θ̃, M w̄⟩ + (l2/2)‖θ̃‖²
//
// is convex in both, and L(θ̃) is its smallest value over λ'. So F is never below L, and a
// step that lowers F can't lose what was gained. The method is Levenberg's and Marquardt's:
// the Hessian of F plus a multiple μ of a diagonal matrix, which is the Hessian's diagonal
// at beliefs that are mixed with the labels. Messages are eliminated network by network
// (newtonfactor.go), which leaves a dense system of the weights.
//
// An iteration evaluates F and its gradient where the state is, factorises once, and looks
// at F where the step leads: two passes over the network, of which one is a gradient. The
// factorisation is in neither count; what it takes is bounded where it is decided whether
// there is a newton at all.
type newton struct {
	l       *learner
	units   []*newtonUnit
	slots   []newtonSlot
	columns int // weights, and one more
	trial   *crf.Model
	system  []float64 // [columns][columns] of the weights; its last row is the right-hand side
	step    []float64 // [weights]
	damped  []float64 // [weights] what was added to the diagonal
	scalars []float64 // see below
	workers []*newtonWorker
	from    float64 // passes that are made of block visits first
	work    float64 // of a step, in multiplications of messages
}

// newtonSlot is the sum over a few units that follow each other: sums are made in the same
// order on any number of threads.
type newtonSlot struct {
	units            []*newtonUnit
	gradient, metric []float64 // [weights] Σ weight M τ, and the diagonal of the damping
	value            float64
	inconsistency    float64
	square, damping  float64 // ‖L⁻¹ ∂F/∂λ'‖², and dᵀ(damping)d of the step d
	failed           bool
}

// Places in newton.scalars, which a resumed run needs.
const (
	newtonMu    = iota // μ
	newtonNu           // by which μ grows after the next step that is not taken
	newtonIdle         // steps in a row that promised less than rounding, hardly damped
	newtonTries        // steps so far, taken or not
	newtonBegun        // 1: after the first iteration
	newtonEnded        // 1: blocks are visited from here on
	newtonScalars
)

const (
	// newtonLabelShare of the beliefs in the damping is taken from the labels: a model that
	// is sure of something else has to go there, at no curvature of its own.
	newtonLabelShare = 0.1
	// newtonAccept is the least ratio of what a step gains to what it promised.
	newtonAccept = 1e-3
	// newtonSmallestMu keeps the damping above rounding.
	newtonSmallestMu = 1e-14
	// newtonFailedMu is that of the next try where a matrix was not positive definite.
	newtonFailedMu = 1e-12
	// newtonRelativeFloor and newtonFloor are added to the diagonal: constants in messages,
	// and in weights without l2, change nothing.
	newtonRelativeFloor, newtonFloor = 1e-13, 1e-15
	// newtonRounding is what F may seem to rise by, relatively, in a step that promises less.
	newtonRounding = 1e-12
	// newtonSums is the same relative to the sums of which F is the difference.
	newtonSums = 1e-15
	// newtonIdles steps without promise, or a ν of newtonLargestNu, 20 steps in a row not
	// taken, show that rounding leaves nothing to gain.
	newtonIdles, newtonLargestNu = 3, 1 << 20
	// newtonIdleMu is the largest μ that does not make a step promise less than there is.
	newtonIdleMu = 1e-10
	// newtonConsistent is the largest difference between beliefs with which a check may find
	// that the run has converged: it makes them agree to the end.
	newtonConsistent = 1e-8
	// newtonSlots bounds the slots, and with them the threads that do anything.
	newtonSlots = 16
	// newtonRows of the system of the weights are made at a time.
	newtonRows = 32
	// newtonFree is the work, in multiplications of messages, that a step may take in any
	// case, about 40 ms; a larger one may take that of newtonPasses passes: it replaces as many.
	newtonFree, newtonPasses = 2e7, 25.0
	// newtonMostWork bounds a step, which can't be interrupted: about 2 s.
	newtonMostWork = 2e9
	// newtonMostNumbers bounds the memory, 256 MiB, and newtonMostMessages the time to find
	// that the factor is too large.
	newtonMostNumbers, newtonMostMessages = 1 << 25, 1 << 16
	// newtonAfter is how many passes block visits make first: what they solve by then is easy,
	// and a step takes as long as up to newtonPasses of them.
	newtonAfter = 40
	// newtonSweeps over everything come before the first step, where blocks were visited: the
	// weights have moved since messages into some of them were made.
	newtonSweeps = 2
	// newtonProof is the size of what is left to gain, relatively, at which a check is worth
	// its cost: steps are cheap there, and what follows from l2 and the gradient is proved.
	newtonProof = 1e-7
	// newtonMostTries is how many steps are tried before block visits go on: the hardest of
	// 600 random problems takes 204.
	newtonMostTries = 1000
	// newtonLeastCount is the smallest c_s: for c_s = 0 the dual has a maximum in the place
	// of a sum of exponentials, and no Hessian. Near it quadratic functions say little: the
	// hardest of 60 problems takes 72 steps with c_s = 0.1, 175 with 0.01 and 576 with 0.001.
	newtonLeastCount = 1e-3
)

// planNewton returns the method, without any of its memory, or nil where the problem isn't
// for it: hidden labels and some c_s < 0, for which F is not convex or not known; c_s = 0;
// and networks or weights for which the solve takes too much.
func planNewton(l *learner) *newton {
	rule, ok := l.settings.Step.(*auto)
	if !ok || rule.firstOrder || !l.ascends || l.model.Layout.Symmetric() {
		return nil
	}
	n := &newton{l: l, columns: l.model.Layout.Size + 1, from: cmp.Or(l.settings.newtonAfter, newtonAfter)}
	p := float64(n.columns)
	if p*p > newtonMostNumbers {
		return nil
	}
	numbers, work := p*p, p*p*p/6/solveWork
	orders, edgesAt, wholes := map[*bp.Net]*elimination{}, map[*bp.Net][]int32{}, map[*graph.Graph]*partition.Block{}
	most := min(newtonMostWork, max(newtonFree, newtonPasses*l.passWork()))
	messages := 0
	for _, u := range l.units {
		messages += u.net.Messages()
	}
	if messages > newtonMostMessages {
		return nil
	}
	for _, u := range l.units {
		if u.weight < 0 || !countsAllow(u.net) {
			return nil
		}
		if _, known := orders[u.net]; !known {
			left := (most - work) * solveWork
			orders[u.net] = newElimination(u.net, min(newtonMostNumbers-numbers, left/p), left)
			edgesAt[u.net] = pairsAt(u.net)
		}
		order := orders[u.net]
		if order == nil {
			return nil
		}
		if wholes[u.in.Graph] == nil {
			wholes[u.in.Graph] = wholeBlock(u.in.Graph)
		}
		n.units = append(n.units, &newtonUnit{unit: u, order: order, whole: wholes[u.in.Graph], edgeAt: edgesAt[u.net]})
		size, entries := float64(order.size), float64(order.numbers)
		numbers += entries + size*p + float64(edgesAt[u.net][u.in.Graph.NumEdges()])
		work += (order.factorWork+entries*p)/solveWork + size*p*p/listWork + n.assemblyWork(u)
		if numbers > newtonMostNumbers || work > most {
			return nil
		}
	}
	n.work = work
	n.makeSlots()
	return n
}

// countsAllow reports whether every c_s is large enough.
func countsAllow(net *bp.Net) bool {
	for _, c := range net.Counting.Node {
		if !(c >= newtonLeastCount) {
			return false
		}
	}
	return true
}

// assemblyWork is what a network's part of the system of the weights takes.
func (n *newton) assemblyWork(u *unit) (work float64) {
	layout := &n.l.model.Layout
	for s := range int32(u.in.Graph.NumNodes()) {
		size := float64(layout.Node[u.in.NodeType(s)].Copy())
		work += size * size / solveWork
	}
	for e := range int32(u.in.Graph.NumEdges()) {
		span := &layout.Edge[u.in.EdgeType(e)]
		size := float64(span.States) * float64(n.l.usedFeatures(e, u.in))
		work += size * size / solveWork
	}
	return work
}

// pairsAt says where the belief of each edge begins, [edges+1].
func pairsAt(net *bp.Net) []int32 {
	g := net.Graph
	at := make([]int32, g.NumEdges()+1)
	for e := range int32(g.NumEdges()) {
		at[e+1] = at[e] + net.Card[g.U(e)]*net.Card[g.V(e)]
	}
	return at
}

// wholeBlock lists all nodes and edges for grounding.
func wholeBlock(g *graph.Graph) *partition.Block {
	b := &partition.Block{Nodes: make([]int32, g.NumNodes()), Edges: make([]int32, g.NumEdges())}
	for s := range b.Nodes {
		b.Nodes[s] = int32(s)
	}
	for e := range b.Edges {
		b.Edges[e] = int32(e)
	}
	return b
}

func (n *newton) makeSlots() {
	n.slots = make([]newtonSlot, min(newtonSlots, len(n.units)))
	for i := range n.slots {
		n.slots[i].units = n.units[i*len(n.units)/len(n.slots) : (i+1)*len(n.units)/len(n.slots)]
	}
}

// allocate takes the memory of the method.
func (n *newton) allocate() {
	weights := n.columns - 1
	n.system, n.step, n.damped = make([]float64, n.columns*n.columns), make([]float64, weights), make([]float64, weights)
	n.scalars = make([]float64, newtonScalars)
	n.scalars[newtonMu], n.scalars[newtonNu] = 1, 2
	n.trial = n.l.model.Clone()
	for i := range n.slots {
		n.slots[i].gradient, n.slots[i].metric = make([]float64, weights), make([]float64, weights)
	}
	for _, u := range n.units {
		messages, size := u.net.Messages(), u.order.size
		u.lambda, u.step, u.damped = make([]float64, messages), make([]float64, size), make([]float64, size)
		u.node, u.edge = make([]float64, u.net.Beliefs()), make([]float64, u.edgeAt[u.in.Graph.NumEdges()])
		u.factor, u.right = make([]float64, u.order.numbers), make([]float64, size*n.columns)
		if n.l.model.Layout.Masked {
			u.possible, _ = zeros.Possible(ground.Condition(n.l.model, u.in))
		}
	}
	states, tables, features, row := n.largest()
	size := 0
	var room ground.Room
	for _, u := range n.units {
		size = max(size, u.order.size)
		room = room.Max(ground.RoomOf(&n.l.model.Layout, u.in, u.whole))
	}
	for range min(n.l.settings.Threads, max(len(n.slots), n.chunks())) {
		w := &newtonWorker{
			y: make([]float64, tables), mixed: make([]float64, tables), covariance: make([]float64, states*states),
			left: make([]float64, states), right: make([]float64, states), feature: make([]float64, features),
			row: make([]float64, row), local: make([]int32, size), gathered: make([]float64, ground.RowsPerBatch*newtonRows),
		}
		w.potentials.Reserve(room)
		n.workers = append(n.workers, w)
	}
}

// chunks returns in how many parts the system of the weights is made.
func (n *newton) chunks() int { return (n.columns + newtonRows - 1) / newtonRows }

// largest returns the most states of a node, (joint) states of any element, features, and
// weights of an element.
func (n *newton) largest() (states, tables, features, row int) {
	layout := &n.l.model.Layout
	states = largestTable(layout.Node)
	for _, span := range allSpans(layout) {
		features, row = max(features, span.Features), max(row, span.Copy())
	}
	return states, max(states, largestTable(layout.Edge)), features, row
}

// memory lists what allocate takes.
func (n *newton) memory(m *Memory) {
	p := float64(n.columns)
	system := p*p + 2*p + p // and the weights of the trial
	system += 2 * p * float64(len(n.slots))
	var kept, factors, indices, size float64
	seen := map[any]bool{}
	var room ground.Room
	for _, u := range n.units {
		e := u.order
		kept += float64(u.net.Messages()+u.net.Beliefs()+2*e.size) + float64(u.edgeAt[u.in.Graph.NumEdges()])
		factors += float64(e.numbers) + float64(e.size)*p
		size = max(size, float64(e.size))
		room = room.Max(ground.RoomOf(&n.l.model.Layout, u.in, u.whole))
		if !seen[e] {
			seen[e] = true
			indices += e.bytes() + indexBytes*float64(len(u.edgeAt))
		}
		if !seen[u.whole] {
			seen[u.whole] = true
			indices += indexBytes * float64(len(u.whole.Nodes)+len(u.whole.Edges))
		}
	}
	states, tables, features, row := n.largest()
	worker := room.Bytes(false) + doubleBytes*float64(2*tables+states*states+2*states+features+row+ground.RowsPerBatch*newtonRows) + indexBytes*size
	threads := float64(min(n.l.settings.Threads, max(len(n.slots), n.chunks())))
	m.Add("Newton's system of messages", doubleBytes*factors, "factors of %d networks, and their coupling with %d weights, × 8 bytes", len(n.units), n.columns-1)
	m.Add("Newton's system of weights", doubleBytes*system, "%d² numbers and %d sums × 8 bytes", n.columns, 2*len(n.slots))
	m.Add("Newton's beliefs and messages", doubleBytes*kept+indices, "those of all nodes and edges × 8 bytes, and where they lie")
	m.Add("Newton's scratch", threads*worker, "potentials of the largest network, for %.0f threads", threads)
}

// on reports whether iterations are Newton's.
func (n *newton) on() bool {
	return n != nil && n.scalars[newtonEnded] == 0 && n.l.progress.Passes >= n.from
}

// begun reports whether the weights are of a step of Newton's.
func (n *newton) begun() bool { return n.on() && n.scalars[newtonBegun] == 1 }

// newtonTask is a part of an iteration that the threads of the pool share.
type newtonTask int

const (
	newtonInfer    newtonTask = iota + 1 // reads the state, F and its gradient, by slot
	newtonFactor                         // the systems of messages, by slot
	newtonAssemble                       // rows of the system of the weights, by chunk
	newtonSolve                          // the step of the messages, by slot
	newtonLook                           // F where the step leads, by slot
	newtonTake                           // writes the state there, by slot
)

// do is the i-th part of a task.
func (n *newton) do(task newtonTask, worker, i int) {
	w := n.workers[worker]
	if task == newtonAssemble {
		n.assembleRows(w, i)
		return
	}
	slot := &n.slots[i]
	if task == newtonInfer {
		clear(slot.gradient)
		clear(slot.metric)
	}
	slot.value, slot.square, slot.damping, slot.failed = 0, 0, 0, false
	for _, u := range slot.units {
		switch task {
		case newtonInfer:
			u.readMessages()
			slot.value += u.weight * u.infer(w, n.l.model)
			slot.inconsistency = max(slot.inconsistency, u.inconsistency(w))
			u.addGradient(w, n.l.model, slot.gradient, slot.metric)
		case newtonFactor:
			u.assemble(w, n.l.model, n.scalars[newtonMu], n.columns)
			if !u.order.factorise(u.factor, w.local) {
				slot.failed = true
				return
			}
			u.order.forward(u.factor, u.right, n.columns)
			for x := range u.order.size {
				y := u.right[(x+1)*n.columns-1]
				slot.square += y * y
			}
		case newtonSolve:
			slot.damping += u.solve(n.step, n.columns)
		case newtonLook:
			slot.value += u.weight * u.value(w, n.trial, u.step)
		case newtonTake:
			w.potentials.Ground(n.trial, u.in, u.whole)
			copy(u.lambda, u.step)
			u.writeState(w)
		}
	}
}

// solve finds the step of the messages, given that of the weights, leaves λ' + step in
// u.step, and returns dᵀ(damping)d.
func (u *newtonUnit) solve(weights []float64, columns int) (damping float64) {
	for x := range u.step {
		row := u.right[x*columns:][:columns]
		u.step[x] = -row[columns-1] - dot(weights, row)
	}
	u.order.backward(u.factor, u.step)
	for x, d := range u.step {
		damping += u.damped[x] * d * d
	}
	// The column of ∂F/∂λ' has been used: the step goes there, to come back in the order of
	// the messages.
	for x, d := range u.step {
		u.right[(x+1)*columns-1] = d
	}
	for i, x := range u.order.place {
		u.step[i] = u.lambda[i] + u.right[(int(x)+1)*columns-1]
	}
	return damping
}

// assembleRows makes a chunk of rows of the system of the weights:
// H + μ D − (coupling)ᵀ (λ block)⁻¹ (coupling), and in the last row ∂F/∂θ̃ likewise.
func (n *newton) assembleRows(w *newtonWorker, chunk int) {
	first := chunk * newtonRows
	end := min(first+newtonRows, n.columns)
	rows := n.system[first*n.columns : end*n.columns]
	clear(rows)
	for _, u := range n.units {
		u.addCurvature(w, n.l.model, rows, first, end, n.columns)
	}
	for r := first; r < end; r++ {
		row := rows[(r-first)*n.columns:][:n.columns]
		if r == n.columns-1 {
			copy(row, n.l.gradient)
			continue
		}
		row[r] += n.l.problem.L2
		n.damped[r] = n.scalars[newtonMu]*n.slots[0].metric[r] + newtonRelativeFloor*row[r] + newtonFloor
		row[r] += n.damped[r]
	}
	for _, u := range n.units {
		for lo := 0; lo < u.order.size; lo += ground.RowsPerBatch {
			count := min(ground.RowsPerBatch, u.order.size-lo)
			right, gathered := u.right[lo*n.columns:][:count*n.columns], w.gathered[:count*(end-first)]
			for i := range count {
				for j, x := range right[i*n.columns+first : i*n.columns+end] {
					gathered[i*(end-first)+j] = -x
				}
			}
			simd.ScatterMatrix(rows, gathered, right, count, end-first, n.columns)
		}
	}
}

// run does all parts of a task.
func (n *newton) run(task newtonTask) {
	parts := len(n.slots)
	if task == newtonAssemble {
		parts = n.chunks()
	}
	n.l.pool.run(visit{newton: task}, parts)
}

// evaluate finds F, its gradient and the damping where the state is.
func (n *newton) evaluate() (inconsistency float64) {
	l := n.l
	for i := range n.slots {
		n.slots[i].inconsistency = 0
	}
	n.run(newtonInfer)
	first := &n.slots[0]
	dual := 0.0
	for i := range n.slots {
		slot := &n.slots[i]
		dual += slot.value
		inconsistency = max(inconsistency, slot.inconsistency)
		if i > 0 {
			addTo(first.gradient, slot.gradient)
			addTo(first.metric, slot.metric)
		}
	}
	norm := 0.0
	for i, x := range l.model.Weights {
		g := first.gradient[i] - l.data[i] + l.problem.L2*x
		first.metric[i] += l.problem.L2
		l.gradient[i] = g
		norm += g * g
	}
	l.progress.Objective, l.progress.GradientNorm = n.saddle(dual, l.model.Weights), math.Sqrt(norm)
	l.progress.Upper, l.progress.Held, l.progress.Watched = l.progress.Objective, math.NaN(), false
	l.progress.Passes++
	l.progress.GradientPasses++
	return inconsistency
}

// saddle returns F, given the sum of the duals.
func (n *newton) saddle(dual float64, weights []float64) float64 {
	return dual - simd.Dot(weights, n.l.data) + n.l.problem.L2/2*simd.Dot(weights, weights)
}

// solve finds the step, and what it promises: F decreases by that much where F is the
// quadratic function of its gradient and Hessian. It reports false where the matrix is not
// positive definite.
func (n *newton) solve() (promise float64, ok bool) {
	n.run(newtonFactor)
	square := 0.0
	for i := range n.slots {
		if n.slots[i].failed {
			return 0, false
		}
		square += n.slots[i].square
	}
	n.run(newtonAssemble)
	weights := n.columns - 1
	if !factorisePanel(n.system, weights, n.columns, n.columns) {
		return 0, false
	}
	copy(n.step, n.system[weights*n.columns:])
	square += simd.Dot(n.step, n.step)
	for r := weights - 1; r >= 0; r-- {
		row := n.system[r*n.columns:]
		n.step[r] /= -row[r] // to what the later ones have left
		simd.AddScaled(n.step[:r], row[:r], n.step[r])
	}
	n.run(newtonSolve)
	damping := 0.0
	for i := range n.slots {
		damping += n.slots[i].damping
	}
	for r, d := range n.step {
		damping += n.damped[r] * d * d
		n.trial.Weights[r] = n.l.model.Weights[r] + d
	}
	// (H + damping) d = −g, so that −⟨g,d⟩ − dᵀHd/2 = (−⟨g,d⟩ + dᵀ(damping)d)/2.
	return (square + damping) / 2, true
}

// begin takes the best weights of the block visits before, and sweeps.
func (n *newton) begin() error {
	n.scalars[newtonBegun] = 1
	l := n.l
	if l.progress.Iterations == 0 {
		return nil // the initial check has just done it
	}
	l.goBack()
	for range newtonSweeps {
		for i := range l.checkSchedule {
			set := &l.checkSchedule[i]
			if _, err := l.visitBlocks(visit{bundle: l.bundles[set.bundle], blocks: set.blocks, limits: bp.Limits{MaxSweeps: 1}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// iterate is one try of a step.
func (n *newton) iterate() error {
	l, c := n.l, n.scalars
	if c[newtonBegun] == 0 {
		if err := n.begin(); err != nil {
			return err
		}
	}
	inconsistency := n.evaluate()
	p := &l.progress
	near := l.problem.L2 == 0 || p.GradientNorm*p.GradientNorm <= 2*l.problem.L2*newtonProof*(1+math.Abs(p.Objective))
	if p.GradientNorm <= l.checkBelow() && near && inconsistency <= newtonConsistent && p.Iterations > p.LastCheck && c[newtonNu] == 2 {
		l.startCheck(checkConvergence)
		return nil
	}
	before := p.Objective
	taken := n.try(before)
	c[newtonTries]++
	p.Iterations++
	event := Event{
		Iteration: p.Iterations, Instance: -1, Block: -1, Step: float64(oneIf(taken)),
		Objective: p.Objective, GradientNorm: p.GradientNorm, Suboptimality: l.suboptimality(), Residual: inconsistency,
	}
	if err := l.evaluate(&event); err != nil {
		return err
	}
	if err := l.record(event); err != nil {
		return err
	}
	if c[newtonIdle] >= newtonIdles || c[newtonNu] > newtonLargestNu || c[newtonTries] >= newtonMostTries || math.IsNaN(before) {
		c[newtonEnded] = 1 // the check makes messages and contributions those of the weights
		l.startCheck(checkConvergence)
		return nil
	}
	if taken {
		p.Change, p.LastObjective = before-p.Objective, p.Objective
	}
	if p.Status, p.Reason = l.settings.limitReached(p); p.Status != "" {
		return l.startFinalCheck()
	}
	return nil
}

// try makes a step if F falls enough, and adjusts the damping. The growth and decay of μ are
// Nielsen's (1999).
func (n *newton) try(before float64) (taken bool) {
	l, c := n.l, n.scalars
	promise, ok := n.solve()
	if !ok {
		c[newtonMu] = max(4*c[newtonMu], newtonFailedMu)
		c[newtonNu] *= 2
		return false
	}
	n.run(newtonLook)
	l.progress.Passes++
	dual := 0.0
	for i := range n.slots {
		dual += n.slots[i].value
	}
	after := n.saddle(dual, n.trial.Weights)
	gain, rounding := before-after, newtonRounding*(1+math.Abs(before))+newtonSums*math.Abs(dual)
	ratio := gain / promise
	if promise <= rounding {
		if c[newtonMu] <= newtonIdleMu {
			c[newtonIdle]++
		}
		ratio = float64(oneIf(gain > -rounding))
	}
	if !(ratio > newtonAccept) || math.IsInf(ratio, 0) {
		c[newtonMu] *= c[newtonNu]
		c[newtonNu] *= 2
		return false
	}
	if promise > rounding {
		c[newtonIdle] = 0
	}
	shrink := 2*ratio - 1
	c[newtonMu], c[newtonNu] = max(newtonSmallestMu, c[newtonMu]*max(0.1, 1-shrink*shrink*shrink)), 2
	copy(l.model.Weights, n.trial.Weights)
	n.run(newtonTake)
	l.progress.Objective, l.progress.Upper = after, after
	return true
}
