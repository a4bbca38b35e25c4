package learn

import (
	"math"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// newtonUnit is one network's part of F and of the system of a Newton step.
type newtonUnit struct {
	*unit
	order    *elimination
	whole    *partition.Block // all nodes and edges, in their own order
	edgeAt   []int32          // [edges+1] where the belief of each edge begins in edge
	possible []bool           // [beliefs] what hard zeros leave; nil: everything

	lambda     []float64 // [messages] λ' of (7)
	node, edge []float64 // beliefs of the two terms of (7)
	factor     []float64 // the system's λ block, then its factor
	// right [messages][weights+1] is the block that couples λ with the weights, and ∂F/∂λ;
	// then L⁻¹ of both. Its rows are in the order of elimination.
	right  []float64
	damped []float64 // [messages] what was added to the diagonal
	step   []float64 // [messages] in the order of elimination; then scratch for λ' + step
}

// newtonWorker is the scratch of a goroutine.
type newtonWorker struct {
	potentials  ground.Potentials
	y           []float64 // [largest table or number of states]
	mixed       []float64 // as long
	covariance  []float64 // [states²]
	left, right []float64 // [states] marginals of an edge
	feature     []float64 // [most features]
	row         []float64 // [most weights of an element]
	local       []int32   // [most messages]
	gathered    []float64 // [RowsPerBatch][newtonRows]
}

// readMessages takes the dual variables from the state: λ'_vs = λ_vs − ρ_sv log τ_s, but
// for a constant (internal/bp/value.go). States that are impossible have none.
func (u *newtonUnit) readMessages() {
	g := u.in.Graph
	for d := range int32(2 * g.NumEdges()) {
		t := g.Target(d)
		at, belief := u.net.MessageAt(d), u.net.BeliefAt(t)
		rho := u.net.Counting.Edge[d>>1]
		for x := range int(u.net.Card[t]) {
			u.lambda[at+x] = 0
			if u.may(belief + x) {
				if v := rho * (u.state.LogMessage[at+x] - u.state.LogBelief[belief+x]); math.Abs(v) <= math.MaxFloat64 {
					u.lambda[at+x] = v
				}
			}
		}
	}
}

// writeState puts λ' back, and the beliefs of the nodes that belong to it. The potentials
// of the weights are in w.
func (u *newtonUnit) writeState(w *newtonWorker) {
	g := u.in.Graph
	for s := range int32(g.NumNodes()) {
		y, count := u.nodeTerm(w, u.lambda, s), u.net.Counting.Node[s]
		largest := simd.Max(y)
		total := 0.0
		for _, v := range y {
			total += math.Exp((v - largest) / count)
		}
		logTotal := math.Log(total)
		for x, v := range y {
			u.state.LogBelief[u.net.BeliefAt(s)+x] = (v-largest)/count - logTotal
		}
	}
	for d := range int32(2 * g.NumEdges()) {
		t := g.Target(d)
		at, belief := u.net.MessageAt(d), u.net.BeliefAt(t)
		message := u.state.LogMessage[at:][:u.net.Card[t]]
		largest := math.Inf(-1)
		for x := range message {
			message[x] = 0
			if u.may(belief + x) {
				message[x] = u.lambda[at+x]/u.net.Counting.Edge[d>>1] + u.state.LogBelief[belief+x]
				largest = max(largest, message[x])
			}
		}
		for x := range message {
			if u.may(belief + x) {
				message[x] -= largest
			}
		}
	}
}

func (u *newtonUnit) may(belief int) bool { return u.possible == nil || u.possible[belief] }

// nodeTerm returns θ_s + Σ λ' of a node, −Inf where a state is impossible.
func (u *newtonUnit) nodeTerm(w *newtonWorker, lambda []float64, s int32) []float64 {
	k := int(u.net.Card[s])
	y := w.y[:k]
	copy(y, w.potentials.Node[w.potentials.NodeAt[s]:])
	for _, d := range u.in.Graph.Incoming(s) {
		for x, v := range lambda[u.net.MessageAt(d):][:k] {
			y[x] += v
		}
	}
	if u.possible != nil {
		for x := range y {
			if !u.possible[u.net.BeliefAt(s)+x] {
				y[x] = math.Inf(-1)
			}
		}
	}
	return y
}

// edgeTerm returns θ_uv − λ'_vu − λ'_uv of an edge.
func (u *newtonUnit) edgeTerm(w *newtonWorker, lambda []float64, e int32) []float64 {
	a, b := u.in.Graph.U(e), u.in.Graph.V(e)
	ka, kb := int(u.net.Card[a]), int(u.net.Card[b])
	y := w.y[:ka*kb]
	table := w.potentials.Table[w.potentials.EdgeAt[e]:][:ka*kb]
	left, right := lambda[u.net.MessageAt(2*e+1):][:ka], lambda[u.net.MessageAt(2*e):][:kb]
	for i, l := range left {
		for j, r := range right {
			y[i*kb+j] = table[i*kb+j] - l - r
		}
	}
	if u.possible != nil {
		for i := range left {
			for j := range right {
				if !u.possible[u.net.BeliefAt(a)+i] || !u.possible[u.net.BeliefAt(b)+j] {
					y[i*kb+j] = math.Inf(-1)
				}
			}
		}
	}
	return y
}

// value returns D(λ', θ) of (7) at the weights of the model, whose potentials stay in w.
func (u *newtonUnit) value(w *newtonWorker, m *crf.Model, lambda []float64) (dual float64) {
	w.potentials.Ground(m, u.in, u.whole)
	for s := range int32(u.in.Graph.NumNodes()) {
		y := u.nodeTerm(w, lambda, s)
		dual += logSumExp(y, y, u.net.Counting.Node[s])
	}
	for e := range int32(u.in.Graph.NumEdges()) {
		y := u.edgeTerm(w, lambda, e)
		dual += logSumExp(y, y, u.net.Counting.Edge[e])
	}
	return dual
}

// logSumExp returns c log Σ exp(y/c), and leaves the distribution of the terms in dst,
// which may be y, unless the result is not finite.
func logSumExp(dst, y []float64, c float64) float64 {
	largest := simd.Max(y)
	if !(math.Abs(largest) <= math.MaxFloat64) {
		return math.NaN()
	}
	for i, v := range y {
		dst[i] = (v - largest) / c
	}
	total := simd.ExpShift(dst, dst, 0)
	scale(dst, 1/total)
	return largest + c*math.Log(total)
}

// infer sets the beliefs of both terms at the messages at hand, and returns D.
func (u *newtonUnit) infer(w *newtonWorker, m *crf.Model) (dual float64) {
	w.potentials.Ground(m, u.in, u.whole)
	for s := range int32(u.in.Graph.NumNodes()) {
		y := u.nodeTerm(w, u.lambda, s)
		dual += logSumExp(u.nodeBelief(s), y, u.net.Counting.Node[s])
	}
	for e := range int32(u.in.Graph.NumEdges()) {
		y := u.edgeTerm(w, u.lambda, e)
		dual += logSumExp(u.edgeBelief(e), y, u.net.Counting.Edge[e])
	}
	return dual
}

func (u *newtonUnit) nodeBelief(s int32) []float64 {
	return u.node[u.net.BeliefAt(s):][:u.net.Card[s]]
}

func (u *newtonUnit) edgeBelief(e int32) []float64 {
	return u.edge[u.edgeAt[e]:u.edgeAt[e+1]]
}

// marginals sums the belief of an edge over either end.
func (w *newtonWorker) marginals(belief []float64, ka, kb int) (left, right []float64) {
	left, right = w.left[:ka], w.right[:kb]
	clear(left)
	clear(right)
	for i := range left {
		for j := range right {
			left[i] += belief[i*kb+j]
			right[j] += belief[i*kb+j]
		}
	}
	return left, right
}

// inconsistency returns the largest difference between the belief of a node and that of an
// edge at it: ∂F/∂λ', but for the weight of the network.
func (u *newtonUnit) inconsistency(w *newtonWorker) (largest float64) {
	g := u.in.Graph
	for e := range int32(g.NumEdges()) {
		a, b := u.nodeBelief(g.U(e)), u.nodeBelief(g.V(e))
		left, right := w.marginals(u.edgeBelief(e), len(a), len(b))
		for i, x := range a {
			largest = larger(largest, math.Abs(x-left[i]))
		}
		for j, x := range b {
			largest = larger(largest, math.Abs(x-right[j]))
		}
	}
	return largest
}

// mix writes 0.9 of a belief and 0.1 of the labels into w.mixed. states is 0 for a node;
// for an edge it is the number of states of its second end.
func (u *newtonUnit) mix(w *newtonWorker, belief []float64, first, second int32, states int) []float64 {
	mixed := w.mixed[:len(belief)]
	for i, x := range belief {
		mixed[i] = (1 - newtonLabelShare) * x
	}
	samples := u.in.Samples()
	for _, labels := range samples {
		at := int(labels[first])
		if states > 0 {
			at = at*states + int(labels[second])
		}
		mixed[at] += newtonLabelShare / float64(len(samples))
	}
	return mixed
}

// features writes those of a node or edge into w.feature.
func (w *newtonWorker) features(f *crf.Features, row int) []float64 {
	x := w.feature[:f.Dim()]
	f.Row(x, row)
	return x
}

// place returns where the weights of an element begin, and how many states it has.
func place(span *crf.Span, row int) int {
	if span.Untied {
		return span.At + row*span.Copy()
	}
	return span.At
}

// addGradient adds weight · M τ to gradient [weights], and the diagonal of the damping for
// the weights to metric [weights].
func (u *newtonUnit) addGradient(w *newtonWorker, m *crf.Model, gradient, metric []float64) {
	for s := range int32(u.in.Graph.NumNodes()) {
		t, belief := u.in.NodeType(s), u.nodeBelief(s)
		mixed := u.mix(w, belief, s, 0, 0)
		u.addElement(w, &m.Layout.Node[t], u.in.NodeFeatures(t), u.in.NodeRow(s), belief, mixed, u.net.Counting.Node[s], gradient, metric)
	}
	for e := range int32(u.in.Graph.NumEdges()) {
		t, belief := u.in.EdgeType(e), u.edgeBelief(e)
		mixed := u.mix(w, belief, u.in.Graph.U(e), u.in.Graph.V(e), int(u.net.Card[u.in.Graph.V(e)]))
		u.addElement(w, &m.Layout.Edge[t], u.in.EdgeFeatures(t), u.in.EdgeRow(e), belief, mixed, u.net.Counting.Edge[e], gradient, metric)
	}
}

func (u *newtonUnit) addElement(w *newtonWorker, span *crf.Span, f *crf.Features, row int, belief, mixed []float64, count float64, gradient, metric []float64) {
	at, k := place(span, row), len(belief)
	for i, x := range mixed {
		mixed[i] = x * (1 - x)
	}
	for j, x := range w.features(f, row) {
		if x != 0 {
			simd.AddScaled(gradient[at+j*k:][:k], belief, u.weight*x)
			simd.AddScaled(metric[at+j*k:][:k], mixed, u.weight/count*x*x)
		}
	}
}

// covary writes scale · (diag τ − τ τᵀ) into w.covariance. What is left of 1 is summed, as
// the difference would be rounding where a state is sure.
func (w *newtonWorker) covary(tau []float64, scale float64) []float64 {
	k := len(tau)
	c := w.covariance[:k*k]
	for i, x := range tau {
		others := 0.0
		for j, y := range tau {
			c[i*k+j] = -scale * x * y
			if i != j {
				others += y
			}
		}
		c[i*k+i] = scale * x * others
	}
	return c
}

// assemble writes the blocks of the system that λ' has a part in: the Hessian with mu times
// the damping, and ∂F/∂λ'.
func (u *newtonUnit) assemble(w *newtonWorker, m *crf.Model, mu float64, columns int) {
	clear(u.factor)
	clear(u.right)
	clear(u.damped)
	for s := range int32(u.in.Graph.NumNodes()) {
		u.assembleNode(w, m, s, columns)
	}
	for e := range int32(u.in.Graph.NumEdges()) {
		u.assembleEdge(w, m, e, columns)
	}
	for i := range u.order.panels {
		p := &u.order.panels[i]
		for x := range p.width {
			diagonal := &u.factor[p.at+x*p.width+x]
			d := &u.damped[p.first+x]
			*d = mu*(*d) + newtonRelativeFloor*(*diagonal) + newtonFloor*u.weight
			*diagonal += *d
		}
	}
}

func (u *newtonUnit) assembleNode(w *newtonWorker, m *crf.Model, s int32, columns int) {
	in := u.in.Graph.Incoming(s)
	if len(in) == 0 {
		return
	}
	belief := u.nodeBelief(s)
	k, scale := len(belief), u.weight/u.net.Counting.Node[s]
	covariance, mixed := w.covary(belief, scale), u.mix(w, belief, s, 0, 0)
	t := u.in.NodeType(s)
	feature, at := w.features(u.in.NodeFeatures(t), u.in.NodeRow(s)), place(&m.Layout.Node[t], u.in.NodeRow(s))
	for n, d := range in {
		i := u.order.place[u.net.MessageAt(d)]
		for _, other := range in[:n+1] {
			u.addBlock(i, u.order.place[u.net.MessageAt(other)], covariance, k, k)
		}
		for x, b := range belief {
			row := u.right[(int(i)+x)*columns:][:columns]
			row[columns-1] += u.weight * b
			u.damped[int(i)+x] += scale * mixed[x] * (1 - mixed[x])
			for j, f := range feature {
				if f != 0 {
					simd.AddScaled(row[at+j*k:][:k], covariance[x*k:], f)
				}
			}
		}
	}
}

// addBlock adds what the unknowns from i on share with those from j on, [ki][kj], to the
// lower triangle.
func (u *newtonUnit) addBlock(i, j int32, block []float64, ki, kj int) {
	if i >= j {
		part, stride := u.order.block(u.factor, i, j)
		for x := range ki {
			for y, v := range block[x*kj:][:kj] {
				part[x*stride+y] += v
			}
		}
		return
	}
	part, stride := u.order.block(u.factor, j, i)
	for x := range ki {
		for y, v := range block[x*kj:][:kj] {
			part[y*stride+x] += v
		}
	}
}

func (u *newtonUnit) assembleEdge(w *newtonWorker, m *crf.Model, e int32, columns int) {
	g := u.in.Graph
	belief := u.edgeBelief(e)
	ka, kb := int(u.net.Card[g.U(e)]), int(u.net.Card[g.V(e)])
	left, right := w.marginals(belief, ka, kb)
	scale := u.weight / u.net.Counting.Edge[e]
	i, j := u.order.place[u.net.MessageAt(2*e+1)], u.order.place[u.net.MessageAt(2*e)]
	u.addBlock(i, i, w.covary(left, scale), ka, ka)
	u.addBlock(j, j, w.covary(right, scale), kb, kb)
	cross := w.covariance[:ka*kb]
	for x, a := range left {
		for y, b := range right {
			cross[x*kb+y] = scale * (belief[x*kb+y] - a*b)
		}
	}
	u.addBlock(i, j, cross, ka, kb)
	mixed := u.mix(w, belief, g.U(e), g.V(e), kb)
	for x := range left {
		for y := range right {
			p := mixed[x*kb+y]
			u.damped[int(i)+x] += scale * p * (1 - p)
			u.damped[int(j)+y] += scale * p * (1 - p)
		}
	}
	t := u.in.EdgeType(e)
	feature, at := w.features(u.in.EdgeFeatures(t), u.in.EdgeRow(e)), place(&m.Layout.Edge[t], u.in.EdgeRow(e))
	with := w.y[:ka*kb] // covariances of one state of an end with the joint states
	add := func(unknown int, q float64) {
		row := u.right[unknown*columns:][:columns]
		row[columns-1] -= u.weight * q
		for j, f := range feature {
			if f != 0 {
				simd.AddScaled(row[at+j*ka*kb:][:ka*kb], with, -f)
			}
		}
	}
	for x, q := range left {
		for n, p := range belief {
			with[n] = -scale * q * p
			if n/kb == x {
				with[n] += scale * p
			}
		}
		add(int(i)+x, q)
	}
	for y, q := range right {
		for n, p := range belief {
			with[n] = -scale * q * p
			if n%kb == y {
				with[n] += scale * p
			}
		}
		add(int(j)+y, q)
	}
}

// addCurvature adds the rows first ≤ r < end of Σ weight/c · Mᵀ Cov M to h, whose row r
// begins at (r−first)·stride.
func (u *newtonUnit) addCurvature(w *newtonWorker, m *crf.Model, h []float64, first, end, stride int) {
	for s := range int32(u.in.Graph.NumNodes()) {
		t := u.in.NodeType(s)
		u.addElementCurvature(w, &m.Layout.Node[t], u.in.NodeFeatures(t), u.in.NodeRow(s), u.nodeBelief(s), u.weight/u.net.Counting.Node[s], h, first, end, stride)
	}
	for e := range int32(u.in.Graph.NumEdges()) {
		t := u.in.EdgeType(e)
		u.addElementCurvature(w, &m.Layout.Edge[t], u.in.EdgeFeatures(t), u.in.EdgeRow(e), u.edgeBelief(e), u.weight/u.net.Counting.Edge[e], h, first, end, stride)
	}
}

func (u *newtonUnit) addElementCurvature(w *newtonWorker, span *crf.Span, f *crf.Features, featureRow int, belief []float64, scale float64, h []float64, first, end, stride int) {
	at, k, size := place(span, featureRow), len(belief), span.Copy()
	if at >= end || at+size <= first || size == 0 {
		return
	}
	feature := w.features(f, featureRow)
	covariance, row := w.y[:k], w.row[:size]
	for x, p := range belief {
		if p == 0 {
			continue
		}
		others := 0.0
		for y, q := range belief {
			covariance[y] = -scale * p * q
			if y != x {
				others += q
			}
		}
		covariance[x] = scale * p * others
		lo, hi := size, 0 // of the features that are not zero
		for j, v := range feature {
			if v == 0 {
				clear(row[j*k:][:k])
				continue
			}
			lo, hi = min(lo, j*k), max(hi, (j+1)*k)
			for y, c := range covariance {
				row[j*k+y] = v * c
			}
		}
		for j, v := range feature {
			if r := at + j*k + x; v != 0 && r >= first && r < end {
				simd.AddScaled(h[(r-first)*stride+at+lo:][:hi-lo], row[lo:hi], v)
			}
		}
	}
}
