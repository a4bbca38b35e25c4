// Package local has objectives of learning that are sums over the instances, each of which has its
// exact gradient at the price of one look at it, without messages: pseudo-likelihood, piecewise
// likelihood, and by elimination of variables the likelihood itself.
package local

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/exact"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
	"github.com/blockbp/blockbp/mrf"
)

// Objective is
//
//	L(θ̃) = (1/N) Σ_n terms of sample n + (l2/2)‖θ̃‖²,
//
// which is convex unless the likelihood sums over missing labels.
type Objective struct {
	Kind         Kind
	Model        *crf.Model // what the weights are of
	Data         []*crf.Instance
	ClassWeights [][]float64 // nil: ones
	L2           float64
	Total        float64 // N, the sum of the samples' weights

	model   crf.Model                     // with the weights at hand
	plans   map[*crf.Instance]*exact.Plan // of Exact
	entries float64                       // of joint tables that an evaluation of Exact computes
	terms   map[*crf.Instance][]ground.Term
	whole   map[*graph.Graph]*partition.Partition
	pool    *parallel.Pool[[]*crf.Instance]
	workers []ground.LocalObjective
	parts   []part // [instances of a chunk]
}

// Kind says what the terms are, by the name of the method.
type Kind string

// The kinds of terms.
const (
	Pseudo    Kind = "pseudo"
	Piecewise Kind = "piecewise"
	Exact     Kind = "exact"
)

// part is what one instance adds to objective and gradient.
type part struct {
	value    float64
	gradient []float64
}

// Together is of how many instances gradients are kept before they are added up, in the order of the
// instances, whatever thread computed them.
func (o *Objective) Together() int { return min(16, len(o.Data)) }

// Allocate takes the memory of evaluations, after Plan. Close ends the goroutines that it begins.
func (o *Objective) Allocate(threads int) {
	o.model = *o.Model
	o.whole, o.terms = map[*graph.Graph]*partition.Partition{}, map[*crf.Instance][]ground.Term{}
	for _, in := range o.Data {
		if o.whole[in.Graph] == nil {
			o.whole[in.Graph] = partition.Whole(in.Graph)
		}
		if o.Kind == Exact {
			o.terms[in] = ground.Terms(o.ClassWeights, in)
		}
	}
	for range o.Together() {
		o.parts = append(o.parts, part{gradient: make([]float64, o.Model.Layout.Size)})
	}
	for range threads {
		o.workers = append(o.workers, o.Worker())
	}
	o.pool = parallel.NewPool(threads, func(chunk *[]*crf.Instance, worker, i int) {
		in, part := (*chunk)[i], &o.parts[i]
		clear(part.gradient)
		part.value = o.workers[worker].Add(part.gradient, &o.model, in, o.Whole(in), in.Weight()/o.Total)
	})
}

// Close ends the goroutines.
func (o *Objective) Close() { o.pool.Close() }

// Worker returns the terms, with scratch for one goroutine. Before Allocate those of Exact have no
// samples, and serve to see how long they take.
func (o *Objective) Worker() ground.LocalObjective {
	switch o.Kind {
	case Exact:
		return &likelihood{objective: o}
	case Piecewise:
		return &ground.Piecewise{ClassWeights: o.ClassWeights}
	}
	return &ground.PseudoLikelihood{ClassWeights: o.ClassWeights}
}

// Whole returns the one block of an instance.
func (o *Objective) Whole(in *crf.Instance) *partition.Block { return &o.whole[in.Graph].Blocks[0] }

// Bytes returns about what the scratch of a worker takes for an instance: potentials, and the conditionals of samples,
// or the pieces' probabilities, or tables of elimination and two answers.
func (o *Objective) Bytes(in *crf.Instance) float64 {
	nodes, elements := 0.0, float64(in.Graph.NumNodes()+in.Graph.NumEdges())
	for a, span := range o.Model.Layout.Node {
		nodes += float64(in.NodeFeatures(a).Rows()) * float64(span.States)
	}
	const double, place, factor = 8, 20, 100
	all, tables := ground.Entries(in)
	bytes := double*(nodes+tables) + place*elements
	switch o.Kind {
	case Exact:
		return bytes + double*2*(nodes+all) + factor*elements + float64(o.plans[in].Bytes)
	case Piecewise:
		return bytes + double*tables + place*elements
	}
	return bytes + double*nodes*float64(1+len(in.Samples()))
}

// Operations returns how many entries of joint tables one evaluation of Exact computes for an instance.
func (o *Objective) Operations(in *crf.Instance) float64 { return o.plans[in].Operations }

// Evaluate returns L at the weights, and its gradient. Weights of symmetric types lose what rounding
// has left between them.
func (o *Objective) Evaluate(gradient, weights []float64) (value float64) {
	o.Model.Layout.Symmetrise(weights)
	o.model.Weights = weights
	for i, w := range weights {
		value += o.L2 / 2 * w * w
		gradient[i] = o.L2 * w
	}
	for chunk := range slices.Chunk(o.Data, len(o.parts)) {
		o.pool.Run(chunk, len(chunk))
		for i := range chunk {
			value += o.parts[i].value
			simd.AddScaled(gradient, o.parts[i].gradient, 1)
		}
	}
	o.Model.Layout.Symmetrise(gradient)
	return value
}

// likelihood is the negative log-likelihood, by elimination of variables:
//
//	Σ_n [log Z(θ_n) − ⟨θ_n, w_n⟩],    or log Z(θ_n) − log Z(θ_n | known labels)
//
// for a sample with missing ones. Its gradient is M (τ − w), τ being exact marginals.
type likelihood struct {
	objective *Objective // has plans and terms, for all goroutines
	potential ground.Potentials
	adjoint   ground.Adjoint
	network   mrf.Network
	held      []float64 // potentials of nodes with known labels
}

// kindError is a choice of a kind that the data do not allow.
type kindError struct{ text string }

func (e *kindError) Error() string { return "learn: " + e.text }

// Usage reports that another option helps, not other data.
func (e *kindError) Usage() bool { return true }

// refuse says what an instance is or has, and why.
func refuse(in *crf.Instance, i int, what, why string, values ...any) error {
	return &kindError{fmt.Sprintf("instance %d (%s) %s for method exact: %s; method auto needs no such tables", i,
		in.Name, what, fmt.Sprintf(why, values...))}
}

// Plan decides what sizes depend on, before anything large is taken: of Exact, an order of elimination
// for every instance. Those with the same graph and states share one. It gives up where an evaluation
// would compute more than so many entries of joint tables.
func (o *Objective) Plan(most float64) error {
	if o.Kind != Exact {
		return nil
	}
	find := exact.NewPlanWithin
	if math.IsInf(most, 1) {
		find = func(n *mrf.Network, _ float64) (*exact.Plan, error) { return exact.NewPlan(n) }
	}
	o.plans = map[*crf.Instance]*exact.Plan{}
	shared := map[*graph.Graph]*exact.Plan{}
	for i, in := range o.Data {
		plan := shared[in.Graph]
		if plan == nil || len(in.Schema().NodeTypes) > 1 {
			if entries := largestEdge(in); entries > mostEntries {
				return refuse(in, i, "has too many states", "%.6g joint states of an edge, of at most %d", entries, mostEntries)
			}
			var err error
			if plan, err = find(shapeOf(in), most); err != nil {
				return fmt.Errorf("learn: instance %d (%s): %w", i, in.Name, err)
			}
			plan.Limit = math.MaxInt64 // Settings.Memory decides
			if plan.LowerBound {
				return refuse(in, i, "is too wide", "elimination of variables would join more than %d of them in a table",
					plan.Width)
			}
		}
		shared[in.Graph], o.plans[in] = plan, plan
		runs := 1.0
		for _, labels := range in.Samples() {
			if slices.Contains(labels, crf.Unobserved) {
				runs++
			}
		}
		if o.entries += runs * plan.Operations; !(o.entries <= most) {
			return refuse(in, i, "is one too many", "%.6g entries of joint tables, of at most %.6g", o.entries, most)
		}
	}
	return nil
}

// Work returns how many entries of joint tables one evaluation of Exact computes, infinite where they
// are more than most, or no order is found.
func Work(data []*crf.Instance, most float64) (entries float64) {
	o := Objective{Kind: Exact, Data: data}
	if o.Plan(min(most, math.MaxFloat64)) != nil {
		return math.Inf(1)
	}
	return o.entries
}

// mostEntries bounds the table of an edge: planning makes one, 32 MiB, before it is known what elimination takes.
const mostEntries = 1 << 22

// largestEdge returns the joint states of the edge that has the most.
func largestEdge(in *crf.Instance) (entries float64) {
	u, v := in.Graph.Ends()
	for e := range u {
		entries = max(entries, float64(in.States(u[e]))*float64(in.States(v[e])))
	}
	return entries
}

// shapeOf is the network of an instance without its potentials.
func shapeOf(in *crf.Instance) *mrf.Network {
	zeros := []float64(nil) // all tables are parts of one
	table := func(_, entries int) []float64 {
		if entries > len(zeros) {
			zeros = make([]float64, entries)
		}
		return zeros[:entries]
	}
	n := &mrf.Network{}
	fill(n, in, table, table)
	return n
}

// fill makes the network of an instance, of tables of nodes and of edges with so many entries.
func fill(n *mrf.Network, in *crf.Instance, node, edge func(i, entries int) []float64) {
	n.Card, n.Factors = n.Card[:0], n.Factors[:0]
	for s := range in.Graph.NumNodes() {
		states := in.States(int32(s))
		n.Card = append(n.Card, states)
		n.Factors = append(n.Factors, mrf.Factor{Scope: []int{s}, LogTable: node(s, states)})
	}
	u, v := in.Graph.Ends()
	for e := range u {
		table := edge(e, in.States(u[e])*in.States(v[e]))
		n.Factors = append(n.Factors, mrf.Factor{Scope: []int{int(u[e]), int(v[e])}, LogTable: table})
	}
}

// Add implements ground.LocalObjective. What elimination cannot compute is NaN.
func (l *likelihood) Add(gradient []float64, m *crf.Model, in *crf.Instance, whole *partition.Block,
	weight float64) (value float64) {
	pot := &l.potential
	pot.Ground(m, in, whole)
	fill(&l.network, in, func(s, _ int) []float64 { return pot.Node[pot.NodeAt[s]:pot.NodeAt[s+1]] },
		func(e, entries int) []float64 { return pot.Table[pot.EdgeAt[e]:][:entries] })
	free := l.infer(in)
	if free == nil {
		return math.NaN()
	}
	nodes, weights := in.Graph.NumNodes(), 0.0
	u, v := in.Graph.Ends()
	for _, t := range l.objective.terms[in] {
		weights += t.Weight
	}
	value = weights * free.LogZ
	for _, table := range free.Factors {
		for x := range table {
			table[x] *= weights
		}
	}
	for _, t := range l.objective.terms[in] {
		if !slices.Contains(t.Labels, crf.Unobserved) {
			value -= t.Weight * pot.LogScore(in, t.Labels)
			for s, y := range t.Labels {
				free.Factors[s][y] -= t.Weight
			}
			for e := range u {
				free.Factors[nodes+e][int(t.Labels[u[e]])*in.States(v[e])+int(t.Labels[v[e]])] -= t.Weight
			}
			continue
		}
		l.hold(in, t.Labels)
		clamped := l.infer(in)
		if clamped == nil {
			return math.NaN()
		}
		value -= t.Weight * clamped.LogZ
		for f, table := range clamped.Factors {
			for x, p := range table {
				free.Factors[f][x] -= t.Weight * p
			}
		}
	}
	if gradient == nil {
		return weight * value
	}
	for f, table := range free.Factors {
		for x := range table {
			table[x] *= weight
		}
		if f < nodes {
			l.adjoint.AddNode(gradient, m, in, int32(f), table)
		} else {
			l.adjoint.AddEdge(gradient, m, in, int32(f-nodes), table)
		}
	}
	l.adjoint.ReleaseAll(gradient, m, in)
	return weight * value
}

// hold leaves nodes with known labels no other state.
func (l *likelihood) hold(in *crf.Instance, labels []int32) {
	pot := &l.potential
	l.held = append(l.held[:0], pot.Node...)
	for s, y := range labels {
		table := l.held[pot.NodeAt[s]:pot.NodeAt[s+1]]
		for x := range table {
			if y != crf.Unobserved && x != int(y) {
				table[x] = math.Inf(-1)
			}
		}
		l.network.Factors[s].LogTable = table
	}
}

// infer returns log Z and the marginals of all factors, nil where there are none.
func (l *likelihood) infer(in *crf.Instance) *exact.Answer {
	answer, err := l.objective.plans[in].On(&l.network).RunFactors(context.Background())
	if err != nil {
		return nil
	}
	return answer
}
