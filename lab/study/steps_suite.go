package study

import (
	"cmp"
	"fmt"
)

// stepsCase is one problem of the suite for step rules.
type stepsCase struct {
	Problem Problem `json:"problem"`
	Blocks  int     `json:"blocks"`
}

// name tells a case from the others.
func (c stepsCase) name() string {
	p := c.Problem
	name := fmt.Sprintf("%s, %s, k = %d, D = %d, l2 = %g", p.Name(), p.Counting, p.States, c.Blocks, p.L2PerVariable)
	if p.Untied {
		name += ", untied"
	}
	switch p.Features {
	case Scaled, Correlated:
		name += ", " + p.Features
	case IllScaled:
		name += ", correlated and scaled"
	}
	return name
}

// suiteCase is a case with what it leaves at the suite's defaults: zero fields.
type suiteCase struct {
	kind, counting, features string
	states, blocks           int
	l2                       float64 // per variable
	weights                  float64 // scale of the true weights
	untied                   bool
}

// suiteCases vary, one or two at a time, what data and users may bring: the graph, the counting numbers, the number of
// states and blocks, the regulariser, untied weights and the scales and correlations of features.
var suiteCases = []suiteCase{
	{counting: "trw"},
	{counting: "convex"},
	{kind: BA, counting: "trw"},
	{kind: BA, counting: "convex"},
	{counting: "trw", weights: 0.3},
	{counting: "trw", states: 2},
	{kind: BA, counting: "convex", states: 2},
	{counting: "convex", states: 21},
	{counting: "trw", blocks: 5},
	{counting: "trw", blocks: 100},
	{counting: "convex", blocks: 100},
	{counting: "trw", l2: 1e-6},
	{counting: "convex", l2: 1e-6},
	{counting: "trw", l2: 1},
	{kind: BA, counting: "convex", l2: 1},
	{counting: "trw", states: 3, untied: true},
	{kind: BA, counting: "convex", states: 3, untied: true},
	{counting: "trw", features: IllScaled},
	{counting: "convex", features: IllScaled},
	{kind: BA, counting: "trw", features: IllScaled},
	{counting: "trw", features: Correlated},
	{counting: "convex", features: Scaled},
	{counting: "convex", features: IllScaled, l2: 1e-6},
	{counting: "trw", features: IllScaled, l2: 1e-6},
}

// stepsCases returns the suite at the settings' scale.
func stepsCases(s Settings) []stepsCase {
	x := s.sizes()
	var all []stepsCase
	for _, c := range suiteCases[:min(len(suiteCases), x.stepsCases)] {
		for seed := range x.stepsSeeds {
			all = append(all, c.of(x, uint64(seed+1)))
		}
	}
	return all
}

// of resolves a case at a scale.
func (c suiteCase) of(x sizes, seed uint64) stepsCase {
	p := Problem{
		Kind: cmp.Or(c.kind, Grid), Size: x.stepsSide, Seed: seed, Counting: c.counting, States: cmp.Or(c.states, 8),
		L2PerVariable: cmp.Or(c.l2, 1e-3), Features: c.features, WeightScale: c.weights, Untied: c.untied,
	}
	if p.Kind == BA {
		p.Size = x.stepsSide * x.stepsSide
	}
	return stepsCase{Problem: p.withDefaults(), Blocks: cmp.Or(c.blocks, paperBlocks)}
}
