package infer_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/mrf"
)

// A ring of four variables that like to agree with their neighbours, the first
// of which prefers state 1: a certified upper bound on log Z, and marginals.
func ExampleBeliefPropagation() {
	ring, err := graph.Grid(2, 2, graph.GridOptions{})
	if err != nil {
		log.Fatal(err)
	}
	p := &mrf.Pairwise{Graph: ring, Card: []int32{2, 2, 2, 2}, NodeAt: []int{0, 2, 4, 6, 8}, EdgeAt: []int{0}}
	p.Node = []float64{0, 1, 0, 0, 0, 0, 0, 0}
	for range ring.NumEdges() {
		p.Edge = append(p.Edge, 0.5, 0, 0, 0.5)
		p.EdgeAt = append(p.EdgeAt, len(p.Edge))
	}
	counting, err := counting.SampledTreeReweighted(ring, 1, true)
	if err != nil {
		log.Fatal(err)
	}
	result, err := infer.BeliefPropagation(context.Background(), p, counting, infer.DefaultLimits)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("log Z: %.3f, %s bound, gap below 1e-6: %t\n", result.LogZ, result.Bound, result.Gap < 1e-6)
	for s, belief := range result.NodeMarginals() {
		fmt.Printf("node %d: %.3f\n", s, belief)
	}
	// Output:
	// log Z: 4.553, upper bound, gap below 1e-6: true
	// node 0: [0.275 0.725]
	// node 1: [0.443 0.557]
	// node 2: [0.443 0.557]
	// node 3: [0.474 0.526]
}

// Four variables in a chain, of which neighbours are never both in state 1: a
// forest, so the draws are exact and independent.
func ExampleSample() {
	chain, err := gen.Chain(4)
	if err != nil {
		log.Fatal(err)
	}
	p := &mrf.Pairwise{Graph: chain, Card: []int32{2, 2, 2, 2}, NodeAt: []int{0, 2, 4, 6, 8}, EdgeAt: []int{0}, Node: make([]float64, 8)}
	for range chain.NumEdges() {
		p.Edge = append(p.Edge, 0, 0, 0, math.Inf(-1))
		p.EdgeAt = append(p.EdgeAt, len(p.Edge))
	}
	samples, err := infer.Sample(context.Background(), p, infer.SampleSettings{Draws: 3, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s; there are %.0f possible joint states\n", samples.Sampler, math.Exp(samples.LogZ))
	x := make([]int32, 4)
	for i := range samples.Len() {
		samples.Draw(x, i)
		fmt.Println(x, "neighbours both in state 1:", x[0]+x[1] == 2 || x[1]+x[2] == 2 || x[2]+x[3] == 2)
	}
	// Output:
	// exact; there are 8 possible joint states
	// [1 0 1 0] neighbours both in state 1: false
	// [0 1 0 1] neighbours both in state 1: false
	// [1 0 1 0] neighbours both in state 1: false
}
