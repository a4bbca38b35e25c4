package counting_test

import (
	"fmt"
	"log"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/internal/gen"
)

// Edge appearances above what spanning trees allow give no bound, and Prove says
// so.
func ExampleNumbers_Prove() {
	g, err := gen.Complete(3)
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
