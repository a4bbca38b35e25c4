package mrf_test

import (
	"fmt"
	"log"

	"github.com/blockbp/blockbp/mrf"
)

// Two factors on the same two variables, in opposite orders, become one edge.
func ExampleNetwork_Pairwise() {
	n := &mrf.Network{
		Card: []int{2, 2},
		Factors: []mrf.Factor{
			{Scope: []int{1, 0}, LogTable: []float64{0, 1, 2, 3}},
			{Scope: []int{0, 1}, LogTable: []float64{0, 10, 20, 30}},
		},
	}
	p, err := n.Pairwise()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("edge from", p.Graph.U(0), "to", p.Graph.V(0), "table", p.Edge)
	// Output: edge from 1 to 0 table [0 21 12 33]
}
