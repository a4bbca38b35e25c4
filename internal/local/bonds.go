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
//	2N L(θ_A) + 2 Σ_{e∈A} d_e (log N + 2γ log(n − 1))
//
// is smallest, θ_A being the minimum of L with the edges A of that λ alone, without a penalty. That is the sum over the
// n nodes of the extended BIC of their conditionals (Chen and Chen 2008), in which an edge counts at both of its ends.
type Bonds struct {
	Model     *crf.Model
	Data      []*crf.Instance
	L2, Total float64 // as in Objective
	Gamma     float64
	Threads   int

	whole             *Objective // with all edges
	weights, gradient []float64  // of all, at the λ at hand; tables are J
	fitted            []float64  // minima without a penalty, of the edges at hand
	groups            []group    // [edges]
	curvature         float64    // the largest that steps have met
	centring          centring
}

// group is the table of an edge.
type group struct {
	at, rows, columns int     // of its weights
	free              float64 // d_e; 0: one of its ends is always in one state
	slope             float64 // ‖∂L/∂J_e‖
}

// Chosen are the edges that stay.
type Chosen struct {
	Edges   []int32
	Penalty float64 // λ
	Points  int     // of the path, up to where the criterion has risen for long
	// Violation is the largest by which a condition of the minimum is missed on the path, relative to its penalty.
	Violation float64
}

const (
	// pathStep is from one λ to the next, and shortestPath how far they go down from where the first edge appears.
	pathStep, shortestPath = 0.9, 0.01
	// patience is for how many more sets of edges the criterion may be above its least.
	patience = 6
	// conditionsMet is by how much of its penalty a condition of the minimum may be missed.
	conditionsMet = 0.01
	// mostSteps bounds those at one λ.
	mostSteps = 2000
	// leastShared is how many products of weights and samples an evaluation has, for threads to share it.
	leastShared = 1 << 24
	// fitEnough is the decrease of N L, in nats, below which a fit without a penalty has ended.
	fitEnough = 0.02
)

// Bytes is about what Choose takes.
func (b *Bonds) Bytes() float64 {
	const double, vectors = 8, 12 // of all weights: those of Bonds, an objective, and steps with some of them
	return double * vectors * float64(b.Model.Layout.Size)
}

// Choose finds them.
func (b *Bonds) Choose(ctx context.Context) (*Chosen, error) {
	b.begin()
	defer b.whole.Close()
	best, least := &Chosen{}, 0.0
	lambda, idle, last := 0.0, 0, []int32(nil)
	for i := 0; i == 0 || idle < patience && lambda > shortestPath*best.Penalty; i++ {
		best.Points = i
		active, before := []int32(nil), lambda
		if i > 0 {
			var err error
			lambda *= pathStep
			if active, err = b.shrink(ctx, lambda, before, best); err != nil {
				return nil, err
			}
		}
		if i == 0 || !slices.Equal(active, last) {
			criterion, err := b.criterion(ctx, active)
			if err != nil {
				return nil, err
			}
			if idle++; i == 0 || criterion < least {
				least, idle, best.Edges, best.Penalty = criterion, 0, active, lambda
			}
		}
		if last = active; i == 0 { // nodes alone: where the first edge appears
			copy(b.weights, b.fitted)
			b.slopes()
			for _, g := range b.groups {
				lambda = max(lambda, g.slope/g.scale())
			}
			best.Penalty = lambda
		}
	}
	return best, nil
}

// scale is √d_e, infinite where nothing is free.
func (g *group) scale() float64 {
	if g.free == 0 {
		return math.Inf(1)
	}
	return math.Sqrt(g.free)
}

// begin makes the problem with all edges.
func (b *Bonds) begin() {
	b.whole = b.objective(b.Model, b.Data)
	b.weights, b.gradient, b.fitted = make([]float64, b.Model.Layout.Size), make([]float64, b.Model.Layout.Size),
		make([]float64, b.Model.Layout.Size)
	b.groups, b.curvature = b.groups[:0], 0
	in, seen := b.Data[0], statesSeen(b.Data)
	us, vs := in.Graph.Ends()
	for e := range us {
		t, k := in.EdgeType(int32(e)), in.States(vs[e])
		span := &b.Model.Layout.Edge[t]
		g := group{at: span.At + in.EdgeRow(int32(e))*span.Copy(), rows: in.States(us[e]), columns: k,
			free: (seen[us[e]] - 1) * (seen[vs[e]] - 1)}
		if b.Model.Schema.EdgeTypes[t].Symmetric && g.free > 0 {
			most := max(seen[us[e]], seen[vs[e]])
			g.free = most * (most - 1) / 2
		}
		b.groups = append(b.groups, g)
	}
}

// statesSeen counts, of each node, the states that samples have.
func statesSeen(data []*crf.Instance) []float64 {
	count := make([]float64, data[0].Graph.NumNodes())
	for s := range count {
		seen := make([]bool, data[0].States(int32(s)))
		for _, in := range data {
			for _, labels := range in.Samples() {
				if y := labels[s]; y != crf.Unobserved && !seen[y] {
					seen[y] = true
					count[s]++
				}
			}
		}
		count[s] = max(1, count[s])
	}
	return count
}

// objective is L of a model.
func (b *Bonds) objective(m *crf.Model, data []*crf.Instance) *Objective {
	o := &Objective{Kind: Pseudo, Model: m, Data: data, L2: b.L2, Total: b.Total}
	threads := b.Threads
	if float64(m.Layout.Size)*b.Total < leastShared {
		threads = 1
	}
	o.Allocate(threads)
	return o
}

// slopes finds how steep L is along every J.
func (b *Bonds) slopes() {
	b.whole.Evaluate(b.gradient, b.weights)
	for i := range b.groups {
		g := &b.groups[i]
		table := b.gradient[g.at:][:g.rows*g.columns]
		b.centring.centre(table, g.columns)
		g.slope = numeric.Norm(table)
	}
}

// shrink finds the minimum at λ, and the edges whose J is not zero there. Most of the others are left out at first:
// those whose slope at the λ before tells that they will not appear (the strong rule, Tibshirani et al. 2012). Whether
// they do is then looked at, of all edges.
func (b *Bonds) shrink(ctx context.Context, lambda, before float64, found *Chosen) (active []int32, err error) {
	var working []int32
	for e, g := range b.groups {
		if g.slope >= (2*lambda-before)*g.scale() || b.stays(int32(e)) {
			working = append(working, int32(e))
		}
	}
	for {
		p, err := b.subset(working)
		if err != nil {
			return nil, err
		}
		p.take(b.weights)
		missed, err := p.descend(ctx, lambda)
		p.objective.Close()
		if err != nil {
			return nil, err
		}
		found.Violation = max(found.Violation, missed)
		p.give(b.weights)
		b.slopes()
		n := len(working)
		for e, g := range b.groups {
			if g.slope > (1+conditionsMet)*lambda*g.scale() && !slices.Contains(working[:n], int32(e)) {
				working = append(working, int32(e))
			}
		}
		if len(working) == n {
			break
		}
		slices.Sort(working)
	}
	for _, e := range working {
		if b.stays(e) {
			active = append(active, e)
		}
	}
	return active, nil
}

// stays reports whether J of an edge is not zero.
func (b *Bonds) stays(e int32) bool {
	g := &b.groups[e]
	return slices.ContainsFunc(b.weights[g.at:][:g.rows*g.columns], func(x float64) bool { return x != 0 })
}

// criterion fits the edges without a penalty, and returns the extended BIC.
func (b *Bonds) criterion(ctx context.Context, edges []int32) (float64, error) {
	p, err := b.subset(edges)
	if err != nil {
		return 0, err
	}
	defer p.objective.Close()
	p.take(b.fitted)
	m := lbfgs.NewMinimiser(p.objective, p.weights)
	m.Begin()
	for gain := math.Inf(1); gain > fitEnough; {
		before := m.Value
		if _, err := m.Step(ctx); err != nil {
			return 0, err
		}
		gain = b.Total * (before - m.Value)
	}
	clear(b.fitted)
	p.give(b.fitted)
	free := 0.0
	for _, e := range edges {
		free += b.groups[e].free
	}
	fit := m.Value - b.L2/2*simd.Dot(m.Weights, m.Weights)
	return 2*b.Total*fit + 2*free*(math.Log(b.Total)+2*b.Gamma*math.Log(float64(b.Data[0].Graph.NumNodes()-1))), nil
}

// subset is the problem with some edges alone.
type subset struct {
	*Bonds
	objective *Objective
	weights   []float64
	groups    []group // of these edges
	whole     []group // the same, with all edges
	nodes     int     // weights of nodes, which come first
}

func (b *Bonds) subset(edges []int32) (*subset, error) {
	in := b.Data[0]
	schema := in.Keeping(edges)
	m, err := crf.NewModel(schema)
	if err != nil {
		return nil, err
	}
	var data []*crf.Instance
	for _, in := range b.Data {
		less, err := in.KeepEdges(&m.Schema, edges)
		if err != nil {
			return nil, err
		}
		data = append(data, less)
	}
	p := &subset{Bonds: b, weights: make([]float64, m.Layout.Size), nodes: m.Layout.Size}
	for i, e := range edges {
		g := b.groups[e]
		p.whole = append(p.whole, g)
		span := &m.Layout.Edge[data[0].EdgeType(int32(i))]
		p.nodes = min(p.nodes, span.At)
		g.at = span.At + data[0].EdgeRow(int32(i))*span.Copy()
		p.groups = append(p.groups, g)
	}
	p.objective = b.objective(m, data)
	return p, nil
}

// take copies weights of all edges, and give copies them back.
func (p *subset) take(all []float64) {
	copy(p.weights[:p.nodes], all)
	for i, g := range p.groups {
		copy(p.weights[g.at:][:g.rows*g.columns], all[p.whole[i].at:])
	}
}

func (p *subset) give(all []float64) {
	copy(all, p.weights[:p.nodes])
	for i, g := range p.whole {
		copy(all[g.at:][:g.rows*g.columns], p.weights[p.groups[i].at:])
	}
}

// descend minimises L + λ Σ √d_e ‖J_e‖ by accelerated proximal steps (Beck and Teboulle 2009), which begin anew where
// momentum leads up (O'Donoghue and Candès 2015). It ends where no condition of the minimum is missed by more than
// conditionsMet, or after mostSteps, and returns by how much one is.
func (p *subset) descend(ctx context.Context, lambda float64) (missed float64, err error) {
	size := len(p.weights)
	room := make([]float64, 5*size)
	at, slope, next, lastAt, lastSlope := room[:size], room[size:2*size], room[2*size:3*size], room[3*size:4*size],
		room[4*size:]
	copy(at, p.weights)
	momentum := 1.0
	for i := range mostSteps {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		p.objective.Evaluate(slope, at)
		for _, g := range p.groups {
			p.centring.centre(slope[g.at:][:g.rows*g.columns], g.columns)
		}
		if i > 0 && p.meets(at, slope, lastAt, lastSlope) || p.curvature == 0 {
			momentum = 1
		}
		p.curvature = max(p.curvature, leastStepCurvature)
		p.step(next, at, slope, lambda)
		missed = p.missed(next, at, lambda)
		copy(lastAt, at)
		copy(lastSlope, slope)
		up := 0.0
		for j, x := range next {
			up += (at[j] - x) * (x - p.weights[j])
		}
		if up > 0 {
			momentum = 1
		}
		further := (1 + math.Sqrt(1+4*momentum*momentum)) / 2
		for j, x := range next {
			at[j] = x + (momentum-1)/further*(x-p.weights[j])
		}
		copy(p.weights, next)
		if momentum = further; missed <= conditionsMet {
			break
		}
	}
	return missed, nil
}

// leastStepCurvature is that before any is known: half of what it is along the field of a node of two states.
const leastStepCurvature = 0.25

// meets raises the curvature to what two gradients show of it, and reports whether that was more.
func (p *subset) meets(at, slope, lastAt, lastSlope []float64) bool {
	along, square := 0.0, 0.0
	for i, g := range slope {
		change := g - lastSlope[i]
		along += change * (at[i] - lastAt[i])
		square += change * change
	}
	if !(along > 0 && square > p.curvature*along) {
		return false
	}
	p.curvature = square / along
	return true
}

// step writes the minimum of λ Σ √d_e ‖J_e‖ and of L as it seems from a place, with the curvature that is known.
func (p *subset) step(next, at, slope []float64, lambda float64) {
	for i, g := range slope {
		next[i] = at[i] - g/p.curvature
	}
	for _, g := range p.groups {
		table := next[g.at:][:g.rows*g.columns]
		norm := numeric.Norm(table)
		keep := 0.0
		if limit := lambda * g.scale() / p.curvature; norm > limit {
			keep = 1 - limit/norm
		}
		for i := range table {
			table[i] *= keep
		}
	}
}

// missed is by how much, relative to its penalty, a condition of the minimum is missed: the gradient that a step of
// that length comes from.
func (p *subset) missed(next, at []float64, lambda float64) (most float64) {
	apart := func(lo, n int) (sum float64) {
		for i := lo; i < lo+n; i++ {
			sum += (next[i] - at[i]) * (next[i] - at[i])
		}
		return p.curvature * math.Sqrt(sum) / lambda
	}
	in := p.objective.Data[0]
	for s := range int32(in.Graph.NumNodes()) {
		span := &p.objective.Model.Layout.Node[in.NodeType(s)]
		most = max(most, apart(span.At+in.NodeRow(s)*span.Copy(), span.Copy()))
	}
	for _, g := range p.groups {
		most = max(most, apart(g.at, g.rows*g.columns)/g.scale())
	}
	return most
}

// centring takes the means of rows and columns out of tables.
type centring struct{ rows, columns []float64 }

func (c *centring) centre(table []float64, k int) {
	c.rows, c.columns = numeric.Resize(c.rows, len(table)/k), numeric.Resize(c.columns, k)
	clear(c.rows)
	clear(c.columns)
	all := 0.0
	for i, x := range table {
		c.rows[i/k] += x / float64(k)
		c.columns[i%k] += x / float64(len(c.rows))
		all += x / float64(len(table))
	}
	for i := range table {
		table[i] -= c.rows[i/k] + c.columns[i%k] - all
	}
}
