package learn

import (
	"testing"

	"github.com/blockbp/blockbp/graph/gen"
)

// Node and edge types are numbered apart: a model may have more of either.
// types than node types: newKronecker evaluates in.NodeFeatures(t) for edge
func TestMoreEdgeTypesThanNodeTypes(t *testing.T) {
	p := mixedShape(t, must(gen.Grid(3, 3, gen.GridOptions{}))).build(t, 1) // 2 node types, 3 edge types
	if r := fit(t, p, Settings{}); r.Status != Converged {
		t.Error(r.Status)
	}
}

// Settings can be used twice: a rule starts afresh with every run.
func TestStepRuleUsedTwice(t *testing.T) {
	p := problems(t)["plain"]
	for _, step := range []StepRule{NewAuto(), &Fixed{Alpha: 0.5}, &InverseTime{Alpha: 0.5}, &AdaGrad{Alpha: 0.5}} {
		s := Settings{Step: step, MaxPasses: 20}
		if a, b := fit(t, p, s), fit(t, p, s); !sameBits(a, b) {
			t.Errorf("%s: a second run with the same settings ends elsewhere", step)
		}
	}
}
