package partition_test

import (
	"fmt"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/partition"
)

func Example() {
	grid, err := graph.Grid(200, 200, graph.GridOptions{})
	if err != nil {
		panic(err)
	}
	of, blocks, err := partition.Tiles(200, 200, 4, 5)
	if err != nil {
		panic(err)
	}
	p, err := partition.FromAssignment(grid, of, blocks)
	if err != nil {
		panic(err)
	}
	quality := p.Quality()
	fmt.Printf("%d blocks cut %.1f %% of the edges\n", quality.Blocks, 100*quality.CutFraction)

	corner := p.Blocks[0]
	fmt.Println(len(corner.Nodes), "nodes,", len(corner.Edges), "edges in", len(corner.Groups), "groups")
	// Output:
	// 20 blocks cut 1.8 % of the edges
	// 2000 nodes, 4000 edges in 3 groups
}
