package infer_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/mrf"
)

// ring is four variables that like to agree with their neighbours, the first of which prefers state 1.
func ring() *mrf.Network {
	n := &mrf.Network{Card: []int{2, 2, 2, 2}, Factors: []mrf.Factor{{Scope: []int{0}, LogTable: []float64{0, 1}}}}
	for v := range 4 {
		n.Factors = append(n.Factors, mrf.Factor{Scope: []int{v, (v + 1) % 4}, LogTable: []float64{0.5, 0, 0, 0.5}})
	}
	return n
}

// The best method that fits, which is exact here, and two certified upper bounds on log Z
// for networks on which it would not fit.
func ExampleMarginals() {
	convex, err := counting.Parse(context.Background(), "convex", 1)
	if err != nil {
		log.Fatal(err)
	}
	for _, options := range []infer.Options{{}, {Method: infer.Propagation, Seed: 1}, {Counting: convex}} {
		result, err := infer.Marginals(context.Background(), ring(), options)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: log Z %.3f (%s), P(x0) %.3f, P(x2) %.3f\n", result.Method, result.LogZ, result.Bound, result.Marginals[0], result.Marginals[2])
	}
	// Output:
	// exact: log Z 4.520 (exact), P(x0) [0.269 0.731], P(x2) [0.472 0.528]
	// bp: log Z 4.553 (upper), P(x0) [0.275 0.725], P(x2) [0.474 0.526]
	// bp: log Z 9.982 (upper), P(x0) [0.420 0.580], P(x2) [0.499 0.501]
}

// The ring given that its third variable is in state 0.
func ExampleMostProbable() {
	state, err := infer.MostProbable(context.Background(), ring(), infer.Options{Evidence: map[int]int{2: 0}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v, energy %.1f, optimal: %t\n", state.States, state.Energy, state.Optimal)
	// Output:
	// [0 0 0 0], energy -2.0, optimal: true
}

// Four variables in a chain, of which neighbours are never both in state 1: a
// narrow network, so the draws are exact and independent.
func ExampleSample() {
	chain := &mrf.Network{Card: []int{2, 2, 2, 2}}
	for v := range 3 {
		chain.Factors = append(chain.Factors, mrf.Factor{Scope: []int{v, v + 1}, LogTable: []float64{0, 0, 0, math.Inf(-1)}})
	}
	samples, err := infer.Sample(context.Background(), chain, infer.SampleOptions{Draws: 3, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s; there are %.0f possible joint states\n", samples.Method, math.Exp(samples.LogZ))
	x := make([]int32, 4)
	for i := range samples.Len() {
		samples.Draw(x, i)
		fmt.Println(x, "neighbours both in state 1:", x[0]+x[1] == 2 || x[1]+x[2] == 2 || x[2]+x[3] == 2)
	}
	// Output:
	// exact; there are 8 possible joint states
	// [0 1 0 1] neighbours both in state 1: false
	// [1 0 1 0] neighbours both in state 1: false
	// [0 1 0 1] neighbours both in state 1: false
}

// A model of two states on a chain of three nodes, of which the first is known.
func ExamplePredictor() {
	model, err := crf.NewModel(crf.Homogeneous([]string{"cold", "warm"}, 1, 1))
	if err != nil {
		log.Fatal(err)
	}
	chain, err := graph.FromEdges(3, []int32{0, 1}, []int32{1, 2})
	if err != nil {
		log.Fatal(err)
	}
	in, err := crf.NewInstance(&model.Schema, crf.InstanceSpec{
		Graph: chain, NodeFeat: []crf.Features{crf.Constant(3, 1)}, EdgeFeat: []crf.Features{crf.Constant(2, 1)},
	})
	if err != nil {
		log.Fatal(err)
	}
	copy(model.Weights, []float64{0, 0, 1, 0, 0, 1}) // neighbours like to agree
	predictor := &infer.Predictor{Model: model}
	beliefs, err := predictor.Predict(context.Background(), in, []int32{1, -1, -1})
	if err != nil {
		log.Fatal(err)
	}
	for s, label := range beliefs.Labels {
		fmt.Printf("%s: %.2f\n", model.Schema.NodeTypes[0].States[label], beliefs.Of(s)[label])
	}
	// Output:
	// warm: 1.00
	// warm: 0.58
	// warm: 0.52
}
