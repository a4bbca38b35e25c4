package exact_test

import (
	"context"
	"math"
	"testing"

	"github.com/blockbp/blockbp/internal/exact"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/uai"
)

// TestCompetitionStates: on networks too large to enumerate the methods agree
// about the smallest energy, and no bound is above it.
func TestCompetitionStates(t *testing.T) {
	for _, name := range []string{"Grids_12", "Segmentation_11", "Segmentation_12", "Segmentation_13", "CSP_12"} {
		n, err := uai.ReadFile(oracle.SharedData(t, "uai", name+".uai"))
		if err != nil {
			t.Fatal(err)
		}
		p, err := exact.NewProblem(n)
		if err != nil {
			t.Fatal(err)
		}
		best, err := p.Solve(context.Background(), exact.Settings{Method: exact.Exact})
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range []exact.Method{exact.Auto, exact.TRWS} {
			r, err := p.Solve(context.Background(), exact.Settings{Method: method})
			if err != nil {
				t.Fatal(err)
			}
			slack := 1e-10 * math.Abs(best.Energy)
			if r.Energy < best.Energy-slack || r.LowerBound > best.Energy+slack || r.Optimal && r.Energy > best.Energy+slack || method == exact.Auto && !r.Optimal {
				t.Errorf("%s, %s: %v, bound %v, optimal %v; the smallest energy is %v", name, method, r.Energy, r.LowerBound, r.Optimal, best.Energy)
			}
		}
	}
}
