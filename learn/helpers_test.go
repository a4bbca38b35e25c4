package learn

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/partition"
)

// must returns the value of a call that may not fail here.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 31)) }

// The counting numbers by name, for Problem.Counting.
var countings = map[string]func(*graph.Graph) (*counting.Numbers, error){
	"convex": nil,
	"trw":    func(g *graph.Graph) (*counting.Numbers, error) { return counting.SampledTreeReweighted(g, 1) },
	"bethe":  func(g *graph.Graph) (*counting.Numbers, error) { return counting.Bethe(g), nil },
	"half": func(g *graph.Graph) (*counting.Numbers, error) {
		node := make([]float64, g.NumNodes())
		for s := range node {
			node[s] = 1 - float64(g.Degree(int32(s)))/2
		}
		return counting.Given("half", node, slices.Repeat([]float64{0.5}, g.NumEdges()))(g)
	},
}

func (p Problem) with(counting string) Problem {
	make, ok := countings[counting]
	if !ok {
		panic("no counting numbers " + counting)
	}
	p.Counting = make
	return p
}

// randomWeights draws weights for the problem.
func (p Problem) randomWeights(seed uint64, scale float64) []float64 {
	rng := source(seed)
	w := make([]float64, len(p.Model.Weights))
	for i := range w {
		w[i] = scale * rng.NormFloat64()
	}
	return w
}

// startingAt returns the problem with other initial weights.
func (p Problem) startingAt(weights []float64) Problem {
	p.Model = p.Model.Clone()
	copy(p.Model.Weights, weights)
	return p
}

// shape is what build makes a problem from.
type shape struct {
	schema    crf.Schema
	nodeType  []int32 // nil: all 0
	graph     *graph.Graph
	instances int
	samples   int
	missing   float64
	l2        float64
}

// build draws dense features, or constant ones for untied types, and labels. The edges of the graph must run from the
// lower node type to the higher, as the schema's edge types do; there is one edge type for each pair that occurs.
func (s shape) build(t testing.TB, seed uint64) Problem {
	t.Helper()
	rng := source(seed)
	model := oracle.Must(crf.NewModel(s.schema))(t)
	p := Problem{Model: model, L2: s.l2}
	typeOf := func(v int32) int32 {
		if s.nodeType == nil {
			return 0
		}
		return s.nodeType[v]
	}
	nodeCount, edgeCount := make([]int, len(s.schema.NodeTypes)), make([]int, len(s.schema.EdgeTypes))
	for v := range int32(s.graph.NumNodes()) {
		nodeCount[typeOf(v)]++
	}
	edgeType := make([]int32, s.graph.NumEdges())
	for e := range int32(len(edgeType)) {
		u, v := int(typeOf(s.graph.U(e))), int(typeOf(s.graph.V(e)))
		edgeType[e] = int32(slices.IndexFunc(s.schema.EdgeTypes, func(b crf.EdgeType) bool { return b.U == u && b.V == v }))
		edgeCount[edgeType[e]]++
	}
	features := func(rows, dim, copies int) crf.Features {
		if copies > 0 || dim == 0 || rows == 0 {
			return crf.Constant(rows, dim)
		}
		return denseFeatures(t, rng, rows, dim)
	}
	for i := range max(1, s.instances) {
		spec := crf.InstanceSpec{Name: fmt.Sprint("instance ", i), Graph: s.graph, NodeType: s.nodeType, EdgeType: edgeType}
		for a, nt := range s.schema.NodeTypes {
			spec.NodeFeat = append(spec.NodeFeat, features(nodeCount[a], nt.Features, nt.Copies))
		}
		for b, et := range s.schema.EdgeTypes {
			spec.EdgeFeat = append(spec.EdgeFeat, features(edgeCount[b], et.Features, et.Copies))
		}
		for range max(1, s.samples) {
			labels := make([]int32, s.graph.NumNodes())
			for v := range labels {
				labels[v] = int32(rng.IntN(s.schema.NodeStates(int(typeOf(int32(v))))))
				if rng.Float64() < s.missing {
					labels[v] = crf.Unobserved
				}
			}
			spec.Labels = append(spec.Labels, labels)
		}
		in := oracle.Must(crf.NewInstance(&model.Schema, spec))(t)
		p.Data = append(p.Data, in)
	}
	return p
}

// mixedShape has two node types, with 2 and 4 states, on a graph with loops
// whose edges run from the first type to the second or stay within the first.
func mixedShape(t testing.TB, g *graph.Graph) shape {
	t.Helper()
	n := g.NumNodes()
	s := shape{nodeType: make([]int32, n), l2: 0.2, schema: crf.Schema{
		NodeTypes: []crf.NodeType{
			{Name: "pixel", States: crf.NumberedStates(2), Features: 3},
			{Name: "region", States: crf.NumberedStates(4), Features: 2},
		},
		EdgeTypes: []crf.EdgeType{{Name: "beside", Features: 2}, {Name: "in", V: 1, Features: 1}, {Name: "touch", U: 1, V: 1, Features: 1}},
	}}
	for v := range s.nodeType {
		if v%3 == 2 {
			s.nodeType[v] = 1
		}
	}
	u, v := g.Ends()
	u, v = slices.Clone(u), slices.Clone(v)
	for e := range u {
		if s.nodeType[u[e]] > s.nodeType[v[e]] {
			u[e], v[e] = v[e], u[e]
		}
	}
	s.graph = must(graph.FromEdges(n, u, v))
	return s
}

// untiedShape gives every node and edge weights of its own: the paper's non-templated network.
func untiedShape(g *graph.Graph, states int) shape {
	return shape{graph: g, samples: 12, l2: 0.1, schema: crf.Schema{
		NodeTypes: []crf.NodeType{{Name: "node", States: crf.NumberedStates(states), Features: 1, Copies: g.NumNodes()}},
		EdgeTypes: []crf.EdgeType{{Name: "edge", Features: 1, Copies: g.NumEdges()}},
	}}
}

// problems are small problems of every kind, by name.
func problems(t testing.TB) map[string]Problem {
	t.Helper()
	grid := must(graph.Grid(4, 4, graph.GridOptions{}))
	withMissing := mixedShape(t, grid)
	withMissing.missing, withMissing.samples, withMissing.instances = 0.3, 2, 2
	half := untiedShape(grid, 2) // untied nodes, tied edges
	half.schema.EdgeTypes[0].Copies, half.schema.EdgeTypes[0].Features = 0, 2
	several := mixedShape(t, grid)
	several.instances, several.samples = 2, 3
	sparse := problemOptions{rows: 4, cols: 4, states: 3, nodeDim: 3, edgeDim: 2, l2: 0.3}
	binned, missing, instances, samples := sparse, sparse, sparse, sparse
	binned.bins, binned.edgeDim = true, 4
	missing.missing, missing.samples = 0.3, 3
	instances.instances, samples.samples = 3, 4
	return map[string]Problem{
		"plain":         randomProblem(t, 1, sparse),
		"binned":        randomProblem(t, 2, binned),
		"missing":       randomProblem(t, 3, missing),
		"instances":     randomProblem(t, 4, instances),
		"samples":       randomProblem(t, 5, samples),
		"mixed types":   several.build(t, 6),
		"mixed missing": withMissing.build(t, 7),
		"untied":        untiedShape(grid, 3).build(t, 8),
		"untied nodes":  half.build(t, 9),
	}
}

// changed returns an instance that differs from another in what change does.
func changed(in *crf.Instance, change func(spec *crf.InstanceSpec)) *crf.Instance {
	spec := in.Spec()
	change(&spec)
	return must(crf.NewInstance(in.Schema(), spec))
}

// settled evaluates until messages change by less than 1e-12, so that values do
// not depend on the tolerance of a single evaluation.
func settled(t testing.TB, e *Evaluator, weights []float64) *Result {
	t.Helper()
	for range 400 {
		x := oracle.Must(e.At(weights))(t)
		if x.Residual <= 1e-12 {
			return x
		}
	}
	t.Fatal("inference does not settle")
	return nil
}

// fit runs Fit and checks what every result promises.
func fit(t testing.TB, p Problem, s Settings) *Result {
	t.Helper()
	s.Method = cmp.Or(s.Method, BBPL) // small networks would stay whole
	r := oracle.Must(Fit(context.Background(), p, s))(t)
	checkResult(t, r)
	return r
}

// checkResult: numbers are numbers, and Converged claims what it may.
func checkResult(t testing.TB, r *Result) {
	t.Helper()
	for i, w := range r.Model.Weights {
		if math.IsNaN(w) || math.IsInf(w, 0) {
			t.Fatalf("weight %s is %v", r.Model.WeightName(i), w)
		}
	}
	finite := func(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
	if !finite(r.Objective) || !finite(r.GradientNorm) || !finite(r.FirstGradientNorm) || r.Status == "" || r.Reason == "" {
		t.Fatalf("result %+v", *r)
	}
	if r.Status.Stationary() && (!r.Checked || !r.InferenceConverged || r.Status != stationary(r.Convex)) {
		t.Fatalf("a claim without a check, or too large a one: %+v", *r)
	}
	if r.CheckPasses > r.Passes || r.CheckSeconds > r.Seconds+1e-6 || r.StateBytes <= 0 {
		t.Fatalf("work %+v", *r)
	}
}

// blocksOf cuts an instance breadth-first into the given number of blocks.
func blocksOf(n int) func(*crf.Instance) ([]int32, int, error) {
	return func(in *crf.Instance) ([]int32, int, error) {
		return partition.BreadthFirst(in.Graph, n), n, nil
	}
}

// sameBits reports whether two runs ended in the same bits.
func sameBits(a, b *Result) bool {
	return slices.EqualFunc(a.Model.Weights, b.Model.Weights, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) }) &&
		math.Float64bits(a.Objective) == math.Float64bits(b.Objective) && math.Float64bits(a.GradientNorm) == math.Float64bits(b.GradientNorm) &&
		a.Iterations == b.Iterations && a.Status == b.Status && a.Reason == b.Reason &&
		math.Float64bits(a.Gap) == math.Float64bits(b.Gap) && math.Float64bits(a.Residual) == math.Float64bits(b.Residual) &&
		a.Passes == b.Passes && a.CheckPasses == b.CheckPasses && a.GradientPasses == b.GradientPasses
}

// blockLearner returns a learner of p by blocks, before its first visit.
func blockLearner(t *testing.T, p *Problem) *learner {
	t.Helper()
	settings := Settings{Method: BBPL}
	resolved := settings.Resolved()
	l := must(newLearner(p, &resolved))
	t.Cleanup(l.pool.Close)
	return l
}

// drawnClassWeights are weights of the states of all node types, from 0.2 to 2.2.
func drawnClassWeights(p Problem) (weights [][]float64) {
	rng := source(9)
	for _, kind := range p.Model.Schema.NodeTypes {
		omega := make([]float64, len(kind.States))
		for i := range omega {
			omega[i] = 0.2 + 2*rng.Float64()
		}
		weights = append(weights, omega)
	}
	return weights
}

// nearly fails a test unless got is near want.
func nearly(t oracle.TB, got, want, share float64, what string, args ...any) {
	t.Helper()
	oracle.Near(t, got, want, share*max(1, math.Abs(got), math.Abs(want)), what, args...)
}

var oneIf = numeric.OneIf
