package exact_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/blockbp/blockbp/internal/exact"
	"github.com/blockbp/blockbp/mrf"
)

// Two variables that like to agree, the first of which prefers state 1.
func Example() {
	n := &mrf.Network{
		Card: []int{2, 2},
		Factors: []mrf.Factor{
			{Scope: []int{0}, LogTable: []float64{0, math.Log(3)}},
			{Scope: []int{0, 1}, LogTable: []float64{math.Log(2), 0, 0, math.Log(2)}},
		},
	}
	plan, err := exact.NewPlan(n)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("width", plan.Width)
	answer, err := plan.Run(context.Background(), true)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("Z = %.0f, P(x_1 = 1) = %.4f\n", math.Exp(answer.LogZ), answer.Marginals[1][1])
	// Output:
	// width 1
	// Z = 12, P(x_1 = 1) = 0.5833
}
