package dataset_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/blockbp/blockbp/dataset"
)

// A chain of three words in memory, with two features for each and one label hidden.
func ExampleFromArrays() {
	set, err := dataset.FromArrays(
		dataset.Manifest{States: []string{"noun", "verb"}},
		dataset.Options{},
		&dataset.Arrays{
			Name:         "dogs bark loudly",
			Edges:        [][2]int32{{0, 1}, {1, 2}},
			NodeFeatures: &dataset.Matrix{Columns: 2, Data: []float64{1, 0.2, 1, 0.9, 1, 0.4}},
			Labels:       [][]int32{{0, 1, -1}},
		})
	if err != nil {
		log.Fatal(err)
	}
	in := set.Instances[0]
	fmt.Println(in.Name, set.Schema.NodeTypes[0].States, in.Graph.NumEdges(), "edges", in.Samples()[0])

	_, err = dataset.FromArrays(dataset.Manifest{}, dataset.Options{}, &dataset.Arrays{Edges: [][2]int32{{0, 0}}, Labels: [][]int32{{0, 1}}})
	place, _, _ := strings.Cut(err.Error(), ";") // which the next step follows
	fmt.Println(place)
	// Output:
	// dogs bark loudly [noun verb] 2 edges [0 1 -1]
	// 0:edges[0]: is (0, 0): an edge must join two different nodes
}
