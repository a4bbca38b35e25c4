// Package local has objectives of learning that are sums over the instances, each of which has its
// exact gradient at the price of one look at it, without messages that are kept: pseudo-likelihood, piecewise
// likelihood, by elimination of variables the likelihood itself or that of blocks given the labels around them, and the
// loss of beliefs after a number of sweeps.
package local

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/exact"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/lbfgs"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// Objective is
//
//	L(θ̃) = (1/N) Σ_n terms of sample n + (l2/2)‖θ̃‖²,
//
// which is convex unless a likelihood sums over missing labels, or Truncated.
type Objective struct {
	Kind         Kind
	Model        *crf.Model // what the weights are of
	Data         []*crf.Instance
	ClassWeights [][]float64 // nil: ones
	Statistics   []float64   // of Exact, M w̄ in place of those of the labels; nil: those
	L2           float64
	Total        float64       // N, the sum of the samples' weights
	Counting     counting.Func // of Truncated, ...
	Sweeps       int           // ... and how many it makes
	Skipped      []bool        // [edges] that Pseudo has no terms of, whose tables are zero; nil: none
	Filled       []float64     // weights by which hidden labels were filled in, and how often; nil: they are not

	model   crf.Model                     // with the weights at hand
	nets    map[*crf.Instance]*bp.Net     // of Truncated, and of likelihoods where nodes are in order
	plans   map[*crf.Instance]*exact.Plan // of likelihoods, elsewhere
	blocks  map[*crf.Instance][]int32     // of Composite, [nodes] the block of each; nil: there is one
	entries float64                       // of joint tables that an evaluation of Exact computes
	terms   map[*crf.Instance][]ground.Term
	whole   map[*graph.Graph]*partition.Partition
	pool    *parallel.Pool[context.Context]
	inside  int // threads that share the work of an instance
	workers []ground.LocalObjective
	parts   []part
	sums    []float64 // of rows and columns of a table

	given  []*crf.Instance // those that have hidden labels, where Data has these filled in
	labels []float64       // of likelihoods, M w̄ of the complete samples, or what Statistics put in place of those of all
}

// Kind says what the terms are, by the name of the method.
type Kind string

// The kinds of terms.
const (
	Pseudo    Kind = "pseudo"
	Piecewise Kind = "piecewise"
	Exact     Kind = "exact"
	Composite Kind = "composite"
	Truncated Kind = "truncated"
)

// Sums reports whether log Z is computed, of networks or of their blocks, and hidden labels are summed over.
func (k Kind) Sums() bool { return k == Exact || k == Composite }

// part is what some instances, one after the other, add to objective and gradient.
type part struct {
	value    float64
	gradient []float64
}

// Together is in how many parts objectives and gradients are computed before they are added up, in their
// order, whatever thread computed them.
func (o *Objective) Together() int { return min(16, len(o.Data)) }

// Allocate takes the memory of evaluations, after Plan. Close ends the goroutines that it begins.
func (o *Objective) Allocate(threads int) {
	if o.model = *o.Model; o.Fills() {
		o.Filled = make([]float64, o.Model.Layout.Size+1)
	}
	o.whole, o.terms = map[*graph.Graph]*partition.Partition{}, map[*crf.Instance][]ground.Term{}
	for _, in := range o.Data {
		if o.whole[in.Graph] == nil {
			o.whole[in.Graph] = partition.Whole(in.Graph)
		}
		if o.Kind.Sums() {
			o.terms[in] = ground.Terms(o.ClassWeights, in)
		}
	}
	if o.Kind.Sums() {
		o.addLabels()
	}
	for range o.Together() {
		o.parts = append(o.parts, part{gradient: make([]float64, o.Model.Layout.Size)})
	}
	if len(o.Data) == 1 {
		o.inside = threads
	}
	for range threads {
		o.workers = append(o.workers, o.Worker())
	}
	o.pool = parallel.NewPool(threads, func(ctx *context.Context, worker, i int) {
		part, n, parts := &o.parts[i], len(o.Data), len(o.parts)
		part.value = 0
		clear(part.gradient)
		for _, in := range o.Data[i*n/parts : (i+1)*n/parts] {
			if (*ctx).Err() != nil {
				return
			}
			part.value += o.workers[worker].Add(*ctx, part.gradient, &o.model, in, o.Whole(in), in.Weight()/o.Total)
		}
	})
}

// addLabels adds up what likelihoods have of labels, which no weights change: complete samples take no time for them in
// evaluations. Edges between blocks are in both.
func (o *Objective) addLabels() {
	sums := instances.Labels{Model: o.Model, Data: o.Data, ClassWeights: o.ClassWeights, Total: o.Total,
		Adder: instances.Adder{Each: parallel.Serially}, Adjoints: []*ground.Adjoint{{}}}
	o.labels = sums.Sum(func(add *ground.Adjoint, sum []float64, i int, r ground.Range) {
		in := o.Data[i]
		for _, t := range o.terms[in] {
			if !slices.Contains(t.Labels, crf.Unobserved) {
				add.AddChange(sum, o.Model, in, r, nil, t.Labels, t.Weight*in.Weight()/o.Total)
				for e := r.Edges[0]; e < r.Edges[1]; e++ {
					if of := o.blocks[in]; between(of, in, e) {
						add.AddChange(sum, o.Model, in, ground.Range{Edges: [2]int{e, e + 1}}, nil, t.Labels,
							t.Weight*in.Weight()/o.Total)
					}
				}
			}
		}
	})
	if o.Statistics != nil {
		simd.AddScaled(o.labels, o.Statistics, 1)
		simd.AddScaled(o.labels, sums.Observed(), -1)
	}
}

// Fills reports whether hidden labels are filled in: those of samples in which every node and edge has weights of its
// own. A conditional that leaves a neighbour out is none of the model, and couplings would be learned wrong.
func (o *Objective) Fills() bool {
	spans := slices.Concat(o.Model.Layout.Node, o.Model.Layout.Edge)
	return o.Kind == Pseudo && o.ClassWeights == nil &&
		!slices.ContainsFunc(spans, func(s crf.Span) bool { return !s.Untied }) &&
		slices.ContainsFunc(o.Data, func(in *crf.Instance) bool {
			return len(in.Samples()) > 1 && instances.AnyHidden([]*crf.Instance{in})
		})
}

const mostFillings = 30 // of hidden labels

// Fill fills hidden labels in as weights have them: the E-step of EM (Dempster et al. 1977) for the estimating equation
// of the pseudo-likelihood. Weights of 0 know nothing to fill in: from there conditionals that leave hidden labels out
// are learned first, which is convex. It reports whether there is anything to learn from that. Of a share m of missing
// values draws move weights by √(m/8) of their standard errors: EM ends where they move by m/√8, which is less.
func (o *Objective) Fill(weights []float64) (again bool, err error) {
	if o.Filled == nil || o.Filled[len(weights)] == mostFillings {
		return false, nil
	}
	if o.given != nil {
		ctx, slope := context.Background(), make([]float64, len(weights))
		gain := o.Evaluate(ctx, slope, o.Filled[:len(weights)]) - o.Evaluate(ctx, slope, weights)
		_, known := statesSeen(o.given)
		if 2*o.Total*gain <= (1-known)*(1-known)/ground.MostDraws*float64(len(weights)) {
			return false, nil
		}
	}
	copy(o.Filled, weights)
	o.Filled[len(weights)]++
	return true, o.Refill()
}

// Refill fills in as Filled says: a run that resumes has learned from just these labels.
func (o *Objective) Refill() (err error) {
	if simd.Dot(o.Filled, o.Filled) <= 1 { // weights of 0, once or never
		return nil
	}
	if o.given == nil {
		o.given = o.Data
	}
	o.model.Weights, o.Data = o.Filled[:o.Model.Layout.Size], slices.Clone(o.given)
	for i, in := range o.given {
		if o.Data[i], err = (&ground.PseudoLikelihood{}).Complete(&o.model, in, o.Whole(in)); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the goroutines.
func (o *Objective) Close() { o.pool.Close() }

// Worker returns the terms, with scratch for one goroutine. Before Allocate those of Exact have no
// samples, and serve to see how long they take.
func (o *Objective) Worker() ground.LocalObjective {
	switch o.Kind {
	case Exact, Composite:
		return &likelihood{objective: o}
	case Truncated:
		return &truncated{objective: o}
	case Piecewise:
		return &ground.Piecewise{ClassWeights: o.ClassWeights}
	}
	return &ground.PseudoLikelihood{ClassWeights: o.ClassWeights, Threads: o.inside, Skipped: o.Skipped}
}

// Whole returns the one block of an instance.
func (o *Objective) Whole(in *crf.Instance) *partition.Block { return &o.whole[in.Graph].Blocks[0] }

// Bytes returns about what the scratch of a worker takes for an instance: potentials, and the conditionals of samples,
// or the pieces' probabilities, or tables of elimination and two answers, or messages of all sweeps.
func (o *Objective) Bytes(in *crf.Instance) float64 {
	elements := float64(in.Graph.NumNodes() + in.Graph.NumEdges())
	const double, place, factor = 8, 20, 100
	nodes, all, tables := ground.Entries(in)
	bytes := double*(nodes+tables) + place*elements
	switch o.Kind {
	case Exact, Composite:
		if net := o.nets[in]; net != nil {
			return bytes + float64(net.Bytes())
		}
		return bytes + double*2*(nodes+all) + factor*elements + float64(o.plans[in].Bytes)
	case Piecewise:
		return bytes + double*tables + place*elements
	case Truncated: // potentials three times
		return bytes + 2*double*(nodes+tables) + double*min(all, tables*float64(max(1, o.nets[in].Counting.Classes))) +
			place*elements + (float64(o.Sweeps)+2)*float64(o.nets[in].Bytes())
	}
	most := 0
	for s := range int32(in.Graph.NumNodes()) {
		around := 0
		for _, d := range in.Graph.Incoming(s) {
			around += in.States(in.Graph.Source(d))
		}
		most = max(most, around)
	}
	return bytes + double*nodes + ground.TileBytes(float64(most))
}

// Evaluate returns L at the weights, and its gradient. Weights of symmetric types lose what rounding
// has left between them. Where ctx ends before, value and gradient are of no use.
func (o *Objective) Evaluate(ctx context.Context, gradient, weights []float64) (value float64) {
	o.Model.Layout.Symmetrise(weights)
	o.model.Weights = weights
	for i, w := range weights {
		value += o.L2 / 2 * w * w
		gradient[i] = o.L2 * w
	}
	o.pool.Run(ctx, len(o.parts))
	for i := range o.parts {
		value += o.parts[i].value
		simd.AddScaled(gradient, o.parts[i].gradient, 1)
	}
	for i, mean := range o.labels {
		value -= weights[i] * mean
		gradient[i] -= mean
	}
	o.Model.Layout.Symmetrise(gradient)
	return value
}

// fitEnough is the decrease of N L, in nats, below which Minimise has ended.
const fitEnough = 0.02

// Minimise moves weights to where L is smallest, and returns that.
func (o *Objective) Minimise(ctx context.Context, weights []float64) (float64, error) {
	m := lbfgs.NewMinimiser(o, weights)
	m.Begin()
	for gain := math.Inf(1); gain > fitEnough; {
		before := m.Value
		if _, err := m.Step(ctx); err != nil {
			return 0, err
		}
		gain = o.Total * (before - m.Value)
	}
	return m.Value, nil
}

// Solve writes P⁻¹ g to dst, which may be g: what L-BFGS is to know before it has seen any curvature. Where edges have
// tables of their own, these hold parts of the fields of their ends, beside couplings, so that a step along g moves a
// field once for every edge of its node, and another time for the node. P⁻¹ leaves but a share of these parts.
func (o *Objective) Solve(dst, g []float64) {
	copy(dst, g)
	in, layout := o.Data[0], &o.Model.Layout
	us, vs := in.Graph.Ends()
	skips := func(e int) bool { return o.Skipped != nil && o.Skipped[e] }
	degree := make([]float64, in.Graph.NumNodes())
	for e := range us {
		if !skips(e) {
			degree[us[e]]++
			degree[vs[e]]++
		}
	}
	share := func(s int32) float64 { return 1 / (1 + degree[s]/float64(in.States(s))) }
	for s := range int32(in.Graph.NumNodes()) {
		if span := &layout.Node[in.NodeType(s)]; span.Untied {
			own := dst[span.At+in.NodeRow(s)*span.Copy():][:span.Copy()]
			simd.AddScaled(own, own, share(s)-1)
		}
	}
	for e, u := range us {
		span, k := &layout.Edge[in.EdgeType(int32(e))], in.States(vs[e])
		if !span.Untied || span.Copy() != span.States || skips(e) {
			continue
		}
		table := dst[span.At+in.EdgeRow(int32(e))*span.States:][:span.States]
		rows, columns, mean := o.sumsOf(table, k)
		less := 1 - (share(u)+share(vs[e]))/2
		for i, x := range rows {
			for j, y := range columns {
				table[i*k+j] -= less * (x/float64(k) + y/float64(len(rows)) - 2*mean)
			}
		}
	}
}

// sumsOf are those of the rows and columns of a table, good for one call, and its mean.
func (o *Objective) sumsOf(table []float64, k int) (rows, columns []float64, mean float64) {
	o.sums = numeric.Resize(o.sums, len(table)/k+k)
	clear(o.sums)
	rows, columns = o.sums[k:], o.sums[:k]
	for i := range rows {
		for j, x := range table[i*k:][:k] {
			rows[i] += x
			columns[j] += x
		}
		mean += rows[i] / float64(len(table))
	}
	return rows, columns, mean
}

// kindError is a choice of a kind that the data do not allow.
type kindError struct{ error }

// Unwrap returns the error, which names an instance.
func (e *kindError) Unwrap() error { return e.error }

// Usage reports that another option helps, not other data.
func (e *kindError) Usage() bool { return true }

// refuse says what an instance is or has, and why.
func (o *Objective) refuse(in *crf.Instance, i int, what, why string, values ...any) error {
	return &kindError{option.Errorf("learn: %s %s for method %s: %s; method auto needs no such tables",
		option.Instance(i, in.Name), what, o.Kind, fmt.Sprintf(why, values...))}
}

// Plan decides what sizes depend on, before anything large is taken: of likelihoods, how inference is made of every
// instance. Those with the same graph and states share that. It gives up where an evaluation would compute more than
// so many entries of joint tables.
func (o *Objective) Plan(most float64) (err error) {
	if !o.Kind.Sums() && o.Kind != Truncated {
		return nil
	}
	o.nets, o.plans = map[*crf.Instance]*bp.Net{}, map[*crf.Instance]*exact.Plan{}
	o.blocks = map[*crf.Instance][]int32{}
	shared := map[*graph.Graph]*crf.Instance{}
	for i, in := range o.Data {
		if like := shared[in.Graph]; like != nil && len(in.Schema().NodeTypes) == 1 {
			o.nets[in], o.plans[in], o.blocks[in] = o.nets[like], o.plans[like], o.blocks[like]
		} else if o.Kind == Truncated || partition.InOrder(in.Graph) {
			numbers := counting.Bethe(in.Graph)
			if o.Kind == Truncated {
				numbers, err = o.Counting.Of(in.Graph)
			}
			if err == nil {
				o.nets[in], err = bp.NewNet(in.Graph, in.Cards(), numbers, nil)
			}
			if err != nil {
				return option.Errorf("learn: %s: %w", option.Instance(i, in.Name), err)
			}
		} else if err = o.plan(in, i, most); err != nil {
			return err
		}
		if shared[in.Graph] = in; o.Kind == Truncated {
			continue
		}
		runs := 1.0
		_, entries, _ := ground.Entries(in) // of joint tables for one
		if plan := o.plans[in]; plan != nil {
			entries = plan.Operations
		}
		for _, labels := range in.Samples() {
			if n := ground.Completions(in, labels); n > mostCompletions {
				runs++
			} else if n > 1 {
				o.entries += n * float64(in.Graph.NumNodes()+in.Graph.NumEdges())
			}
		}
		if o.entries += runs * entries; !(o.entries <= most) {
			return o.refuse(in, i, "is one too many", "%.6g entries of joint tables, of at most %.6g", o.entries, most)
		}
	}
	return nil
}

// Numbers are the counting numbers of Truncated, of each instance.
func (o *Objective) Numbers() []*counting.Numbers {
	return numeric.Map(o.Data, func(in *crf.Instance) *counting.Numbers { return o.nets[in].Counting })
}

// plan finds an order of elimination for instance i, and of Composite the fewest blocks, a power of two, that have one.
func (o *Objective) plan(in *crf.Instance, i int, most float64) (err error) {
	if entries := largestEdge(in); entries > mostEntries {
		return o.refuse(in, i, "has too many states", "%.6g joint states of an edge, of at most %d", entries, mostEntries)
	}
	nodes := in.Graph.NumNodes()
	if _, pairs, _ := ground.Entries(in); o.Kind == Composite {
		most = min(most, entriesOfNode*float64(nodes)+2*pairs)
	}
	for blocks := 1; ; blocks = min(2*blocks, nodes) {
		if blocks > 1 {
			o.blocks[in] = partition.BreadthFirst(in.Graph, blocks)
		}
		plan := exact.NewPlan(shapeOf(in, o.blocks[in]), most)
		plan.Limit = math.MaxInt64 // Settings.Memory decides
		if o.plans[in] = plan; !plan.LowerBound {
			return nil
		} else if o.Kind != Composite || blocks == nodes {
			return o.refuse(in, i, "is too wide", "elimination of variables would join more than %d of them in a table",
				plan.Width)
		}
	}
}

// entriesOfNode is how many entries of joint tables Composite computes for each node at most, beside those of edges.
const entriesOfNode = 1 << 10

// between reports whether an edge joins two blocks, of being that of each node, or nil.
func between(of []int32, in *crf.Instance, e int) bool {
	return of != nil && of[in.Graph.U(int32(e))] != of[in.Graph.V(int32(e))]
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
