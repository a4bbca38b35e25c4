package local

import (
	"context"
	"math"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/lbfgs"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/simd"
)

// Bonds decides which edges stay of networks on one graph, each edge of which has a table of its own. Along a path of
// falling λ it minimises
//
//	L(θ) + λ Σ_e √d_e ‖J_e‖,
//
// L being the pseudo-likelihood with its ridge, J_e the table of edge e without what is a field of its ends, and d_e
// how many of its entries are free (group lasso, Yuan and Lin 2006). An edge stays if its J is not zero where
//
//	2κN L(θ_A) + 2 Σ_{e∈A} d_e (log N + 2γ log(n − 1))
//
// is smallest, θ_A being the minimum of L with the edges A of that λ alone, without a penalty. That is the sum over the
// n nodes of the extended BIC of their conditionals (Chen and Chen 2008), in which an edge counts at both of its ends.
// Where values are filled in, κ is the share of pairs of values that are not: others tell nothing of an edge.
type Bonds struct {
	Model     *crf.Model
	Data      []*crf.Instance
	L2, Total float64 // as in Objective
	Gamma     float64
	Threads   int

	objective         *Objective
	weights, gradient []float64 // at the λ at hand; tables are J
	groups            []group   // [edges]
	curvature         float64   // the largest that steps have met
	known             float64   // share of pairs of values that were not filled in
}

// group is the table of an edge.
type group struct {
	at, rows, columns int     // of its weights
	free              float64 // d_e; 0: one of its ends is always in one state
	slope             float64 // ‖∂L/∂J_e‖
}

// scale is √d_e, infinite where nothing is free.
func (g *group) scale() float64 {
	if g.free == 0 {
		return math.Inf(1)
	}
	return math.Sqrt(g.free)
}

func (g *group) of(weights []float64) []float64 { return weights[g.at:][:g.rows*g.columns] }

const (
	// pathStep is from one λ to the next, and shortestPath how far they go down from where the first edge appears.
	pathStep, shortestPath = 0.9, 0.01
	// patience is for how many more sets of edges the criterion may be above its least.
	patience = 6
	// conditionsMet is by how much of λ the conditions of a minimum may be missed, after at most mostSteps.
	conditionsMet, mostSteps = 0.005, 2000
	// firstCurvature is that before any is known: half of what it is along the field of a node of two states.
	firstCurvature = 0.25
)

// Bytes is about what Choose takes.
func (b *Bonds) Bytes() float64 {
	const double, vectors = 8, 2*lbfgs.Kept + 19 // of all weights: pairs, and those of Bonds, an objective, and steps
	return double * vectors * float64(b.Model.Layout.Size)
}

// fitted is a set of edges with the weights that minimise L, and its criterion.
type fitted struct {
	edges     []int32
	weights   []float64
	criterion float64
}

// Choose finds the edges that stay, and λ. The path begins with the nodes alone, and goes on at the λ where the first
// edge appears. A penalty shrinks couplings, and so brings in edges that strong ones explain before weak ones. So from
// the best set of the path on, while the criterion falls, others come in, the steepest first, and then the weakest go.
func (b *Bonds) Choose(ctx context.Context) (edges []int32, lambda float64, err error) {
	b.begin()
	defer b.objective.Close()
	if err := b.fill(ctx); err != nil {
		return nil, 0, err
	}
	best, lambda, err := b.path(ctx)
	if err != nil {
		return nil, 0, err
	}
	for _, more := range []bool{true, false} {
		at := best
		for idle := 0; idle < patience; idle++ {
			if at, err = b.neighbour(ctx, at, more); err != nil {
				return nil, 0, err
			} else if at == nil {
				break
			} else if at.criterion < best.criterion {
				best, idle = at, -1
			}
		}
	}
	return best.edges, lambda, nil
}

// path returns the best set of it, and λ there.
func (b *Bonds) path(ctx context.Context) (best *fitted, lambda float64, err error) {
	if best, err = b.criterion(ctx, nil, b.weights); err != nil {
		return nil, 0, err
	}
	if b.slopes(ctx); ctx.Err() != nil {
		return nil, 0, ctx.Err()
	}
	first, last := 0.0, best
	for _, g := range b.groups {
		first = max(first, g.slope/g.scale())
	}
	lambda = first
	for at, idle := first*pathStep, 0; idle < patience && at > shortestPath*first; at *= pathStep {
		active, err := b.shrink(ctx, at)
		if err != nil {
			return nil, 0, err
		}
		if slices.Equal(active, last.edges) {
			continue
		}
		if last, err = b.criterion(ctx, active, slices.Clone(b.weights)); err != nil {
			return nil, 0, err
		}
		if idle++; last.criterion < best.criterion {
			idle, best, lambda = 0, last, at
		}
	}
	return best, lambda, nil
}

// neighbour is a set with the edge along which L is steepest, or one without the weakest edge, nil where there is none.
func (b *Bonds) neighbour(ctx context.Context, from *fitted, more bool) (*fitted, error) {
	if copy(b.weights, from.weights); more {
		b.slopes(ctx)
	}
	chosen, most := int32(-1), math.Inf(-1)
	for e, g := range b.groups {
		size := g.slope
		if !more {
			g.centre(b.objective, b.weights)
			size = -numeric.Norm(g.of(b.weights))
		}
		if size /= g.scale(); size > most && g.free > 0 && slices.Contains(from.edges, int32(e)) != more {
			chosen, most = int32(e), size
		}
	}
	if chosen < 0 {
		return nil, nil
	}
	weights, edges := slices.Clone(from.weights), slices.Clone(from.edges)
	clear(b.groups[chosen].of(weights))
	at, _ := slices.BinarySearch(edges, chosen)
	if more {
		edges = slices.Insert(edges, at, chosen)
	} else {
		edges = slices.Delete(edges, at, at+1)
	}
	return b.criterion(ctx, edges, weights)
}

// begin makes the problem with all edges.
func (b *Bonds) begin() {
	size, in := b.Model.Layout.Size, b.Data[0]
	seen, known := statesSeen(b.Data)
	b.known = known * known
	b.weights, b.gradient = make([]float64, size), make([]float64, size)
	b.groups, b.curvature = nil, firstCurvature
	b.objective = &Objective{Kind: Pseudo, Model: b.Model, Data: b.Data, L2: b.L2, Total: b.Total,
		Skipped: make([]bool, in.Graph.NumEdges())}
	b.objective.Allocate(b.Threads)
	for e := range int32(in.Graph.NumEdges()) {
		u, v, span := in.Graph.U(e), in.Graph.V(e), &b.Model.Layout.Edge[in.EdgeType(e)]
		g := group{at: span.At + in.EdgeRow(e)*span.Copy(), rows: in.States(u), columns: in.States(v),
			free: (seen[u] - 1) * (seen[v] - 1)}
		if most := max(seen[u], seen[v]); b.Model.Schema.EdgeTypes[in.EdgeType(e)].Symmetric && g.free > 0 {
			g.free = most * (most - 1) / 2
		}
		b.groups = append(b.groups, g)
	}
}

// statesSeen counts, of each node, the states that samples have, and returns the share of values that are known.
func statesSeen(data []*crf.Instance) (count []float64, known float64) {
	count = make([]float64, data[0].Graph.NumNodes())
	all := 0.0
	for s := range count {
		seen := map[int32]float64{}
		for _, in := range data {
			for i, labels := range in.Samples() {
				weight := in.Weight() * in.SampleWeight(i)
				seen[labels[s]] += weight
				all += weight
			}
		}
		known -= seen[crf.Unobserved]
		delete(seen, crf.Unobserved)
		count[s] = float64(max(1, len(seen)))
	}
	return count, 1 + known/all
}

// only makes L that of some edges alone: other tables must be zero.
func (b *Bonds) only(edges []int32) {
	numeric.Fill(b.objective.Skipped, true)
	for _, e := range edges {
		b.objective.Skipped[e] = false
	}
}

// slopes finds how steep L is along every J.
func (b *Bonds) slopes(ctx context.Context) {
	clear(b.objective.Skipped)
	b.objective.Evaluate(ctx, b.gradient, b.weights)
	for i := range b.groups {
		g := &b.groups[i]
		g.centre(b.objective, b.gradient)
		g.slope = numeric.Norm(g.of(b.gradient))
	}
}

// centre takes the means of rows and columns out of the table.
func (g *group) centre(o *Objective, weights []float64) {
	table := g.of(weights)
	rows, columns, mean := o.sumsOf(table, g.columns)
	for i, x := range rows {
		for j, y := range columns {
			table[i*g.columns+j] -= x/float64(g.columns) + y/float64(g.rows) - mean
		}
	}
}

// shrink finds the minimum at λ, and the edges whose J is not zero there. At first there are those that the minimum
// at the λ before has, or that its slopes bring in; others, which conditions of the minimum are missed without, follow.
func (b *Bonds) shrink(ctx context.Context, lambda float64) (active []int32, err error) {
	working := make([]bool, len(b.groups))
	for more := true; more; {
		more, active = false, nil
		for e, g := range b.groups {
			if !working[e] && (b.stays(g) || g.slope > (1+conditionsMet)*lambda*g.scale()) {
				working[e], more = true, true
			}
			if working[e] {
				active = append(active, int32(e))
			}
		}
		if !more {
			break
		}
		if err := b.descend(ctx, lambda, active); err != nil {
			return nil, err
		}
		b.slopes(ctx)
	}
	return slices.DeleteFunc(active, func(e int32) bool { return !b.stays(b.groups[e]) }), nil
}

// stays reports whether J of an edge is not zero.
func (b *Bonds) stays(g group) bool {
	return slices.ContainsFunc(g.of(b.weights), func(x float64) bool { return x != 0 })
}

// criterion fits the edges without a penalty, from weights of these edges alone, for the extended BIC.
func (b *Bonds) criterion(ctx context.Context, edges []int32, weights []float64) (*fitted, error) {
	b.only(edges)
	free := 0.0
	for _, e := range edges {
		free += b.groups[e].free
	}
	value, err := b.objective.Minimise(ctx, weights)
	fit := value - b.L2/2*simd.Dot(weights, weights)
	samples, others := math.Log(max(1, b.Total)), math.Log(float64(b.Data[0].Graph.NumNodes()-1))
	return &fitted{edges, weights, 2*b.Total*b.known*fit + 2*free*(samples+2*b.Gamma*others)}, err
}

// fill fills hidden labels in as the minimum with all edges has them, as learning does: conditionals that leave a
// hidden neighbour out would find edges between those that it joins.
func (b *Bonds) fill(ctx context.Context) error {
	weights := make([]float64, len(b.weights))
	for {
		again, err := b.objective.Fill(weights)
		if err != nil || !again {
			return err
		}
		if _, err := b.objective.Minimise(ctx, weights); err != nil {
			return err
		}
	}
}

// descend minimises L + λ Σ √d_e ‖J_e‖ over some edges by accelerated proximal steps (Beck and Teboulle 2009), which
// begin anew where momentum leads up (O'Donoghue and Candès 2015), or where there is more curvature than was known. By
// how much the conditions of the minimum are missed says the gradient that a step of such a length comes from.
func (b *Bonds) descend(ctx context.Context, lambda float64, edges []int32) error {
	next := func() []float64 { return make([]float64, len(b.weights)) }
	at, slope, to, lastAt, lastSlope := slices.Clone(b.weights), b.gradient, next(), next(), next()
	b.only(edges)
	momentum := 1.0
	for i := range mostSteps {
		b.objective.Evaluate(ctx, slope, at)
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, e := range edges {
			b.groups[e].centre(b.objective, slope)
		}
		along, square, moved, up := 0.0, 0.0, 0.0, 0.0
		for j, g := range slope {
			along += (g - lastSlope[j]) * (at[j] - lastAt[j])
			square += (g - lastSlope[j]) * (g - lastSlope[j])
		}
		if i > 0 && along > 0 && square > b.curvature*along {
			b.curvature, momentum = square/along, 1
		}
		b.step(to, at, slope, lambda)
		copy(lastAt, at)
		copy(lastSlope, slope)
		for j, x := range to {
			moved += (at[j] - x) * (at[j] - x)
			up += (at[j] - x) * (x - b.weights[j])
		}
		if up > 0 {
			momentum = 1
		}
		further := (1 + math.Sqrt(1+4*momentum*momentum)) / 2
		for j, x := range to {
			at[j] = x + (momentum-1)/further*(x-b.weights[j])
		}
		copy(b.weights, to)
		momentum = further
		if b.curvature*math.Sqrt(moved) <= conditionsMet*lambda {
			break
		}
	}
	return nil
}

// step writes the minimum of λ Σ √d_e ‖J_e‖ and of L as it seems from a place, with the curvature that is known.
func (b *Bonds) step(to, at, slope []float64, lambda float64) {
	for i, g := range slope {
		to[i] = at[i] - g/b.curvature
	}
	for _, g := range b.groups {
		table := g.of(to)
		keep := max(0, 1-lambda*g.scale()/b.curvature/numeric.Norm(table))
		for i := range table {
			table[i] *= keep
		}
	}
}
