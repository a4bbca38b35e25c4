package uai_test

import (
	"context"
	"log"
	"os"
	"strings"

	"github.com/blockbp/blockbp/internal/exact"
	"github.com/blockbp/blockbp/internal/uai"
)

// The way from a network and its evidence to a result file.
func Example() {
	n, err := uai.Read(strings.NewReader("MARKOV\n2\n2 2\n1\n2 0 1\n4\n2 1 2 3\n"), "example.uai")
	if err != nil {
		log.Fatal(err)
	}
	evidence, err := uai.ReadEvidence(strings.NewReader("1\n1 1 0\n"), "example.uai.evid", n)
	if err != nil {
		log.Fatal(err)
	}
	conditioned, err := n.Condition(evidence[0])
	if err != nil {
		log.Fatal(err)
	}
	plan, err := exact.NewPlan(conditioned.Network)
	if err != nil {
		log.Fatal(err)
	}
	answer, err := plan.Run(context.Background(), true)
	if err != nil {
		log.Fatal(err)
	}
	if err := uai.WriteMAR(os.Stdout, conditioned.Marginals(answer.Marginals)); err != nil {
		log.Fatal(err)
	}
	// Output:
	// MAR
	// 2 2 0.5 0.5 2 1 0
}
