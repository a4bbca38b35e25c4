package learn

import (
	"context"
	"fmt"
	"math"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/exact"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/mrf"
)

// exactLikelihood is the negative log-likelihood, by elimination of variables:
//
//	Σ_n [log Z(θ_n) − ⟨θ_n, w_n⟩],    or log Z(θ_n) − log Z(θ_n | known labels)
//
// for a sample with missing ones. Its gradient is M (τ − w), τ being exact marginals. It
// is a ground.LocalObjective with scratch for one goroutine.
type exactLikelihood struct {
	plans     map[*crf.Instance]*exact.Plan      // shared by all goroutines
	terms     map[*crf.Instance][]weightedLabels // shared by all goroutines
	potential ground.Potentials
	adjoint   ground.Adjoint
	network   mrf.Network
	held      []float64 // potentials of nodes with known labels
}

// methodError is a choice of a method that the data do not allow.
type methodError struct{ text string }

func methodErrorf(format string, a ...any) error { return &methodError{fmt.Sprintf(format, a...)} }

func (e *methodError) Error() string { return "learn: " + e.text }

// Usage reports that another option helps, not other data.
func (e *methodError) Usage() bool { return true }

// planLikelihood finds an order of elimination for every instance. Those with the same
// graph and states share one.
func planLikelihood(data []*crf.Instance) (map[*crf.Instance]*exact.Plan, error) {
	plans, shared := map[*crf.Instance]*exact.Plan{}, map[*graph.Graph]*exact.Plan{}
	for i, in := range data {
		uniform := len(in.Schema().NodeTypes) == 1
		if plan := shared[in.Graph]; plan != nil && uniform {
			plans[in] = plan
			continue
		}
		if entries := largestEdge(in); entries > mostEntries {
			return nil, methodErrorf("instance %d (%s) has too many states for method %s: %.6g joint states of an edge, of at most %d; method auto needs no such tables", i, in.Name, Exact, entries, mostEntries)
		}
		plan, err := exact.NewPlan(shapeOf(in))
		if err != nil {
			return nil, fmt.Errorf("learn: instance %d (%s): %w", i, in.Name, err)
		}
		plan.Limit = math.MaxInt64 // Settings.Memory decides
		if plan.LowerBound {
			return nil, methodErrorf("instance %d (%s) is too wide for method %s: elimination of variables would join more than %d of them in a table; method auto needs no such tables", i, in.Name, Exact, plan.Width)
		}
		if plans[in] = plan; uniform {
			shared[in.Graph] = plan
		}
	}
	return plans, nil
}

// LikelihoodWork returns how many entries of joint tables one evaluation of the objective of
// Exact computes, infinite where they are more than most, or no order is found.
func LikelihoodWork(data []*crf.Instance, most float64) (entries float64) {
	shared := map[*graph.Graph]float64{}
	for _, in := range data {
		uniform := len(in.Schema().NodeTypes) == 1
		once, known := shared[in.Graph]
		if !known || !uniform {
			once = math.Inf(1)
			if largestEdge(in) <= mostEntries {
				if plan, err := exact.NewPlanWithin(shapeOf(in), most); err == nil && !plan.LowerBound {
					once = plan.Operations
				}
			}
			shared[in.Graph] = once
		}
		runs := 1.0
		for _, labels := range in.Samples() {
			if hasHidden(labels) {
				runs++
			}
		}
		if entries += runs * once; !(entries <= most) {
			return math.Inf(1)
		}
	}
	return entries
}

// mostEntries bounds the table of an edge: planning makes one, 32 MiB, before it is known
// what elimination takes.
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
	n, zeros := &mrf.Network{}, []float64(nil) // all tables are parts of one
	add := func(entries int, scope ...int) {
		if entries > len(zeros) {
			zeros = make([]float64, entries)
		}
		n.Factors = append(n.Factors, mrf.Factor{Scope: scope, LogTable: zeros[:entries]})
	}
	for s := range int32(in.Graph.NumNodes()) {
		n.Card = append(n.Card, in.States(s))
		add(in.States(s), int(s))
	}
	u, v := in.Graph.Ends()
	for e := range u {
		add(in.States(u[e])*in.States(v[e]), int(u[e]), int(v[e]))
	}
	return n
}

// Add implements ground.LocalObjective. What elimination cannot compute is NaN.
func (l *exactLikelihood) Add(gradient []float64, m *crf.Model, in *crf.Instance, whole *partition.Block, weight float64) (value float64) {
	l.potential.Ground(m, in, whole)
	l.fill(in)
	free := l.infer(in)
	if free == nil {
		return math.NaN()
	}
	weights := 0.0
	for _, t := range l.terms[in] {
		weights += t.weight
	}
	value = weights * free.LogZ
	for _, table := range free.Factors {
		for x := range table {
			table[x] *= weights
		}
	}
	for _, t := range l.terms[in] {
		if !hasHidden(t.labels) {
			value -= t.weight * l.potential.LogScore(in, t.labels)
			eachFactor(in, t.labels, func(f, x int) { free.Factors[f][x] -= t.weight })
			continue
		}
		l.hold(in, t.labels)
		clamped := l.infer(in)
		if clamped == nil {
			return math.NaN()
		}
		value -= t.weight * clamped.LogZ
		for f, table := range clamped.Factors {
			for x, p := range table {
				free.Factors[f][x] -= t.weight * p
			}
		}
	}
	if gradient == nil {
		return weight * value
	}
	nodes := in.Graph.NumNodes()
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

// fill makes the network of the potentials at hand.
func (l *exactLikelihood) fill(in *crf.Instance) {
	pot := &l.potential
	u, v := in.Graph.Ends()
	l.network.Card, l.network.Factors = l.network.Card[:0], l.network.Factors[:0]
	for s := range in.Graph.NumNodes() {
		l.network.Card = append(l.network.Card, in.States(int32(s)))
		l.network.Factors = append(l.network.Factors, mrf.Factor{Scope: []int{s}, LogTable: pot.Node[pot.NodeAt[s]:pot.NodeAt[s+1]]})
	}
	for e := range u {
		entries := in.States(u[e]) * in.States(v[e])
		l.network.Factors = append(l.network.Factors, mrf.Factor{Scope: []int{int(u[e]), int(v[e])}, LogTable: pot.Table[pot.EdgeAt[e]:][:entries]})
	}
}

// hold leaves nodes with known labels no other state.
func (l *exactLikelihood) hold(in *crf.Instance, labels []int32) {
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
func (l *exactLikelihood) infer(in *crf.Instance) *exact.Answer {
	answer, err := l.plans[in].On(&l.network).RunFactors(context.Background())
	if err != nil {
		return nil
	}
	return answer
}

// hasHidden reports whether a label is missing.
func hasHidden(labels []int32) bool {
	for _, y := range labels {
		if y == crf.Unobserved {
			return true
		}
	}
	return false
}

// eachFactor calls do for every node and edge, edges after nodes, with the joint state that
// labels, of which none is missing, have there.
func eachFactor(in *crf.Instance, labels []int32, do func(f, x int)) {
	for s, y := range labels {
		do(s, int(y))
	}
	u, v := in.Graph.Ends()
	for e := range u {
		do(len(labels)+e, int(labels[u[e]])*in.States(v[e])+int(labels[v[e]]))
	}
}

// likelihoodBytes is what Add takes for an instance, in one goroutine: potentials, tables of
// elimination, and the factors' marginals, twice where labels are missing.
func likelihoodBytes(p *Problem, in *crf.Instance, plan *exact.Plan) float64 {
	factors, answers := 0.0, 1.0
	u, v := in.Graph.Ends()
	nodes := 0.0
	for s := range int32(in.Graph.NumNodes()) {
		nodes += float64(in.States(s))
	}
	for e := range u {
		factors += float64(in.States(u[e])) * float64(in.States(v[e]))
	}
	for _, labels := range in.Samples() {
		if hasHidden(labels) || p.ClassWeights != nil {
			answers = 2
		}
	}
	const factorBytes = 96 // a Factor, its scope, and a slice for its marginal
	return ground.LocalBytes(&p.Model.Layout, in, false) + float64(plan.Bytes) + doubleBytes*(answers*(factors+2*nodes)+nodes) + factorBytes*float64(in.Graph.NumNodes()+len(u))
}
