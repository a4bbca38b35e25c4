package infer_test

import (
	"context"
	"fmt"
	"log"

	"github.com/blockbp/blockbp/bp"
	"github.com/blockbp/blockbp/graph/gen"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/mrf"
)

// A ring of four variables that like to agree with their neighbours, the first
// of which prefers state 1: a certified upper bound on log Z, and marginals.
func ExampleBeliefPropagation() {
	ring, err := gen.Grid(2, 2, gen.GridOptions{})
	if err != nil {
		log.Fatal(err)
	}
	p := &mrf.Pairwise{Graph: ring, Card: []int32{2, 2, 2, 2}, NodeAt: []int{0, 2, 4, 6, 8}, EdgeAt: []int{0}}
	p.Node = []float64{0, 1, 0, 0, 0, 0, 0, 0}
	for range ring.NumEdges() {
		p.Edge = append(p.Edge, 0.5, 0, 0, 0.5)
		p.EdgeAt = append(p.EdgeAt, len(p.Edge))
	}
	counting, err := bp.CertifiableTreeReweighted(ring, 1)
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
