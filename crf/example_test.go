package crf_test

import (
	"fmt"
	"log"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
)

// Two pixels, of which only the first looks blue and has a label, joined by an edge
// that likes equal labels.
func Example() {
	model, err := crf.NewModel(crf.Homogeneous([]string{"land", "sky"}, 2, 1))
	if err != nil {
		log.Fatal(err)
	}
	g, err := graph.FromEdges(2, []int32{0}, []int32{1})
	if err != nil {
		log.Fatal(err)
	}
	blueAndBias, err := crf.Dense([]float64{0.9, 1, 0.1, 1}, 2)
	if err != nil {
		log.Fatal(err)
	}
	in, err := crf.NewInstance(&model.Schema, crf.InstanceSpec{
		Graph:    g,
		NodeFeat: []crf.Features{blueAndBias},
		EdgeFeat: []crf.Features{crf.Constant(1, 1)},
		Labels:   [][]int32{{1, crf.Unobserved}},
	})
	if err != nil {
		log.Fatal(err)
	}
	copy(model.Weights, []float64{
		0, 10, // feature blue: land, sky
		0, -5, // bias: land, sky
		2, 0, 0, 2, // edge: land land, land sky, sky land, sky sky
	})
	for i, weight := range model.Weights {
		if weight != 0 {
			fmt.Printf("%s = %v\n", model.WeightName(i), weight)
		}
	}
	fmt.Println("labels:", in.Samples()[0])
	// Output:
	// node.node[state sky, feature 0] = 10
	// node.node[state sky, feature 1] = -5
	// edge.edge[states land, land, feature 0] = 2
	// edge.edge[states sky, sky, feature 0] = 2
	// labels: [1 -1]
}
