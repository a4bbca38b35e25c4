package bp_test

import (
	"context"
	"fmt"
	"log"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/partition"
)

// Three variables in a triangle that like to agree, the first of which prefers
// state 1: one block, swept to convergence.
func Example() {
	g, err := gen.Complete(3)
	if err != nil {
		log.Fatal(err)
	}
	net, err := bp.NewNet(g, []int32{2, 2, 2}, counting.Convex(g), nil)
	if err != nil {
		log.Fatal(err)
	}
	state, whole := bp.NewState(net), partition.Whole(g)
	block := &whole.Blocks[0]

	var w bp.Workspace
	w.Potentials.Node, w.Potentials.NodeAt = []float64{0, 2, 0, 0, 0, 0}, []int{0, 2, 4, 6}
	// All edges share one table.
	w.Potentials.Table, w.Potentials.EdgeAt = []float64{1, 0, 0, 1}, []int{0, 0, 0}
	w.Potentials.TableID, w.Potentials.NumTables = []int32{0, 0, 0}, 1
	if err := w.Prepare(net, block); err != nil {
		log.Fatal(err)
	}
	outcome, err := w.Iterate(context.Background(), net, state, block, bp.Limits{Tolerance: 1e-9, MaxSweeps: 100})
	if err != nil {
		log.Fatal(err)
	}
	values, err := w.Evaluate(net, state, block, true)
	if err != nil {
		log.Fatal(err)
	}
	belief := make([]float64, 2)
	net.Belief(belief, state, 2)
	fmt.Println("converged:", outcome.Converged)
	fmt.Printf("belief of the third variable: %.4f\n", belief)
	fmt.Printf("%.4f ≤ B ≤ %.4f, an %s bound on log Z\n", values.Primal, values.Dual, net.Counting.Facts.Bound)
	// Output:
	// converged: true
	// belief of the third variable: [0.4710 0.5290]
	// 9.2478 ≤ B ≤ 9.2478, an upper bound on log Z
}
