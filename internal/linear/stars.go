package linear

import (
	"math"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/simd"
)

// Stars adds up a Hessian of stars: of nodes that answer, with the messages along their edges, while their neighbours
// hold their beliefs,
//
//	Σ_s J_sᵀ √τ_s Q_s⁻¹ √τ_s J_s + Σ_uv M_uv Cov⊥(τ_uv) M_uvᵀ / ρ_uv,   Q_s = c_s I + Σ_v ρ_sv S_sv
//
// where M_uv has the features of an edge. Q_s is the block of s in the Q of Response, and S_sv what an edge has of it:
// I where its ends are independent, so that Q_s = ρ_s I.
//
// A function φ of the states of an edge is, under its belief, the sum of one of each end and a rest without covariance
// to either: φ = a + b + φ⊥. Adding a and b to the potentials of the ends is the same as adding them to that of the
// edge. So J_s, from all weights to the potential of s, has the node's features and the answers a (Coupling) to those
// of its edges, and the rest alone moves τ_uv where τ_u and τ_v are held.
type Stars struct {
	model         *crf.Model
	size          int // weights
	states, joint int // the most states of a node, and of both ends of an edge
	lo, hi        int // the rows that are added up
	edgesTogether int // how many there is room for
	damping       float64

	// batch are the records at hand, which roots [batch][states][size] and rests [batch][joint states²] are made of.
	batch        [][]float64
	roots, rests []float64
	workers      []starWorker
}

// starWorker is the scratch of one thread.
type starWorker struct {
	coupling Coupling
	// root [states] is √τ_s, q [states][states] Q of a node, and mean [size] that of J_s.
	root, q, mean []float64
	// columns [roots][rowsOfPart] and rows [roots][size] are parts of the roots, and sum [rowsOfPart][size]
	// of their products.
	columns, rows, sum []float64
}

const (
	// RecordsTogether are added up together, and rowsOfPart is how many rows of H one thread adds up at a time: only the
	// columns up to the last of them are wanted.
	RecordsTogether = 32
	rowsOfPart      = 64
	// leastCovariance is the least τ(1 − τ) with which a state counts.
	leastCovariance = 1e-7
	// restsTogether bounds the numbers in covariances of edges that are added up together.
	restsTogether = 1 << 17
)

// NewStars returns one that adds up the rows from lo to hi on so many threads.
func NewStars(m *crf.Model, lo, hi, threads int) *Stars {
	c := &Stars{model: m, size: m.Layout.Size, lo: lo, hi: hi}
	for _, span := range m.Layout.Node {
		c.states = max(c.states, span.States)
	}
	for _, span := range m.Layout.Edge {
		c.joint = max(c.joint, span.States)
	}
	n := RecordsTogether * c.states
	c.edgesTogether = max(1, min(RecordsTogether, restsTogether/max(1, c.joint*c.joint)))
	c.roots, c.rests = make([]float64, n*c.size), make([]float64, c.edgesTogether*c.joint*c.joint)
	c.workers = make([]starWorker, threads)
	for i := range c.workers {
		w := &c.workers[i]
		w.root, w.mean = make([]float64, c.states), make([]float64, c.size)
		w.columns, w.rows, w.sum = make([]float64, n*rowsOfPart), make([]float64, n*c.size),
			make([]float64, rowsOfPart*c.size)
	}
	return c
}

// Add adds what records of nodes and of edges, one behind the other, contribute to the rows from lo to hi of dst
// [size*size], in the lower triangle. A record begins with its length. That of a node goes on with its type, weight,
// c_s, ρ_s, number of edges, features and belief, and for each edge its type, whether the node is V, ρ_uv, features and
// belief. That of an edge goes on with its type, weight, features and belief.
func (c *Stars) Add(dst, nodes, edges []float64, each parallel.Loop) {
	c.inBatches(each, RecordsTogether, nodes, c.star, func(w *starWorker, lo, hi int) { c.addProducts(dst, w, lo, hi) })
	c.inBatches(each, c.edgesTogether, edges, c.rest, func(_ *starWorker, lo, hi int) { c.addRests(dst, lo, hi) })
}

// take cuts n numbers off the front.
func take(x *[]float64, n int) []float64 {
	front := (*x)[:n]
	*x = (*x)[n:]
	return front
}

// inBatches prepares some records at a time, and adds them to rows of H.
func (c *Stars) inBatches(each parallel.Loop, most int, records []float64,
	prepare func(w *starWorker, i int, record []float64), add func(w *starWorker, lo, hi int),
) {
	for len(records) > 0 {
		c.batch = c.batch[:0]
		for len(records) > 0 && len(c.batch) < most {
			n := int(records[0])
			c.batch, records = append(c.batch, records[1:n]), records[n:]
		}
		each(len(c.batch), func(worker, i int) { prepare(&c.workers[worker], i, c.batch[i]) })
		parts := (c.hi - c.lo + rowsOfPart - 1) / rowsOfPart
		each(parts, func(worker, i int) { // those with long rows come first
			lo := c.lo + (parts-1-i)*rowsOfPart
			add(&c.workers[worker], lo, min(c.hi, lo+rowsOfPart))
		})
	}
}

// star writes the roots of J_sᵀ √τ Q⁻¹ √τ J_s, one for each state, of the i-th record at hand, a node.
func (c *Stars) star(w *starWorker, i int, record []float64) {
	n := c.states * c.size
	roots := c.roots[i*n:][:n] // J_sᵀ at first
	clear(roots)
	head := take(&record, 5)
	span := &c.model.Layout.Node[int(head[0])]
	k := span.States
	for j, x := range take(&record, span.Features) {
		for y := range k {
			roots[y*c.size+span.At+j*k+y] = x
		}
	}
	belief := take(&record, k)
	w.q = numeric.Resize(w.q, k*k)
	clear(w.q)
	for x, p := range belief {
		w.root[x], w.q[x*k+x] = math.Sqrt(p), head[2]
		if !(p*(1-p) > leastCovariance) {
			w.root[x] = 0
		}
	}
	for range int(head[4]) {
		of := take(&record, 3)
		b := int(of[0])
		edge, feature := &c.model.Layout.Edge[b], take(&record, c.model.Layout.Edge[b].Features)
		ku, kv := c.model.Schema.EdgeStates(b)
		w.coupling.Of(take(&record, edge.States), ku, kv, c.damping)
		from := int(of[1]) * ku
		for j, x := range feature {
			for y := 0; y < k && x != 0; y++ {
				for z := range edge.States {
					roots[y*c.size+edge.At+j*edge.States+z] += x * w.coupling.Parts[z*(ku+kv)+from+y]
				}
			}
		}
		w.addToStar(k, from, of[2])
	}
	w.solveStar(roots[:k*c.size], belief, head[1], head[3])
}

// addToStar adds an edge, the one at hand, to the Q of one of its ends, of k states.
func (w *starWorker) addToStar(k, from int, rho float64) {
	n := w.coupling.KU + w.coupling.KV
	for x, p := range w.root[:k] {
		for y, q := range w.root[:x+1] {
			w.q[x*k+y] += rho * p * q * w.coupling.Inverse[(from+x)*n+from+y]
		}
	}
}

// solveStar turns J_sᵀ into the roots. States that do not count have zeros. Where messages are so far from settled that
// Q has no factor, it is taken for ρ_s I.
func (w *starWorker) solveStar(roots, belief []float64, scale, rho float64) {
	k := len(belief)
	size := len(roots) / k
	clear(w.mean)
	for x, p := range belief {
		simd.AddScaled(w.mean, roots[x*size:][:size], p)
		if w.root[x] == 0 {
			w.q[x*k+x] = 1
		}
	}
	if !Factorise(w.q, k, parallel.Serially) {
		clear(w.q)
		for x := range k {
			w.q[x*k+x] = math.Sqrt(rho)
		}
	}
	for x := range k {
		row, s := roots[x*size:][:size], math.Sqrt(scale)*w.root[x]
		for i, mean := range w.mean {
			row[i] = s * (row[i] - mean)
		}
		for y, l := range w.q[x*k:][:x] {
			simd.AddScaled(row, roots[y*size:][:size], -l)
		}
		for i := range row {
			row[i] /= w.q[x*k+x]
		}
	}
}

// addProducts adds the products of all roots to some rows of dst.
func (c *Stars) addProducts(dst []float64, w *starWorker, lo, hi int) {
	n, height := len(c.batch)*c.states, hi-lo
	for i := range n {
		root := c.roots[i*c.size:][:c.size]
		copy(w.columns[i*height:][:height], root[lo:])
		copy(w.rows[i*hi:][:hi], root)
	}
	sum := w.sum[:height*hi]
	clear(sum)
	simd.ScatterMatrix(sum, w.columns, w.rows, n, height, hi)
	for i := range height {
		simd.AddScaled(dst[(lo+i)*c.size:][:hi], sum[i*hi:], 1)
	}
}

// rest writes Cov⊥(τ_uv), scaled, of the i-th record at hand, an edge.
func (c *Stars) rest(w *starWorker, i int, record []float64) {
	b := int(record[0])
	span := &c.model.Layout.Edge[b]
	ku, kv := c.model.Schema.EdgeStates(b)
	w.coupling.Of(record[2+span.Features:], ku, kv, c.damping)
	rests := c.rests[i*c.joint*c.joint:]
	for x := range span.States {
		for y, rest := range w.coupling.Rest(x) {
			rests[x*span.States+y] = record[1] * rest
		}
	}
}

// addRests adds those of the edges at hand, times the products of their features, to some rows of dst.
func (c *Stars) addRests(dst []float64, lo, hi int) {
	for i, record := range c.batch {
		span := &c.model.Layout.Edge[int(record[0])]
		n, feature := span.States, record[2:][:span.Features]
		for r := max(lo, span.At); r < min(hi, span.At+span.Len); r++ {
			j, x := (r-span.At)/n, (r-span.At)%n
			for k, y := range feature[:j+1] {
				if scale := feature[j] * y; scale != 0 {
					simd.AddScaled(dst[r*c.size+span.At+k*n:][:n], c.rests[i*c.joint*c.joint+x*n:][:n], scale)
				}
			}
		}
	}
}
