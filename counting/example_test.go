package counting_test

import (
	"context"
	"fmt"
	"log"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
)

// The usual choices on a triangle, and what is known of the values of inference.
func ExampleParse() {
	g, err := graph.FromEdges(3, []int32{0, 1, 2}, []int32{1, 2, 0})
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range counting.Names {
		make, err := counting.Parse(context.Background(), name, 1)
		if err != nil {
			log.Fatal(err)
		}
		c, err := make(g)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s: edge %.2f, convex %t, bound %s\n", c.Name, c.Edge[0], c.Facts.Convex, c.Facts.Bound)
	}
	// Output:
	// convex: edge 1.00, convex true, bound upper
	// cover: edge 0.50, convex true, bound upper
	// trw: edge 0.69, convex true, bound upper
	// near-bethe: edge 1.00, convex true, bound none
	// bethe: edge 1.00, convex false, bound none
}

// Prove says what is certain of numbers given by hand: an upper bound, where no entropy
// counts for less than that of independent nodes.
func ExampleNumbers_Prove() {
	g, err := graph.FromEdges(3, []int32{0, 1, 2}, []int32{1, 2, 0})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range []float64{1, 0.1, -1} {
		numbers, err := counting.New("by hand", g, []float64{c, c, c}, []float64{1, 1, 1})
		if err != nil {
			log.Fatal(err)
		}
		numbers.Prove(g)
		fmt.Printf("c_s = %v: convex %t, bound %s\n", c, numbers.Facts.Convex, numbers.Facts.Bound)
	}
	// Output:
	// c_s = 1: convex true, bound upper
	// c_s = 0.1: convex true, bound upper
	// c_s = -1: convex true, bound none
}
