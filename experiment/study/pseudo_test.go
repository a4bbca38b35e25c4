package study

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/learn"
)

// TestPseudoLikelihoodGradient compares the gradient with differences, where labels
// are missing too.
func TestPseudoLikelihoodGradient(t *testing.T) {
	b := must(Problem{Kind: BA, Size: 12, Seed: 1}.build(1))
	in := b.in
	labels := append([][]int32{}, in.Samples()...)
	labels[0] = append([]int32{}, labels[0]...)
	labels[0][3] = crf.Unobserved
	p := learn.Problem{Model: b.problem.Model, L2: 0.3}
	spec := crf.InstanceSpec{Graph: in.Graph, NodeFeat: []crf.Features{*in.NodeFeatures(0)}, EdgeFeat: []crf.Features{*in.EdgeFeatures(0)}, Labels: labels}
	p.Data = []*crf.Instance{must(crf.NewInstance(&p.Model.Schema, spec))}
	l := must(newPseudoLikelihood(&p))
	rng := rand.New(rand.NewPCG(1, 2))
	theta := make([]float64, len(p.Model.Weights))
	for i := range theta {
		theta[i] = 0.3 * rng.NormFloat64()
	}
	gradient, scratch := make([]float64, len(theta)), make([]float64, len(theta))
	l.evaluate(gradient, theta)
	gradient = slices.Clone(gradient) // later evaluations must not complete it
	const h = 1e-5
	for i := 0; i < len(theta); i += 37 {
		theta[i] += h
		above := l.evaluate(scratch, theta)
		theta[i] -= 2 * h
		below := l.evaluate(scratch, theta)
		theta[i] += h
		if slope := (above - below) / (2 * h); math.Abs(slope-gradient[i]) > 1e-6*(1+math.Abs(slope)) {
			t.Errorf("weight %d: gradient %v, differences %v", i, gradient[i], slope)
		}
	}
}

// TestPseudoLikelihoodValue: at zero weights every conditional is uniform.
func TestPseudoLikelihoodValue(t *testing.T) {
	b := must(Problem{Kind: Grid, Size: 4, Seed: 1}.build(1))
	l := must(newPseudoLikelihood(&b.problem))
	n := len(b.problem.Model.Weights)
	if value, want := l.evaluate(make([]float64, n), make([]float64, n)), 16*math.Log(8); math.Abs(value-want) > 1e-10 {
		t.Errorf("%v at zero weights, want %v", value, want)
	}
}
