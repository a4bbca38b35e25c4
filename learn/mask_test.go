package learn

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
)

// maskedProblem forbids a state of the second type, and pairs of every edge type, none of which the labels have.
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
		spec := in.Spec()
		spec.Labels = nil
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

// chainOf is a chain in which every label 0 … k−1 follows itself or the next, as a mask asks: all labels are known.
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

// TestMaskRefusals: labels that are forbidden, instances of another mask, and states of runs with another.
func TestMaskRefusals(t *testing.T) {
	p := chainOf(t, 6, 3, 1)
	in := p.Data[0]
	labels := slices.Clone(in.Samples()[0])
	labels[3] = (labels[2] + 2) % 3
	bad := p
	bad.Data = []*crf.Instance{changed(in, func(spec *crf.InstanceSpec) { spec.Name, spec.Labels = "bad", [][]int32{labels} })}
	oracle.Fails(Fit(t.Context(), bad, Settings{}))(t, "instance 0 (bad): labels of sample 0 at edges[2]: the pair")
	other, schema := p, p.Model.Schema
	schema.EdgeTypes = slices.Clone(schema.EdgeTypes)
	schema.EdgeTypes[0].Forbidden = nil
	other.Model = must(crf.NewModel(schema))
	oracle.Fails(Fit(context.Background(), other, Settings{}))(t, "what they forbid")
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

// TestForbiddenPairsInBlocks: stripes, of which neighbours differ by one at most. Consistent beliefs take forbidden
// pairs until messages rest, and bound nothing: checks must not take a claim for decided before, again and again.
func TestForbiddenPairsInBlocks(t *testing.T) {
	const n = 20
	schema := crf.Homogeneous(crf.NumberedStates(3), 2, 1)
	schema.EdgeTypes[0].Forbidden = [][2]int{{0, 2}, {2, 0}}
	p, rng := Problem{Model: must(crf.NewModel(schema)), L2: 0.01}.with("convex"), rand.New(rand.NewPCG(1, 2))
	g, labels, x := must(graph.Grid(n, n, graph.GridOptions{})), make([]int32, n*n), make([]float64, 2*n*n)
	for i := range labels {
		labels[i] = []int32{0, 1, 2, 1, 0}[i%n/4]
		x[2*i], x[2*i+1] = float64(labels[i])+rng.NormFloat64(), rng.NormFloat64()
	}
	p.Data = []*crf.Instance{must(crf.NewInstance(&p.Model.Schema, crf.InstanceSpec{Graph: g, Labels: [][]int32{labels},
		NodeFeat: []crf.Features{must(crf.Dense(x, 2))}, EdgeFeat: []crf.Features{crf.Constant(g.NumEdges(), 1)}}))}
	r := fit(t, p, Settings{Method: BBPL, Cut: Cut{Blocks: 4}, MaxPasses: 2000})
	oracle.Equal(t, r.Status, Converged, "after %.0f passes: %s", r.Passes, r.Reason)
}
