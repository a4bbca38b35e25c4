package hard

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// inference is belief propagation (4), (5) on one unit, to the end.
type inference struct {
	u      *unit
	theta  []float64 // [entries]
	lambda []float64 // [messages]
	kept   []float64 // [messages] where they settled last
	tau    []float64 // [entries] beliefs
	next   []float64 // [messages]
	sum    [][]float64
	buffer []float64
	// byDual: beliefs are those of the dual value (7), which is least.
	byDual bool
	least  float64
}

func newInference(u *unit) *inference {
	f := &inference{u: u, theta: make([]float64, u.entries), lambda: make([]float64, u.messages),
		kept: make([]float64, u.messages), tau: make([]float64, u.entries), next: make([]float64, u.messages)}
	most := 0
	for s := range u.nodes {
		most = max(most, len(u.nodes[s].states))
		f.sum = append(f.sum, make([]float64, len(u.nodes[s].states)))
	}
	f.buffer = make([]float64, most)
	return f
}

const (
	// settled is the largest change of a message over ρ, relative to the largest
	// message, at which inference ends: a few times what rounding leaves.
	settled = 1e-13
	// mostSweeps bounds inference where one fixed point is certain, and fewSweeps where
	// there may be none that can be reached. Newton steps end what sweeps leave long before.
	mostSweeps, fewSweeps = 4000, 400
	// mostNewton and fewNewton bound these alike.
	mostNewton, fewNewton = 100, 2
	// between is how many sweeps are looked back to see whether messages settle, and
	// between two trials of Newton's method.
	between = 40
	// enough is a residual that is good enough where rounding allows no less.
	enough = 1e-9
)

// run passes messages until they settle, and computes beliefs. It reports whether they
// have.
func (f *inference) run(weights []float64) bool {
	f.u.potentials(f.theta, weights)
	f.byDual = false
	damping, last, residual, sweeps, trials := 0.0, math.Inf(1), math.Inf(1), fewSweeps, fewNewton
	if f.u.convex {
		sweeps, trials = mostSweeps, mostNewton
	}
	for sweep := 1; sweep <= sweeps; sweep++ {
		var ok bool
		if residual, ok = f.sweep(damping); !ok {
			copy(f.lambda, f.kept)
			return false
		}
		if residual <= settled {
			break
		}
		if sweep%between != 0 {
			continue
		}
		if residual > 0.9*last && residual < enough {
			break // rounding
		}
		if residual > 0.95*last && !f.u.dual && damping < 0.9 { // they circle
			damping = (1 + 2*damping) / 3 // 1/3, 5/9, 19/27, …
		}
		last = residual
		if residual < 0.1 && trials > 0 {
			trials--
			f.newton()
		}
	}
	f.believe()
	switch {
	case residual <= enough || f.u.convex && f.contradiction() <= enough:
	case f.u.strict:
		f.minimiseDual(weights)
	default:
		copy(f.lambda, f.kept) // what comes next begins there
		return false
	}
	copy(f.kept, f.lambda)
	return true
}

// minimiseDual finds beliefs by Newton's method on the dual value (7). Sweeps need for ever
// where beliefs tend to 0 without the potentials' saying so, and (5) has no derivative that
// could be solved for; the dual value is convex there too.
func (f *inference) minimiseDual(weights []float64) {
	u := *f.u
	u.weight = 1
	d := dualOf{newJoint(&flat{units: []*unit{&u}, weights: len(weights)}), weights}
	z := make([]float64, u.messages)
	u.eachMessage(func(s, x, at int, c float64) {
		z[at] = f.lambda[at] - c*math.Log(math.Max(f.tau[u.nodes[s].at+x], math.SmallestNonzeroFloat64))
	})
	f.least, _ = minimise(d, z, mostSteps)
	f.byDual = true
	d.logits(&u, f.tau, z, weights)
	u.terms(func(c float64, at, n int, _ float64, _ func(int) []int) {
		for k := at; k < at+n; k++ {
			f.tau[k] /= c
		}
		softmax(f.tau[at : at+n])
	})
	u.eachMessage(func(s, x, at int, c float64) {
		f.lambda[at] = z[at] + c*math.Log(math.Max(f.tau[u.nodes[s].at+x], math.SmallestNonzeroFloat64))
	})
}

// eachMessage calls visit for every entry of every message: the node where it arrives, the
// state there, and the counting number of its edge.
func (u *unit) eachMessage(visit func(s, x, at int, c float64)) {
	for s := range u.nodes {
		for _, h := range u.nodes[s].in {
			for x := range u.nodes[s].states {
				visit(s, x, h.message+x, u.edges[h.edge].c)
			}
		}
	}
}

// incoming computes Σ of the potential of node s and what arrives at it.
func (f *inference) incoming(s int) []float64 {
	n, sum := &f.u.nodes[s], f.sum[s]
	copy(sum, f.theta[n.at:])
	for _, h := range n.in {
		for x := range sum {
			sum[x] += f.lambda[h.message+x]
		}
	}
	return sum
}

// message writes what edge e sends to the end that is v, or u, into dst, by (5), with the
// mean 0. sum is that of the other end.
func (f *inference) message(dst []float64, e *edge, toV bool, sum []float64) {
	rho, back, width := f.u.nodes[e.u].rho, f.lambda[e.toU:], len(f.u.nodes[e.v].states)
	if !toV {
		rho, back = f.u.nodes[e.v].rho, f.lambda[e.toV:]
	}
	buffer, mean := f.buffer[:len(sum)], 0.0
	for y := range dst {
		for x := range sum {
			at := x*width + y
			if !toV {
				at = y*width + x
			}
			buffer[x] = sum[x]/rho + (f.theta[e.at+at]-back[x])/e.c
		}
		dst[y] = e.c * logSumExp(buffer)
		mean += dst[y] / float64(len(dst))
	}
	for y := range dst {
		dst[y] -= mean
	}
}

// sweep renews what arrives at node after node. It returns the largest change, relative to
// the largest message, and whether all numbers are finite.
func (f *inference) sweep(damping float64) (residual float64, ok bool) {
	change, largest := 0.0, 1.0
	for s := range f.u.nodes {
		n := &f.u.nodes[s]
		for _, h := range n.in {
			e := &f.u.edges[h.edge]
			fresh := f.next[h.message : h.message+len(n.states)]
			f.message(fresh, e, e.v == s, f.incoming(h.other))
			for x, value := range fresh {
				old := f.lambda[h.message+x]
				change, largest = math.Max(change, math.Abs(value-old)/e.c), math.Max(largest, math.Abs(value)/e.c)
				f.lambda[h.message+x] = value + damping*(old-value)
			}
		}
	}
	return change / largest, !math.IsNaN(change) && !math.IsInf(change, 0)
}

// all writes the messages that the present ones lead to into f.next, all at once, and
// returns the largest change.
func (f *inference) all() (residual float64) {
	for s := range f.u.nodes {
		f.incoming(s)
	}
	largest := 1.0
	for i := range f.u.edges {
		e := &f.u.edges[i]
		f.message(f.next[e.toU:e.toV], e, false, f.sum[e.v])
		f.message(f.next[e.toV:e.toV+len(f.sum[e.v])], e, true, f.sum[e.u])
		for j := e.toU; j < e.toV+len(f.sum[e.v]); j++ {
			residual, largest = math.Max(residual, math.Abs(f.next[j]-f.lambda[j])/e.c),
				math.Max(largest, math.Abs(f.next[j])/e.c)
		}
	}
	return residual / largest
}

// newton makes one step of Newton's method for messages that (5) leaves as they are, where
// that brings them nearer.
func (f *inference) newton() {
	if f.u.messages == 0 {
		return
	}
	before := f.all()
	f.believe()
	var lu mat.LU
	lu.Factorize(f.response())
	step := mat.NewVecDense(f.u.messages, nil)
	for i := range f.lambda {
		step.SetVec(i, f.next[i]-f.lambda[i])
	}
	if failed(lu.SolveVecTo(step, false, step)) {
		return
	}
	kept := append([]float64(nil), f.lambda...)
	for part := 1.0; part > 0.05; part /= 2 {
		for i := range f.lambda {
			f.lambda[i] = kept[i] + part*step.AtVec(i)
		}
		if f.all() < (1-part/2)*before {
			return
		}
	}
	copy(f.lambda, kept)
}

// believe computes beliefs (4), (6).
func (f *inference) believe() {
	for s := range f.u.nodes {
		f.incoming(s)
	}
	for i := range f.u.edges {
		e := &f.u.edges[i]
		left, right := f.sum[e.u], f.sum[e.v]
		rhoU, rhoV := f.u.nodes[e.u].rho, f.u.nodes[e.v].rho
		tau := f.tau[e.at : e.at+len(left)*len(right)]
		for x := range left {
			for y := range right {
				j := x*len(right) + y
				tau[j] = left[x]/rhoU + right[y]/rhoV + (f.theta[e.at+j]-f.lambda[e.toV+y]-f.lambda[e.toU+x])/e.c
			}
		}
		softmax(tau)
	}
	for s := range f.u.nodes {
		n := &f.u.nodes[s]
		tau := f.tau[n.at : n.at+len(n.states)]
		for x := range tau {
			tau[x] = f.sum[s][x] / n.rho
		}
		softmax(tau)
	}
}

// contradiction returns how far beliefs of edges are from those of their ends, at most.
func (f *inference) contradiction() float64 {
	worst := 0.0
	for i := range f.u.edges {
		e := &f.u.edges[i]
		a, b := &f.u.nodes[e.u], &f.u.nodes[e.v]
		width := len(b.states)
		right := f.next[:width] // scratch
		copy(right, f.tau[b.at:])
		for x := range a.states {
			left := f.tau[a.at+x]
			for y := range width {
				t := f.tau[e.at+x*width+y]
				left -= t
				right[y] -= t
			}
			worst = math.Max(worst, math.Abs(left))
		}
		for _, r := range right {
			worst = math.Max(worst, math.Abs(r))
		}
	}
	return worst
}

// value returns (2) at the beliefs, less ⟨θ, w⟩ of the labels: in that order, so that
// what is left of large potentials is not rounding.
func (f *inference) value() float64 {
	if f.byDual {
		return f.least
	}
	total := 0.0
	add := func(c float64, at, n int) {
		for i := at; i < at+n; i++ {
			t := f.tau[i]
			if t != f.u.labels[i] {
				total += (t - f.u.labels[i]) * f.theta[i]
			}
			if t > 0 {
				total -= c * t * math.Log(t)
			}
		}
	}
	for s := range f.u.nodes {
		add(f.u.nodes[s].c, f.u.nodes[s].at, len(f.u.nodes[s].states))
	}
	for i := range f.u.edges {
		e := &f.u.edges[i]
		add(e.c, e.at, len(f.sum[e.u])*len(f.sum[e.v]))
	}
	return total
}

// conditional returns the probability, given state y of one end, that the other end is in x:
// what message toV, or toU, has for the derivative by what it is made of.
func (f *inference) conditional(e *edge, toV bool, x, y int) float64 {
	width := len(f.sum[e.v])
	if toV {
		column := 0.0
		for i := range f.sum[e.u] {
			column += f.tau[e.at+i*width+y]
		}
		return f.tau[e.at+x*width+y] / math.Max(column, math.SmallestNonzeroFloat64)
	}
	line := 0.0
	for j := range width {
		line += f.tau[e.at+y*width+j]
	}
	return f.tau[e.at+y*width+x] / math.Max(line, math.SmallestNonzeroFloat64)
}

// eachDerivative calls visit for every message entry and every state x of the node that
// sends it, with the derivative q of the first, before its mean is taken off, by
// (θ − λ back)(x), the derivative q·ratio by the sum at that node.
func (f *inference) eachDerivative(visit func(e *edge, toV bool, from int, to, back, x, y int, q, ratio float64)) {
	for i := range f.u.edges {
		e := &f.u.edges[i]
		for _, toV := range []bool{false, true} {
			from, to, back := e.v, e.toU, e.toV
			if toV {
				from, to, back = e.u, e.toV, e.toU
			}
			n := len(f.sum[e.u]) + len(f.sum[e.v]) - len(f.sum[from])
			for y := range n {
				for x := range f.sum[from] {
					visit(e, toV, from, to, back, x, y, f.conditional(e, toV, x, y), e.c/f.u.nodes[from].rho)
				}
			}
		}
	}
}

// centre takes the mean of every message off the rows of a matrix [messages × columns].
func (f *inference) centre(m *mat.Dense) {
	_, columns := m.Dims()
	mean := make([]float64, columns)
	for i := range f.u.edges {
		e := &f.u.edges[i]
		for _, r := range [][2]int{{e.toU, e.toV}, {e.toV, e.toV + len(f.sum[e.v])}} {
			clear(mean)
			for at := r[0]; at < r[1]; at++ {
				for j, v := range m.RawRowView(at) {
					mean[j] += v / float64(r[1]-r[0])
				}
			}
			for at := r[0]; at < r[1]; at++ {
				line := m.RawRowView(at)
				for j := range line {
					line[j] -= mean[j]
				}
			}
		}
	}
}

// response returns I − ∂T/∂λ [messages × messages], T being (5) for all messages at once,
// at the beliefs.
func (f *inference) response() *mat.Dense {
	a := mat.NewDense(f.u.messages, f.u.messages, nil)
	f.eachDerivative(func(_ *edge, _ bool, from, to, back, x, y int, q, ratio float64) {
		line := a.RawRowView(to + y)
		line[back+x] += q
		for _, h := range f.u.nodes[from].in {
			line[h.message+x] -= q * ratio
		}
	})
	f.centre(a)
	for i := range f.u.messages {
		a.Set(i, i, a.At(i, i)+1)
	}
	return a
}

// curvature adds a multiple of the Hessian of B by the weights to h: how beliefs answer
// the weights when messages settle anew (linear response). ok is false where they have no
// single answer.
func (f *inference) curvature(h *mat.Dense, scale float64) (ok bool) {
	_, weights := h.Dims()
	right := mat.NewDense(max(1, f.u.messages), weights, nil)
	f.eachDerivative(func(e *edge, toV bool, from, to, _, x, y int, q, ratio float64) {
		line := right.RawRowView(to + y)
		f.u.rows[f.u.nodes[from].at+x].addTo(line, q*ratio)
		at := x*len(f.sum[e.v]) + y
		if !toV {
			at = y*len(f.sum[e.v]) + x
		}
		f.u.rows[e.at+at].addTo(line, q)
	})
	if f.u.messages > 0 {
		f.centre(right)
		var lu mat.LU
		lu.Factorize(f.response())
		if failed(lu.SolveTo(right, false, right)) {
			return false
		}
	}
	sums := make([]*mat.Dense, len(f.u.nodes)) // derivatives of what arrives at nodes
	for s := range f.u.nodes {
		n := &f.u.nodes[s]
		sums[s] = mat.NewDense(len(n.states), weights, nil)
		for x := range n.states {
			line := sums[s].RawRowView(x)
			f.u.rows[n.at+x].addTo(line, 1)
			for _, in := range n.in {
				addTo(line, right.RawRowView(in.message+x), 1)
			}
		}
		own := mat.NewDense(len(n.states), weights, nil)
		own.Scale(1/n.rho, sums[s])
		f.addMoments(h, scale, own, n.at)
	}
	for i := range f.u.edges {
		e := &f.u.edges[i]
		a, b := len(f.sum[e.u]), len(f.sum[e.v])
		own := mat.NewDense(a*b, weights, nil)
		for x := range a {
			for y := range b {
				line := own.RawRowView(x*b + y)
				f.u.rows[e.at+x*b+y].addTo(line, 1/e.c)
				addTo(line, right.RawRowView(e.toV+y), -1/e.c)
				addTo(line, right.RawRowView(e.toU+x), -1/e.c)
				addTo(line, sums[e.u].RawRowView(x), 1/f.u.nodes[e.u].rho)
				addTo(line, sums[e.v].RawRowView(y), 1/f.u.nodes[e.v].rho)
			}
		}
		f.addMoments(h, scale, own, e.at)
	}
	return true
}

// addMoments adds Σ M dτ of the entries from at on, given the derivatives of their
// log-beliefs up to a constant, which are overwritten.
func (f *inference) addMoments(h *mat.Dense, scale float64, logs *mat.Dense, at int) {
	entries, weights := logs.Dims()
	mean := make([]float64, weights)
	for i := range entries {
		addTo(mean, logs.RawRowView(i), f.tau[at+i])
	}
	for i := range entries {
		line := logs.RawRowView(i)
		addTo(line, mean, -1)
		r := &f.u.rows[at+i]
		for j, w := range r.at {
			addTo(h.RawRowView(int(w)), line, scale*f.tau[at+i]*r.value[j])
		}
	}
}

// addTo adds a multiple of src to dst.
func addTo(dst, src []float64, scale float64) {
	if scale == 0 {
		return
	}
	for i, v := range src {
		dst[i] += scale * v
	}
}
