package gen_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
)

func Example() {
	grid, err := graph.Grid(2, 3, graph.GridOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Println(grid.Ends())

	scaleFree, err := gen.BarabasiAlbert(1000, 2, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		panic(err)
	}
	fmt.Println(scaleFree.NumNodes(), "nodes,", scaleFree.NumEdges(), "edges")

	_, err = graph.Grid(2, 5, graph.GridOptions{Torus: true})
	fmt.Println(err)
	// Output:
	// [0 0 1 1 2 3 4] [1 3 2 4 5 4 5]
	// 1000 nodes, 1996 edges
	// graph: torus of 2 rows and 5 columns, want at least 3 of each
}
