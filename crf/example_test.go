package crf_test

import (
	"fmt"
	"log"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
)

// Two pixels, of which only the first looks blue, joined by an edge that likes
// equal labels: the weights times the features are the network's tables.
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
	fmt.Println(model.WeightName(1), "=", model.Weights[1])
	network := model.Condition(in)
	fmt.Println("nodes:", network.Node)
	fmt.Println("edge:", network.Edge)
	// Output:
	// node.node[state sky, feature 0] = 10
	// nodes: [0 4 0 -4]
	// edge: [2 0 0 2]
}
