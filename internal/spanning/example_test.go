package spanning_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/spanning"
)

func Example() {
	grid, err := graph.Grid(20, 20, graph.GridOptions{})
	if err != nil {
		panic(err)
	}
	sample, err := spanning.Cover(context.Background(), grid, rand.New(rand.NewPCG(1, 2)), 100, false)
	if err != nil {
		panic(err)
	}
	mu := sample.Appearance()
	fmt.Printf("%d forests, edge appearance from %.2f to %.2f\n", sample.Forests, slices.Min(mu), slices.Max(mu))
	fmt.Println(spanning.CheckForestPolytope(grid, mu).Status)

	for e := range mu {
		mu[e] = 0.6
	}
	verdict := spanning.CheckForestPolytope(grid, mu)
	fmt.Println(verdict.Status, "because", verdict.Reason)
	// Output:
	// 100 forests, edge appearance from 0.51 to 0.55
	// inside
	// outside because the edges among 400 nodes have edge appearances that sum to 456, want at most 399 (over by 57)
}
