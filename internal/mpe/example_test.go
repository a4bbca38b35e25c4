package mpe_test

import (
	"context"
	"fmt"
	"log"

	"github.com/blockbp/blockbp/internal/mpe"
	"github.com/blockbp/blockbp/mrf"
)

// Two neighbours like to be equal, and one of them to be in state 1.
func ExampleProblem_Solve() {
	p, err := mpe.NewProblem(&mrf.Network{
		Card: []int{2, 2},
		Factors: []mrf.Factor{
			{Scope: []int{0}, LogTable: []float64{0, 1}},
			{Scope: []int{0, 1}, LogTable: []float64{2, 0, 0, 2}},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	r, err := p.Solve(context.Background(), mpe.Settings{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Method, r.States, "energy", r.Energy, "optimal", r.Optimal)
	// Output: cut [1 1] energy -3 optimal true
}
