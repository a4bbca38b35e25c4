package synthetic_test

import (
	"context"
	"fmt"
	"log"

	"github.com/blockbp/blockbp/internal/synthetic"
	"github.com/blockbp/blockbp/learn"
)

// A synthetic grid as in the paper, only smaller: how far the weights of block
// belief propagation are from the optimum at the end.
func Example() {
	generated, err := synthetic.Generate(synthetic.Synthetic{
		Graph:  synthetic.GraphSpec{Kind: "grid", Rows: 4, Cols: 4},
		States: 3, NodeFeatures: 5, EdgeFeatures: 2, Samples: 10, Sweeps: 20, Seed: 1,
	}, 2)
	if err != nil {
		log.Fatal(err)
	}
	model := generated.Truth.Clone()
	clear(model.Weights) // learn from nothing
	c := synthetic.Comparison{Problem: learn.Problem{Model: model, Data: generated.Instances, L2: 0.01}, Tolerance: 1e-6}
	optimum, err := c.Optimum(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	path, err := c.Run(context.Background(), learn.BBPL, optimum.Model.Weights)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(generated.Instances[0].Samples()), "samples,", len(model.Weights), "weights")
	fmt.Printf("%s: %s, within 1e-4 of the optimum: %t\n", path.Method, path.Result.Status, path.Distance < 1e-4)
	// Output:
	// 10 samples, 33 weights
	// bbpl: converged, within 1e-4 of the optimum: true
}
