package learn

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/simd"
)

// maskedProblem forbids a state of the second type, and pairs of every edge type,
// none of which the labels have.
func maskedProblem(t testing.TB, s shape, seed uint64) Problem {
	t.Helper()
	plain := s.build(t, seed)
	schema := s.schema
	schema.NodeTypes, schema.EdgeTypes = slices.Clone(schema.NodeTypes), slices.Clone(schema.EdgeTypes)
	last := len(schema.NodeTypes) - 1
	schema.NodeTypes[last].Forbidden = []int{schema.NodeStates(last) - 1}
	for b := range schema.EdgeTypes {
		ku, kv := schema.EdgeStates(b)
		schema.EdgeTypes[b].Forbidden = [][2]int{{0, 1}, {ku - 1, min(2, kv-1)}}
		if ku == 2 && kv == 2 {
			schema.EdgeTypes[b].Forbidden = [][2]int{{1, 0}}
		}
	}
	p := Problem{Model: must(crf.NewModel(schema)), L2: plain.L2}
	for _, in := range plain.Data {
		spec := crf.InstanceSpec{Name: in.Name, Graph: in.Graph}
		for v := range int32(in.Graph.NumNodes()) {
			spec.NodeType = append(spec.NodeType, int32(in.NodeType(v)))
		}
		for e := range int32(in.Graph.NumEdges()) {
			spec.EdgeType = append(spec.EdgeType, int32(in.EdgeType(e)))
		}
		for a := range schema.NodeTypes {
			spec.NodeFeat = append(spec.NodeFeat, *in.NodeFeatures(a))
		}
		for b := range schema.EdgeTypes {
			spec.EdgeFeat = append(spec.EdgeFeat, *in.EdgeFeatures(b))
		}
		for _, labels := range in.Samples() {
			spec.Labels = append(spec.Labels, allowed(in, &schema, labels))
		}
		p.Data = append(p.Data, must(crf.NewInstance(&p.Model.Schema, spec)))
	}
	return p
}

// allowed hides the labels that the schema forbids.
func allowed(in *crf.Instance, schema *crf.Schema, labels []int32) []int32 {
	labels = slices.Clone(labels)
	for s, y := range labels {
		if slices.Contains(schema.NodeTypes[in.NodeType(int32(s))].Forbidden, int(y)) {
			labels[s] = 0
		}
	}
	u, v := in.Graph.Ends()
	for changed := true; changed; {
		changed = false
		for e := range u {
			pair := [2]int{int(labels[u[e]]), int(labels[v[e]])}
			if slices.Contains(schema.EdgeTypes[in.EdgeType(int32(e))].Forbidden, pair) {
				labels[v[e]], changed = crf.Unobserved, true
			}
		}
	}
	return labels
}

// chainOf is a chain in which every label 0 … k−1 follows itself or the next, as a
// mask asks: all labels are known.
func chainOf(t testing.TB, n, states int, seed uint64) Problem {
	t.Helper()
	schema := crf.Homogeneous(crf.NumberedStates(states), 2, 1)
	for x := range states {
		for y := range states {
			if y != x && y != (x+1)%states {
				schema.EdgeTypes[0].Forbidden = append(schema.EdgeTypes[0].Forbidden, [2]int{x, y})
			}
		}
	}
	rng := source(seed)
	p := Problem{Model: must(crf.NewModel(schema)), L2: 0.1}
	for range 3 {
		g := must(gen.Chain(n))
		labels := make([]int32, n)
		for s := 1; s < n; s++ {
			labels[s] = (labels[s-1] + int32(rng.IntN(2))) % int32(states)
		}
		spec := crf.InstanceSpec{Graph: g, Labels: [][]int32{labels}, NodeFeat: []crf.Features{denseFeatures(t, rng, n, 2)}, EdgeFeat: []crf.Features{crf.Constant(n-1, 1)}}
		p.Data = append(p.Data, must(crf.NewInstance(&p.Model.Schema, spec)))
	}
	return p
}

// TestMaskedLikelihoodOnTrees: on a tree bethe is exact, so that L and ∇L are those
// of the likelihood under hard zeros, by enumeration, at zero weights too.
func TestMaskedLikelihoodOnTrees(t *testing.T) {
	for seed, missing := range []float64{0, 0.4} {
		s := mixedShape(t, must(gen.Tree(8, source(uint64(seed)))))
		s.missing, s.instances, s.samples = missing, 2, 2
		for name, p := range map[string]Problem{"mixed": maskedProblem(t, s, uint64(seed)), "chain": chainOf(t, 8, 3, uint64(seed))} {
			p = p.with("bethe")
			e := must(NewEvaluator(p, 1))
			for _, scale := range []float64{0, 0.5, 2} {
				w := p.randomWeights(uint64(seed), scale)
				got := settled(t, e, w)
				want, gradient := likelihood(p, w)
				if !near(got.Objective, want, 1e-10) {
					t.Errorf("%s, missing %v, weights %v: L = %.12f, want %.12f", name, missing, scale, got.Objective, want)
				}
				if d := distance(e.l.gradient, gradient); !(d <= 1e-9*(1+norm(gradient))) {
					t.Errorf("%s, missing %v, weights %v: the gradient is off by %g", name, missing, scale, d)
				}
			}
			e.Close()
		}
	}
}

// TestMaskedMethods: every way to the optimum of a masked problem ends there, and
// weights of what is forbidden stay zero.
func TestMaskedMethods(t *testing.T) {
	for _, l2 := range []float64{0.1, 0} {
		p := chainOf(t, 12, 3, 7)
		p.L2 = l2
		for _, counting := range []string{"convex", "trw", "bethe"} {
			p := p.with(counting)
			s := Settings{Method: Full, GradientTolerance: 1e-7}
			if l2 == 0 {
				s = Settings{Method: Full, RelativeTolerance: 1e-3, MaxPasses: 500} // some weights have no optimum
			}
			want := fit(t, p, s)
			for name, settings := range runs {
				settings.GradientTolerance, settings.RelativeTolerance, settings.MaxPasses = s.GradientTolerance, s.RelativeTolerance, s.MaxPasses
				r := fit(t, p, settings)
				if l2 == 0 {
					continue
				}
				if d := distance(r.Model.Weights, want.Model.Weights) / norm(want.Model.Weights); r.Status != Converged || !(d <= 1e-5) {
					t.Errorf("%s, %s: %s (%s), relative distance %g", counting, name, r.Status, r.Reason, d)
				}
				span := r.Model.Layout.Edge[0]
				for _, pair := range p.Model.Schema.EdgeTypes[0].Forbidden {
					if w := r.Model.Weights[span.At+pair[0]*3+pair[1]]; w != 0 {
						t.Errorf("%s, %s: the weight of the forbidden pair %v is %v", counting, name, pair, w)
					}
				}
			}
		}
	}
}

// TestMaskedLocalObjectives: by their definitions, hard zeros and all.
func TestMaskedLocalObjectives(t *testing.T) {
	s := mixedShape(t, must(graph.Grid(3, 3, graph.GridOptions{})))
	s.samples, s.missing = 2, 0.2
	p := maskedProblem(t, s, 3)
	w := p.randomWeights(1, 1)
	m := p.Model.Clone()
	copy(m.Weights, w)
	for _, method := range localMethods {
		got, gradient := localAt(p, method, 1, w)
		want := 0.0
		for _, in := range p.Data {
			network := ground.Condition(m, in)
			for _, labels := range in.Samples() {
				if method == Pseudo {
					want += pseudoByScores(network, in, labels, nil) / 2
				} else {
					want += piecewiseByScores(network, in, labels, nil) / 2
				}
			}
		}
		want += p.L2 / 2 * simd.Dot(w, w)
		if !near(got, want, 1e-12) || math.IsNaN(norm(gradient)) {
			t.Errorf("%s: %v, want %v; gradient of norm %v", method, got, want, norm(gradient))
		}
		if r := fit(t, p, Settings{Method: method}); r.Status != Converged {
			t.Errorf("%s: %s: %s", method, r.Status, r.Reason)
		}
	}
}

// TestMaskRefusals: labels that are forbidden, instances of another mask, and
// states of runs with another.
func TestMaskRefusals(t *testing.T) {
	p := chainOf(t, 6, 3, 1)
	in := p.Data[0]
	labels := slices.Clone(in.Samples()[0])
	labels[3] = (labels[2] + 2) % 3
	spec := crf.InstanceSpec{Name: "bad", Graph: in.Graph, Labels: [][]int32{labels}, NodeFeat: []crf.Features{*in.NodeFeatures(0)}, EdgeFeat: []crf.Features{*in.EdgeFeatures(0)}}
	bad := p
	bad.Data = []*crf.Instance{must(crf.NewInstance(&p.Model.Schema, spec))}
	if _, err := Fit(context.Background(), bad, Settings{}); err == nil || !strings.Contains(err.Error(), "instance 0 (bad): labels of sample 0 at edges[2]: the pair") {
		t.Errorf("error %v", err)
	}
	other := p
	schema := p.Model.Schema
	schema.EdgeTypes = slices.Clone(schema.EdgeTypes)
	schema.EdgeTypes[0].Forbidden = nil
	other.Model = must(crf.NewModel(schema))
	if _, err := Fit(context.Background(), other, Settings{}); err == nil || !strings.Contains(err.Error(), "what they forbid") {
		t.Errorf("error %v", err)
	}
}

// TestMaskWithoutJointState: where a mask leaves no joint state, with the known labels
// or without, it is named as the cause, and not the weights or features.
func TestMaskWithoutJointState(t *testing.T) {
	for name, c := range map[string]struct {
		allowed [][2]int
		labels  []int32
		part    string
	}{
		"free":    {[][2]int{{0, 1}}, []int32{0, 1, crf.Unobserved}, "leaves no joint state: correct forbidden_states"},
		"clamped": {[][2]int{{0, 1}, {1, 2}, {2, 2}}, []int32{0, crf.Unobserved, 1}, "leaves no joint state with the labels that are known"},
	} {
		schema := crf.Homogeneous(crf.NumberedStates(3), 1, 1)
		for x := range 3 {
			for y := range 3 {
				if !slices.Contains(c.allowed, [2]int{x, y}) {
					schema.EdgeTypes[0].Forbidden = append(schema.EdgeTypes[0].Forbidden, [2]int{x, y})
				}
			}
		}
		p := Problem{Model: must(crf.NewModel(schema)), L2: 1}
		p.Data = append(p.Data, must(crf.NewInstance(&p.Model.Schema, crf.InstanceSpec{
			Graph: must(gen.Chain(3)), Labels: [][]int32{c.labels}, NodeFeat: []crf.Features{crf.Constant(3, 1)}, EdgeFeat: []crf.Features{crf.Constant(2, 1)},
		})))
		for _, counting := range []string{"convex", "bethe"} {
			_, err := Fit(context.Background(), p.with(counting), Settings{})
			var diverged *DivergedError
			if !errors.As(err, &diverged) || !strings.Contains(diverged.Reason, c.part) || strings.Contains(diverged.Reason, "at fault") {
				t.Errorf("%s, %s: %v", name, counting, err)
			}
		}
	}
}
