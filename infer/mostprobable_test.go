package infer

import (
	"math"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/uai"
)

// TestCompetitionStates: on networks too large to enumerate the methods agree about the smallest energy, no bound is
// above it, and the best that fits finds it.
func TestCompetitionStates(t *testing.T) {
	for _, name := range []string{"Grids_12", "Segmentation_11", "Segmentation_12", "Segmentation_13", "CSP_12"} {
		n := must(uai.ReadFile(oracle.SharedData(t, "uai", name+".uai")))
		best := must(MostProbable(t.Context(), n, Options{Method: Exact}))
		for _, method := range []Method{"", TRWS} {
			r := must(MostProbable(t.Context(), n, Options{Method: method}))
			slack := 1e-10 * math.Abs(best.Energy)
			if r.Energy < best.Energy-slack || r.LowerBound > best.Energy+slack || (r.Optimal || method == "") && r.Energy > best.Energy+slack {
				t.Errorf("%s, %q: %v, bound %v, optimal %v; the smallest energy is %v", name, method, r.Energy, r.LowerBound, r.Optimal, best.Energy)
			}
		}
	}
}
