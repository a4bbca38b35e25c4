package hard

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// objective is something smooth to be minimised over z.
type objective interface {
	size() int
	// value is +Inf where it can not be computed.
	value(z []float64) float64
	// expand returns value and gradient at z, which value was asked for before, and the
	// Hessian and the scales of steps, positive.
	expand(z []float64) (value float64, gradient []float64, hessian *mat.SymDense, scale []float64)
}

// mixed is the share of a uniform belief in the scales of steps: the curvature of a state
// that has no probability now must not make a step into it endless.
const mixed = 0.1

// spread adds to scale [weights] what entries at to at+n have for the diagonal of the Hessian.
func (u *unit) spread(scale []float64, tau []float64, at, n int, factor float64) {
	for i := at; i < at+n; i++ {
		p := (1-mixed)*tau[i] + mixed/float64(n)
		for j, w := range u.rows[i].at {
			scale[w] += factor * p * (1 - p) * u.rows[i].value[j] * u.rows[i].value[j]
		}
	}
}

// loss is L of (8) as a function of the weights, with inference to the end.
type loss struct {
	*flat
	units []*inference
}

func newLoss(f *flat) *loss {
	l := &loss{flat: f}
	for _, u := range f.units {
		l.units = append(l.units, newInference(u))
	}
	return l
}

func (l *loss) size() int { return l.weights }

// value implements objective.
func (l *loss) value(w []float64) float64 {
	total := 0.0
	for _, x := range w {
		total += l.l2 / 2 * x * x
	}
	for _, f := range l.units {
		if !f.run(w) {
			return math.Inf(1)
		}
		total += f.u.weight * f.value()
	}
	if math.IsNaN(total) {
		return math.Inf(1)
	}
	return total
}

// gradient returns ∇L at the beliefs of the last value.
func (l *loss) gradient(w []float64) []float64 {
	g := make([]float64, l.weights)
	for j := range g {
		g[j] = l.l2 * w[j]
	}
	for _, f := range l.units {
		for i := range f.u.rows {
			f.u.rows[i].addTo(g, f.u.weight*(f.tau[i]-f.u.labels[i]))
		}
	}
	return g
}

// expand implements objective.
func (l *loss) expand(w []float64) (float64, []float64, *mat.SymDense, []float64) {
	value := l.value(w)
	h, scale := mat.NewDense(l.weights, l.weights, nil), make([]float64, l.weights)
	for j := range scale {
		h.Set(j, j, l.l2)
		scale[j] = l.l2
	}
	for _, f := range l.units {
		if !f.curvature(h, f.u.weight) {
			value = math.Inf(1)
		}
		for s := range f.u.nodes {
			n := &f.u.nodes[s]
			f.u.spread(scale, f.tau, n.at, len(n.states), math.Abs(f.u.weight)/n.rho)
		}
		for i := range f.u.edges {
			e := &f.u.edges[i]
			f.u.spread(scale, f.tau, e.at, len(f.sum[e.u])*len(f.sum[e.v]), math.Abs(f.u.weight)/e.c)
		}
	}
	sym := mat.NewSymDense(l.weights, nil)
	for i := range l.weights {
		for j := range i + 1 {
			sym.SetSym(i, j, (h.At(i, j)+h.At(j, i))/2)
		}
	}
	return value, l.gradient(w), sym, scale
}

// joint is F, the upper bound of L by the dual value (7), as a function of all messages
// and the weights: z = (λ', θ̃). It is convex.
type joint struct {
	*flat
	at       []int // [units] where the messages of each begin in z
	messages int
}

func newJoint(f *flat) *joint {
	j := &joint{flat: f}
	for _, u := range f.units {
		j.at = append(j.at, j.messages)
		j.messages += u.messages
	}
	return j
}

func (j *joint) size() int { return j.messages + j.weights }

// logits writes what the terms of (7) are the log-sum-exps of, times c, into y [entries].
func (j *joint) logits(u *unit, y, lambda, w []float64) {
	u.potentials(y, w)
	for s := range u.nodes {
		n := &u.nodes[s]
		for _, h := range n.in {
			for x := range n.states {
				y[n.at+x] += lambda[h.message+x]
			}
		}
	}
	for i := range u.edges {
		e := &u.edges[i]
		width := len(u.nodes[e.v].states)
		for x := range u.nodes[e.u].states {
			for v := range width {
				y[e.at+x*width+v] -= lambda[e.toU+x] + lambda[e.toV+v]
			}
		}
	}
}

// terms calls visit for every log-sum-exp of a unit: its counting number, its entries and,
// for each of these, what multiplies it: the messages with +1 of a node, −1 of an edge.
func (u *unit) terms(visit func(c float64, at, n int, sign float64, messages func(i int) []int)) {
	for s := range u.nodes {
		n := &u.nodes[s]
		visit(n.c, n.at, len(n.states), 1, func(i int) []int {
			at := make([]int, len(n.in))
			for j, h := range n.in {
				at[j] = h.message + i
			}
			return at
		})
	}
	for i := range u.edges {
		e := &u.edges[i]
		width := len(u.nodes[e.v].states)
		visit(e.c, e.at, width*len(u.nodes[e.u].states), -1, func(i int) []int {
			return []int{e.toU + i/width, e.toV + i%width}
		})
	}
}

// value implements objective.
func (j *joint) value(z []float64) float64 {
	w := z[j.messages:]
	total := 0.0
	for _, x := range w {
		total += j.l2 / 2 * x * x
	}
	for i, u := range j.units {
		y := make([]float64, u.entries)
		j.logits(u, y, z[j.at[i]:], w)
		u.terms(func(c float64, at, n int, _ float64, _ func(int) []int) {
			// Messages cancel in ⟨θ, w⟩, as the labels of edges are those of nodes.
			label := 0.0
			for k := at; k < at+n; k++ {
				if u.labels[k] > 0 {
					label += u.labels[k] * y[k]
				}
			}
			for k := at; k < at+n; k++ {
				y[k] = (y[k] - label) / c
			}
			total += u.weight * c * logSumExp(y[at:at+n])
		})
	}
	if math.IsNaN(total) {
		return math.Inf(1)
	}
	return total
}

// expand implements objective.
func (j *joint) expand(z []float64) (float64, []float64, *mat.SymDense, []float64) {
	size, w := j.size(), z[j.messages:]
	g, scale, h := make([]float64, size), make([]float64, size), mat.NewSymDense(size, nil)
	raw := h.RawSymmetric() // the upper triangle
	for i, x := range w {
		g[j.messages+i] = j.l2 * x
		scale[j.messages+i] = j.l2
		raw.Data[(j.messages+i)*(raw.Stride+1)] = j.l2
	}
	total := j.value(z)
	var at []int
	var value []float64
	mean, touched := make([]float64, size), []int{}
	for i, u := range j.units {
		p := make([]float64, u.entries)
		j.logits(u, p, z[j.at[i]:], w)
		u.terms(func(c float64, first, n int, sign float64, messages func(int) []int) {
			for k := first; k < first+n; k++ {
				p[k] /= c
			}
			softmax(p[first : first+n])
			touched = touched[:0]
			for k := range n {
				at, value = at[:0], value[:0]
				for _, m := range messages(k) {
					at, value = append(at, j.at[i]+m), append(value, sign)
				}
				r := &u.rows[first+k]
				for l, x := range r.at {
					at, value = append(at, j.messages+int(x)), append(value, r.value[l])
				}
				prob := p[first+k]
				near := (1-mixed)*prob + mixed/float64(n)
				for l, x := range at {
					g[x] += u.weight * (prob - u.labels[first+k]) * value[l]
					scale[x] += u.weight / c * near * (1 - near) * value[l] * value[l]
					if mean[x] == 0 {
						touched = append(touched, x)
					}
					mean[x] += prob * value[l]
				}
				addOuter(raw, at, value, u.weight/c*prob)
			}
			value = value[:0]
			slices.Sort(touched)
			touched = slices.Compact(touched)
			for _, x := range touched {
				value = append(value, mean[x])
				mean[x] = 0
			}
			addOuter(raw, touched, value, -u.weight/c)
		})
	}
	return total, g, h, scale
}

// addOuter adds factor · value valueᵀ at some rows and columns of an upper triangle.
func addOuter(h blas64.Symmetric, at []int, value []float64, factor float64) {
	for a, p := range at {
		for b, q := range at {
			if q >= p {
				h.Data[p*h.Stride+q] += factor * value[a] * value[b]
			}
		}
	}
}

// dualOf is the dual value (7) of one unit at given weights, as a function of its messages.
type dualOf struct {
	*joint
	weights []float64
}

func (d dualOf) size() int { return d.messages }

// whole returns the point of the joint objective.
func (d dualOf) whole(z []float64) []float64 { return slices.Concat(z, d.weights) }

// value implements objective.
func (d dualOf) value(z []float64) float64 { return d.joint.value(d.whole(z)) }

// expand implements objective.
func (d dualOf) expand(z []float64) (float64, []float64, *mat.SymDense, []float64) {
	value, g, h, scale := d.joint.expand(d.whole(z))
	n := d.messages
	return value, g[:n], h.SliceSym(0, n).(*mat.SymDense), scale[:n]
}
