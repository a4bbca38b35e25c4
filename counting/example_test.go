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
		make, err := counting.Parse(context.Background(), name, 1, false)
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
	// bethe: edge 1.00, convex false, bound none
}

// Edge appearances above what spanning trees allow give no bound, and Prove says
// so.
func ExampleNumbers_Prove() {
	g, err := graph.FromEdges(3, []int32{0, 1, 2}, []int32{1, 2, 0})
	if err != nil {
		log.Fatal(err)
	}
	for _, mu := range []float64{2.0 / 3, 0.9} {
		c, err := counting.New("by hand", g, []float64{1 - 2*mu, 1 - 2*mu, 1 - 2*mu}, []float64{mu, mu, mu})
		if err != nil {
			log.Fatal(err)
		}
		c.Prove(g)
		fmt.Printf("μ = %.2f: convex %t, bound %s\n", mu, c.Facts.Convex, c.Facts.Bound)
	}
	// Output:
	// μ = 0.67: convex true, bound upper
	// μ = 0.90: convex true, bound none
}
