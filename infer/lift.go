package infer

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/mrf"
)

// lifted is belief propagation between classes of nodes that say the same (Singla and Domingos 2008; Kersting, Ahmadi
// and Natarajan 2009): as few as possible, so that those of a class have the same table and counting number and, of
// each kind of edges, as many from each class (colour refinement).
type lifted struct {
	*mrf.Pairwise
	kind    []uint64  // [directed edges] hash of the table, its source's states slow, and the counting number
	class   []int32   // [nodes]
	nodes   [][]int32 // [classes] with some that have left for another
	size    []int     // [classes] without these
	arrived []uint64  // [nodes] Σ of the kinds of edges from the class that splits the others
	edges   map[[3]uint64]*liftedEdge
	into    [][]*liftedEdge // [classes]
	belief  [][]float64     // [classes] log τ_s, up to a constant at the beginning
}

// liftedEdge is a class of directed edges.
type liftedEdge struct {
	d          int32     // one of them
	times, rho float64   // how many its target has, and c_uv
	message    []float64 // λ/ρ
}

// lift is propagate on classes of nodes. It returns nil where there are more than half as many as nodes, and where hard
// zeros leave a node no state, or sums overflow, of which propagate knows what to say.
//
// Tree-reweighted numbers are drawn, so that edges of a class differ: all get the least, as what is below the averages
// of spanning forests is one of forests.
func lift(ctx context.Context, p *mrf.Pairwise, numbers *counting.Numbers, limits Limits) (*fixedPoint, error) {
	by := numbers
	if numbers.Name == "trw" {
		by = &counting.Numbers{Node: slices.Repeat([]float64{1}, len(p.Card)), Edge: make([]float64, len(numbers.Edge))}
	}
	l := refine(p, by)
	if 2*len(l.nodes) > len(p.Card) {
		return nil, nil
	}
	l.layOut(numbers.Edge)
	if by != numbers {
		for d := range int32(len(l.kind)) {
			e := l.edges[l.key(d)]
			e.rho = min(e.rho, numbers.Edge[d>>1])
		}
		for e := range by.Edge {
			by.Edge[e] = l.edges[l.key(int32(2*e))].rho
			by.Node[p.Graph.U(int32(e))] -= by.Edge[e]
			by.Node[p.Graph.V(int32(e))] -= by.Edge[e]
		}
		even, err := counting.New("trw", p.Graph, by.Node, by.Edge)
		if err != nil {
			return nil, err
		}
		even.Prove(p.Graph)
		even.Facts.Convex, even.Facts.Bound, numbers = true, numbers.Facts.Bound, even
	}
	o, logZ, resolved := Outcome{}, 0.0, limits.Resolved()
	for !o.Converged && !math.IsNaN(logZ) && o.Sweeps < resolved.MaxSweeps && ctx.Err() == nil {
		o.Damping = min(0.5, float64(o.Sweeps)/1000) // ever more: some sweeps of all nodes of a class at once circle
		o.Residual, logZ = l.sweep(numbers.Rho, o.Damping)
		o.Sweeps++
		o.Converged = o.Residual <= resolved.Tolerance*(1-o.Damping)
	}
	_, logZ = l.sweep(numbers.Rho, 0) // that of damped messages is off in first order
	if logZ += p.Constant; math.IsNaN(logZ) || math.IsInf(logZ, 0) {
		return nil, nil
	}
	facts := numbers.Facts
	facts.Certified = false // the value is that of a fixed point
	end := &fixedPoint{Result: Result{Method: Propagation, Counting: numbers, Outcome: o, Gap: math.NaN(),
		Stationary: o.Converged && !facts.Convex, Classes: len(l.nodes)}}
	end.LogZ, end.Bound = valueAndBound(facts, bp.Values{FreeEnergy: logZ}, o)
	for _, belief := range l.belief {
		for x, b := range belief {
			belief[x] = math.Exp(b)
		}
	}
	for _, c := range l.class {
		end.Marginals = append(end.Marginals, l.belief[c])
	}
	return end, nil
}

// refine finds the classes, or more than half as many as nodes. Each splits the others by the edges that come from it.
// Of a class that is split the larger part keeps its number: what it would split, its former whole and the other part
// do. So each node is met log n times at most (Cardon and Crochemore 1982).
func refine(p *mrf.Pairwise, numbers *counting.Numbers) *lifted {
	n, m := len(p.Card), p.Graph.NumEdges()
	l := &lifted{Pairwise: p, kind: make([]uint64, 2*m), class: make([]int32, n), nodes: make([][]int32, min(n, 1)),
		size: []int{n}[:min(n, 1)], arrived: make([]uint64, n)}
	for d := range int32(2 * m) {
		l.kind[d] = kindOf(numbers.Edge[d>>1], l.table(d), p.Card[p.Graph.Target(d)])
	}
	for s := range n {
		l.nodes[0] = append(l.nodes[0], int32(s))
		l.arrived[s] = kindOf(numbers.Node[s], p.Node[p.NodeAt[s]:p.NodeAt[s+1]], 1)
	}
	l.split(slices.Concat(l.nodes...))
	for c := 0; c < len(l.nodes) && 2*len(l.nodes) <= n; c++ {
		var reached []int32
		for _, s := range l.members(int32(c)) {
			for _, d := range p.Graph.Incoming(s) {
				t := p.Graph.Source(d)
				if l.arrived[t] == 0 {
					reached = append(reached, t)
				}
				l.arrived[t] += l.kind[d^1]
			}
		}
		l.split(reached)
	}
	return l
}

// kindOf is the same for tables and counts that are in 12 digits, as sums in another order are.
func kindOf(count float64, table []float64, columns int32) uint64 {
	key := make([]byte, 0, 256)
	for _, x := range append([]float64{float64(columns), count}, table...) {
		key = binary.LittleEndian.AppendUint64(key, (math.Float64bits(x+0)+1<<11)>>12) // −0 + 0 is 0
	}
	sum := sha256.Sum256(key)
	return binary.LittleEndian.Uint64(sum[:])
}

// table returns that of a directed edge, the states of its source slow.
func (l *lifted) table(d int32) []float64 {
	table := l.Edge[l.EdgeAt[d>>1]:l.EdgeAt[d>>1+1]]
	if d&1 == 0 {
		return table
	}
	turned, k := make([]float64, len(table)), int(l.Card[l.Graph.Source(d)])
	for i, x := range table {
		turned[i%k*(len(table)/k)+i/k] = x
	}
	return turned
}

// split splits all classes by what has arrived at the nodes that are reached, and forgets it.
func (l *lifted) split(reached []int32) {
	slices.SortFunc(reached, func(a, b int32) int {
		return cmp.Or(cmp.Compare(l.class[a], l.class[b]), cmp.Compare(l.arrived[a], l.arrived[b]), cmp.Compare(a, b))
	})
	for n := 0; len(reached) > 0; reached = reached[n:] {
		c, sum, next := l.class[reached[0]], l.arrived[reached[0]], int32(len(l.nodes))
		for n = 0; n < len(reached) && l.class[reached[n]] == c && l.arrived[reached[n]] == sum; n++ {
			l.arrived[reached[n]] = 0
		}
		part, rest := slices.Clone(reached[:n]), l.size[c]-n
		l.move(part, next)
		if rest < n {
			part, l.nodes[c] = l.members(c), part
			l.move(part, next)
			l.move(l.nodes[c], c)
		}
		if l.size[c] = max(n, rest); len(part) > 0 {
			l.nodes, l.size = append(l.nodes, part), append(l.size, len(part))
		}
	}
}

func (l *lifted) move(nodes []int32, class int32) {
	for _, s := range nodes {
		l.class[s] = class
	}
}

// members forgets those that have left a class.
func (l *lifted) members(c int32) []int32 {
	l.nodes[c] = slices.DeleteFunc(l.nodes[c], func(s int32) bool { return l.class[s] != c })
	return l.nodes[c]
}

// key names the class of a directed edge.
func (l *lifted) key(d int32) [3]uint64 {
	return [3]uint64{uint64(l.class[l.Graph.Target(d)]), l.kind[d], uint64(l.class[l.Graph.Source(d)])}
}

// layOut finds the classes of directed edges, by a node of each class, and makes messages constant.
func (l *lifted) layOut(rho []float64) {
	l.edges, l.into = map[[3]uint64]*liftedEdge{}, make([][]*liftedEdge, len(l.nodes))
	for c := range l.nodes {
		nodes := l.members(int32(c))
		k := l.Card[nodes[0]]
		l.belief = append(l.belief, make([]float64, k))
		for _, d := range l.Graph.Incoming(nodes[0]) {
			e := l.edges[l.key(d)]
			if e == nil {
				e = &liftedEdge{d, 0, rho[d>>1], make([]float64, k)}
				l.edges[l.key(d)], l.into[c] = e, append(l.into[c], e)
			}
			e.times++
		}
	}
}

// sweep computes for each class the messages into it by (5) and then its belief by (4), and returns the largest change
// of a log-message or log-belief, and Σ ρ_s log Z_s + Σ ρ_uv log Z_uv, of what (4) and (6) are before they are
// normalised: the value (2) at a fixed point.
func (l *lifted) sweep(rho []float64, damping float64) (residual, value float64) {
	for c, nodes := range l.nodes {
		s, share := nodes[0], 0.0
		belief := slices.Clone(l.Node[l.NodeAt[s]:l.NodeAt[s+1]])
		for _, e := range l.into[c] {
			cavity := slices.Clone(l.belief[l.class[l.Graph.Source(e.d)]])
			for y, m := range l.edges[l.key(e.d^1)].message {
				cavity[y] -= max(m, -math.MaxFloat64) // with a message −Inf the belief is, too
			}
			table, message, terms := l.table(e.d), make([]float64, len(belief)), make([]float64, len(cavity))
			for x := range message {
				for y, b := range cavity {
					terms[y] = b + table[y*len(message)+x]/e.rho
				}
				message[x] = floats.LogSumExp(terms)
			}
			largest := floats.Max(message) // log Z_uv, as the belief divided by the message of before is a belief
			floats.AddConst(-largest, message)
			for x, m := range message { // −Inf stays −Inf
				message[x] += damping * (max(e.message[x], -math.MaxFloat64) - max(m, -math.MaxFloat64))
			}
			floats.AddScaled(belief, e.times*e.rho, message)
			residual = max(residual, floats.Distance(message, e.message, math.Inf(1)))
			e.message, share = message, share+e.times/2*e.rho*largest
		}
		floats.Scale(1/rho[s], belief)
		logZ := floats.LogSumExp(belief)
		floats.AddConst(-logZ, belief)
		residual = max(residual, floats.Distance(belief, l.belief[c], math.Inf(1)))
		l.belief[c], value = belief, value+float64(len(nodes))*(share+rho[s]*logZ)
	}
	return residual, value
}
