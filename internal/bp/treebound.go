package bp

import (
	"math"

	"github.com/blockbp/blockbp/internal/partition"
)

// TreeBound returns the tree-reweighted upper bound on log Z that any messages
// give (Wainwright, Jaakkola and Willsky 2005):
//
//	D(λ) = Σ_t w_t A_t(θ̂),   θ̂_s = θ_s + Σ_v λ_vs,   θ̂_uv = (θ_uv − λ_uv − λ_vu)/μ_uv on the edges of forest t,
//
// A_t being the exact log-partition function on forest t, w_t its weight and μ the
// sum of the weights of the forests that have the edge: the θ̂ of all forests average
// to θ, and the log-partition function is convex. At the fixed point D equals the free energy.
// The block must be the whole network, with no node observed. Where no
// Counting.Forests were kept the bound is +Inf.
func (w *Workspace) TreeBound(net *Net, st *State, block *partition.Block) float64 {
	if len(net.Counting.Forests) == 0 {
		return math.Inf(1)
	}
	b := &treeBound{w: w, net: net, position: make([]int32, net.Graph.NumEdges()), inForest: make([]bool, net.Graph.NumEdges())}
	for q, e := range block.Edges {
		b.position[e] = int32(q)
	}
	b.reparametriseNodes(st, block)
	total := 0.0
	for i, forest := range net.Counting.Forests {
		total += net.Counting.ForestWeights[i] * b.logPartition(st, forest)
	}
	return total
}

// treeBound is the scratch of TreeBound.
type treeBound struct {
	w        *Workspace
	net      *Net
	position []int32 // [edges] place in the block
	inForest []bool  // [edges]
	node     [][]float64
	sum      [][]float64 // node plus the messages from the children in this forest
}

// reparametriseNodes computes θ̂_s.
func (b *treeBound) reparametriseNodes(st *State, block *partition.Block) {
	net, pot := b.net, &b.w.Potentials
	n := net.Graph.NumNodes()
	b.node, b.sum = make([][]float64, n), make([][]float64, n)
	for p, s := range block.Nodes {
		theta := append([]float64(nil), pot.Node[pot.NodeAt[p]:pot.NodeAt[p+1]]...)
		for _, d := range net.Graph.Incoming(s) {
			for x, m := range net.message(st, d, s) {
				theta[x] += net.Counting.Edge[d>>1] * m
			}
		}
		b.node[s], b.sum[s] = theta, make([]float64, len(theta))
	}
}

// logPartition sums the forest's joint states exactly, from the leaves to the
// root of each tree.
func (b *treeBound) logPartition(st *State, forest []int32) float64 {
	clear(b.inForest)
	for _, e := range forest {
		b.inForest[e] = true
	}
	order, parent := b.breadthFirst()
	for s := range b.node {
		copy(b.sum[s], b.node[s])
	}
	total := 0.0
	for i := len(order) - 1; i >= 0; i-- {
		s := order[i]
		d := parent[s]
		if d < 0 {
			total += softMax(b.sum[s], 1)
			continue
		}
		b.send(st, s, d^1)
	}
	return total
}

// breadthFirst orders the nodes so that parents precede children; parent[s] is
// the directed edge from the parent into s, −1 at roots.
func (b *treeBound) breadthFirst() (order, parent []int32) {
	g := b.net.Graph
	parent = make([]int32, g.NumNodes())
	seen := make([]bool, g.NumNodes())
	for root := range int32(g.NumNodes()) {
		if seen[root] {
			continue
		}
		seen[root], parent[root] = true, -1
		order = append(order, root)
		for head := len(order) - 1; head < len(order); head++ {
			for _, d := range g.Incoming(order[head]) {
				if t := g.Source(d); b.inForest[d>>1] && !seen[t] {
					seen[t], parent[t] = true, d^1
					order = append(order, t)
				}
			}
		}
	}
	return order, parent
}

// send adds log Σ_{x_s} exp(sum_s + θ̂_edge), over the states of s, to its parent;
// d is the directed edge from s to the parent.
func (b *treeBound) send(st *State, s, d int32) {
	net := b.net
	t := net.Graph.Target(d)
	q := int32(b.position[d>>1])
	shift := b.w.form(q).shift
	own, other := net.message(st, d^1, s), net.message(st, d, t)
	from, to := b.sum[s], b.sum[t]
	terms := make([]float64, len(from))
	for x := range to {
		for y := range from {
			// θ/ρ − λ/ρ: the table and the messages are divided by ρ = μ already. A
			// message of −Inf proves its state impossible.
			terms[y] = math.Inf(-1)
			if !isForbidden(own[y]) && !isForbidden(other[x]) {
				terms[y] = from[y] + b.w.logAt(q, jointIndex(d, y, x, len(from), len(to))) + shift - own[y] - other[x]
			}
		}
		to[x] += softMax(terms, 1)
	}
}
