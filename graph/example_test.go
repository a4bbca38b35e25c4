package graph_test

import (
	"fmt"
	"log"

	"github.com/blockbp/blockbp/graph"
)

// A triangle and a lone node. Directed edge 2e runs along edge e, 2e+1 against it.
func Example() {
	g, err := graph.FromEdges(4, []int32{0, 1, 2}, []int32{1, 2, 0})
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range g.Incoming(2) {
		fmt.Printf("directed edge %d: from %d to %d\n", d, g.Source(d), g.Target(d))
	}
	component, count := g.Components()
	fmt.Println(count, "components", component, "forest:", g.IsForest())
	_, err = graph.FromEdges(4, []int32{0, 1}, []int32{1, 0})
	fmt.Println(err)
	// Output:
	// directed edge 2: from 1 to 2
	// directed edge 5: from 0 to 2
	// 2 components [0 0 0 1] forest: false
	// edges[1] = (1, 0): nodes 0 and 1 are already joined by an earlier edge; merge the two
}
