package learn

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/oracle"
)

// topics draws a problem of hidden classes: in each instance a node without a label decides which words its neighbours
// are, and nothing else does. Zero weights, and all that treat the classes alike, are a saddle.
func topics(seed uint64, instances, classes, words, length int, l2 float64) Problem {
	rng := source(seed)
	schema := crf.Schema{
		NodeTypes: []crf.NodeType{{Name: "topic", States: crf.NumberedStates(classes), Features: 1}, {Name: "word", States: crf.NumberedStates(words), Features: 1}},
		EdgeTypes: []crf.EdgeType{{Name: "has", V: 1, Features: 1}},
	}
	p := Problem{Model: must(crf.NewModel(schema)), L2: l2}
	var us, vs, types []int32
	types = append(types, 0)
	for i := range int32(length) {
		us, vs, types = append(us, 0), append(vs, i+1), append(types, 1)
	}
	g := must(graph.FromEdges(length+1, us, vs))
	for i := range instances {
		labels := []int32{crf.Unobserved}
		class := rng.IntN(classes)
		for range length {
			y := rng.IntN(words)
			if rng.Float64() < 0.8 {
				y = class * words / classes
			}
			labels = append(labels, int32(y))
		}
		p.Data = append(p.Data, must(crf.NewInstance(&p.Model.Schema, crf.InstanceSpec{
			Name: fmt.Sprint(i), Graph: g, NodeType: types, EdgeType: make([]int32, length),
			NodeFeat: []crf.Features{crf.Constant(1, 1), crf.Constant(length, 1)}, EdgeFeat: []crf.Features{crf.Constant(length, 1)}, Labels: [][]int32{labels},
		})))
	}
	return p
}

// hiddenChain draws a problem whose words come from a hidden Markov chain.
func hiddenChain(seed uint64, length, classes, words int, l2 float64) Problem {
	rng := source(seed)
	schema := crf.Schema{
		NodeTypes: []crf.NodeType{{Name: "topic", States: crf.NumberedStates(classes), Features: 1}, {Name: "word", States: crf.NumberedStates(words), Features: 1}},
		EdgeTypes: []crf.EdgeType{{Name: "next", Features: 1}, {Name: "has", V: 1, Features: 1}},
	}
	p := Problem{Model: must(crf.NewModel(schema)), L2: l2}
	var us, vs, edgeTypes []int32
	types, labels := make([]int32, 2*length), make([]int32, 2*length)
	class := 0
	for i := range int32(length) {
		if rng.Float64() < 0.1 {
			class = rng.IntN(classes)
		}
		y := rng.IntN(words)
		if rng.Float64() < 0.8 {
			y = class * words / classes
		}
		labels[i], labels[int32(length)+i], types[int32(length)+i] = crf.Unobserved, int32(y), 1
		us, vs, edgeTypes = append(us, i), append(vs, int32(length)+i), append(edgeTypes, 1)
		if i > 0 {
			us, vs, edgeTypes = append(us, i-1), append(vs, i), append(edgeTypes, 0)
		}
	}
	g := must(graph.FromEdges(2*length, us, vs))
	p.Data = []*crf.Instance{must(crf.NewInstance(&p.Model.Schema, crf.InstanceSpec{
		Graph: g, NodeType: types, EdgeType: edgeTypes, NodeFeat: []crf.Features{crf.Constant(length, 1), crf.Constant(length, 1)},
		EdgeFeat: []crf.Features{crf.Constant(length-1, 1), crf.Constant(length, 1)}, Labels: [][]int32{labels},
	}))}
	return p
}

// symmetric returns the problem with weights that treat classes alike, but are not zero.
func symmetric(p Problem) Problem {
	w := make([]float64, len(p.Model.Weights))
	w[p.Model.Layout.Node[1].At] = 1e-3
	return p.startingAt(w)
}

// independent returns the negative log-likelihood of the words of a chain by their
// frequencies alone: the least that the objective is where all classes are alike.
func independent(p Problem) (least float64) {
	counts, n := map[int32]float64{}, 0.0
	for s, y := range p.Data[0].Samples()[0] {
		if p.Data[0].NodeType(int32(s)) == 1 {
			counts[y]++
			n++
		}
	}
	for _, c := range counts {
		least -= c * math.Log(c/n)
	}
	return least
}

// TestHiddenStatesBeginApart: where no label tells states apart, learning from zero weights
// begins beside the saddle at which they are alike, by the seed, and ends below it.
func TestHiddenStatesBeginApart(t *testing.T) {
	oracle.Long(t)
	for name, s := range map[string]Settings{"bbpl": {Assign: blocksOf(3)}, "whole": {Method: Full}, "random": {Assign: blocksOf(3), RandomOrder: true}, "exact": {Method: Exact}} {
		p := hiddenChain(1, 40, 3, 6, 0.1).with("trw")
		s.RelativeTolerance, s.MaxPasses = 1e-3, 600
		seeded := func(seed uint64, threads int) *Result { s := s; s.Seed, s.Threads = seed, threads; return fit(t, p, s) }
		a, b, c := seeded(1, 1), seeded(1, 3), seeded(2, 1)
		if !slices.Equal(a.Seeded, []string{"topic"}) || !sameBits(a, b) || slices.Equal(a.Model.Weights, c.Model.Weights) {
			t.Errorf("%s: seeded %q; the same seed gives the same bits: %v", name, a.Seeded, sameBits(a, b))
		}
		for _, r := range []*Result{a, c} {
			if alike := independent(p); !(r.Objective < alike-5) {
				t.Errorf("%s: objective %v, where states are alike at least %v", name, r.Objective, alike)
			}
		}
		if r := fit(t, symmetric(p), s); r.Seeded != nil {
			t.Errorf("%s: weights that were given were changed", name)
		}
		if norm(p.Model.Weights) > 0 {
			t.Errorf("%s: the model of the problem was changed", name)
		}
		// A run that is resumed begins where it began.
		var state *State
		s.MaxPasses, s.Checkpoint = 10, func(x *State) error { state = x.clone(); return nil }
		seeded(1, 1)
		s.MaxPasses, s.Resume = 600, state
		if r := seeded(1, 1); !sameBits(a, r) {
			t.Errorf("%s: resumed, it ends at %v instead of %v", name, r.Objective, a.Objective)
		}
		s.Seed = 2
		if _, err := Fit(t.Context(), p, s); !errors.Is(err, ErrState) {
			t.Errorf("%s: resumed with another seed: %v", name, err)
		}
	}
}

// TestWhatIsInterchangeable: only states that hidden labels may have and no label has, of
// which there are several, and only where there is something to learn.
func TestWhatIsInterchangeable(t *testing.T) {
	topic := func(change func(p *Problem)) []string {
		p := topics(1, 4, 3, 6, 5, 1)
		change(&p)
		u := instances.FindUnlabelled(p.Model, p.Data)
		return u.Types(&p.Model.Schema)
	}
	relabel := func(p *Problem, label func(s int, y int32) int32) {
		for i, in := range p.Data {
			p.Data[i] = changed(in, func(spec *crf.InstanceSpec) {
				labels := slices.Clone(in.Samples()[0])
				for s, y := range labels {
					labels[s] = label(s, y)
				}
				spec.Labels = [][]int32{labels}
			})
		}
	}
	for name, c := range map[string]struct {
		change func(p *Problem)
		want   []string
	}{
		"hidden":         {func(*Problem) {}, []string{"topic"}},
		"a given weight": {func(p *Problem) { p.Model.Weights[0] = 1e-9 }, nil},
		"no edges": {func(p *Problem) {
			for i, in := range p.Data {
				p.Data[i] = in.WithoutEdges()
			}
		}, nil},
		"no labels": {func(p *Problem) { relabel(p, func(int, int32) int32 { return crf.Unobserved }) }, nil},
		"labelled":  {func(p *Problem) { relabel(p, func(s int, y int32) int32 { return max(y, 0) }) }, nil},
		"two are left": {func(p *Problem) {
			i := 0
			relabel(p, func(s int, y int32) int32 { i++; return max(y, int32(oneIf(i == 1)-1)) })
		}, []string{"topic"}},
		"one of many is hidden": {func(p *Problem) {
			*p = topics(1, 30, 3, 6, 5, 1)
			hidden := 0
			relabel(p, func(_ int, y int32) int32 {
				hidden += oneIf(y < 0)
				return max(y, int32(oneIf(hidden > 1)-1))
			})
		}, nil},
	} {
		if got := topic(c.change); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestStartScale: what weights begin with is divided by the largest size of their feature, over the
// elements where it is drawn: weighed entry by entry here.
func TestStartScale(t *testing.T) {
	grid := must(graph.Grid(4, 4, graph.GridOptions{}))
	ends := untiedShape(grid, 4)
	ends.schema.EdgeTypes[0].Copies, ends.schema.EdgeTypes[0].Features = 0, 2
	cases := problems(t)
	edges := untiedShape(grid, 4)
	edges.schema.NodeTypes[0].Copies, edges.schema.NodeTypes[0].Features = 0, 2
	cases["untied ends"], cases["untied edges"] = ends.build(t, 1), edges.build(t, 1)
	cases["masked"] = maskedProblem(t, mixedShape(t, grid), 2)
	for name, p := range cases {
		for _, in := range p.Data {
			for _, labels := range in.Samples() {
				for s, y := range labels {
					if y > 0 {
						labels[s] = crf.Unobserved
					}
				}
			}
		}
		u := instances.FindUnlabelled(p.Model, p.Data)
		if u == nil {
			if schema := &p.Model.Schema; schema.NodeStates(len(schema.NodeTypes)-1) > 2 {
				t.Errorf("%s: no state is interchangeable", name)
			}
			continue
		}
		layout, schema := &p.Model.Layout, &p.Model.Schema
		largest := make([]float64, layout.Size)
		note := func(span *crf.Span, f *crf.Features, row, state int) {
			at := span.At + state
			if span.Untied {
				at += row * span.Copy()
			}
			entries := f.Data().Entries(row, new([]float64))
			for i := range entries.N {
				j, x := entries.At(i)
				largest[at+j*span.States] = max(largest[at+j*span.States], math.Abs(x))
			}
		}
		drawn := func(in *crf.Instance, s int32, x int) bool {
			of := u[in.NodeType(s)]
			states := of[min(in.NodeRow(s), len(of)-1)]
			return states != nil && states[x]
		}
		for _, in := range p.Data {
			for s := range int32(in.Graph.NumNodes()) {
				for x := range in.States(s) {
					if drawn(in, s, x) {
						note(&layout.Node[in.NodeType(s)], in.NodeFeatures(in.NodeType(s)), in.NodeRow(s), x)
					}
				}
			}
			for e := range int32(in.Graph.NumEdges()) {
				v, b := in.Graph.V(e), in.EdgeType(e)
				for x := range in.States(in.Graph.U(e)) {
					for y := range in.States(v) {
						if (drawn(in, in.Graph.U(e), x) || drawn(in, v, y)) && !slices.Contains(schema.EdgeTypes[b].Forbidden, [2]int{x, y}) {
							note(&layout.Edge[b], in.EdgeFeatures(b), in.EdgeRow(e), x*in.States(v)+y)
						}
					}
				}
			}
		}
		weights, rng := u.Begin(p.Model, p.Data, 5).Weights, rand.New(rand.NewPCG(5, 0x6869646465))
		for _, span := range allSpans(layout) {
			for i := span.At; i < span.At+span.Len; i++ {
				want := 0.0
				if largest[i] > 0 {
					want = 0.1 * rng.NormFloat64() / (largest[i] * math.Sqrt(float64(span.Features)))
				}
				oracle.MustEqual(t, weights[i], want, "%s: the start of weight %s, of features of at most %v", name,
					p.Model.WeightName(i), largest[i])
			}
		}
	}
}
