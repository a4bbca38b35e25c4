package infer

import (
	"math"
	"math/rand/v2"

	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/gibbs"
	"github.com/blockbp/blockbp/mrf"
)

// forest draws independent joint states of a network without cycles: sums are
// passed from the leaves to the roots once (forward filtering), and a draw goes
// from the roots to the leaves (backward sampling).
type forest struct {
	p *mrf.Pairwise
	// logZ is the log-partition function.
	logZ float64
	// order lists every node after its parent, and up [nodes] is the directed edge
	// from the node to its parent, −1 at a root.
	order, up []int32
	// cumulative holds, for node s, from rowsAt[s] a row for each state of its parent, one
	// for a root: the sums of the weights of its states up to each.
	cumulative []float64
	rowsAt     []int // [nodes]
}

// newForest filters. The graph must be a forest; impossible networks are a
// *zeroError.
func newForest(p *mrf.Pairwise) (*forest, error) {
	if err := checkPotentials(p); err != nil {
		return nil, err
	}
	f := &forest{p: p, logZ: p.Constant, rowsAt: make([]int, len(p.Card))}
	f.orient()
	size := 0
	for _, s := range f.order {
		f.rowsAt[s] = size
		size += f.rows(s) * int(p.Card[s])
	}
	f.cumulative = make([]float64, size)
	inner := append([]float64(nil), p.Node...) // potentials plus the messages of the children
	for i := len(f.order) - 1; i >= 0; i-- {
		s := f.order[i]
		if err := f.filter(inner, s); err != nil {
			return nil, err
		}
	}
	if math.IsNaN(f.logZ) || math.IsInf(f.logZ, 0) {
		return nil, tooLarge(f.logZ)
	}
	return f, nil
}

// orient directs every edge to the smallest node of its component.
func (f *forest) orient() {
	g := f.p.Graph
	f.up = make([]int32, len(f.p.Card))
	seen := make([]bool, len(f.p.Card))
	for root := range int32(len(seen)) {
		if seen[root] {
			continue
		}
		head := len(f.order)
		f.order, f.up[root], seen[root] = append(f.order, root), -1, true
		for ; head < len(f.order); head++ {
			for _, in := range g.Incoming(f.order[head]) {
				if t := g.Source(in); !seen[t] {
					f.order, f.up[t], seen[t] = append(f.order, t), in, true
				}
			}
		}
	}
}

// rows is the number of conditional distributions of node s.
func (f *forest) rows(s int32) int {
	if f.up[s] < 0 {
		return 1
	}
	return int(f.p.Card[f.p.Graph.Target(f.up[s])])
}

// filter computes the conditional distributions of s given its parent from what
// its children have added to inner, and adds their sums to the parent's, equation
// (12) of docs/explanation/equations.md:
//
//	m_s(j) = log Σ_i exp(θ_s(i) + Σ_children m_c(i) + θ_s,parent(i, j))
func (f *forest) filter(inner []float64, s int32) error {
	p, k, d := f.p, int(f.p.Card[s]), f.up[s]
	own := inner[p.NodeAt[s]:p.NodeAt[s+1]]
	row := f.cumulative[f.rowsAt[s]:]
	if d < 0 {
		copy(row, own)
		message := gibbs.Accumulate(row[:k])
		if math.IsInf(message, -1) {
			return &zeroError{&bp.NumericalError{Node: s, Edge: -1, Reason: "it has no possible state"}}
		}
		f.logZ += message
		return nil
	}
	target := p.Graph.Target(d)
	table := p.Edge[p.EdgeAt[d>>1]:p.EdgeAt[d>>1+1]]
	stepOwn, stepTarget := int(p.Card[target]), 1
	if d&1 != 0 { // s is V
		stepOwn, stepTarget = 1, k
	}
	for j := range int(p.Card[target]) {
		for i, x := range own {
			row[i] = x + table[i*stepOwn+j*stepTarget]
		}
		inner[p.NodeAt[target]+j] += gibbs.Accumulate(row[:k])
		row = row[k:]
	}
	return nil
}

// draw fills x [nodes] with an independent draw.
func (f *forest) draw(x []int32, rng *rand.Rand) {
	for _, s := range f.order {
		k, given := int(f.p.Card[s]), 0
		if d := f.up[s]; d >= 0 {
			given = int(x[f.p.Graph.Target(d)])
		}
		x[s] = gibbs.Pick(f.cumulative[f.rowsAt[s]+given*k:][:k], rng)
	}
}
