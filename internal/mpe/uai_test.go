package mpe_test

import (
	"context"
	"math"
	"testing"

	"github.com/blockbp/blockbp/internal/mpe"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/uai"
)

// TestCompetitionNetworks: on networks too large to enumerate the methods agree
// about the smallest energy, and no bound is above it.
func TestCompetitionNetworks(t *testing.T) {
	for _, name := range []string{"Grids_12", "Segmentation_11", "Segmentation_12", "Segmentation_13", "CSP_12"} {
		n := oracle.Must(uai.ReadFile(oracle.SharedData(t, "uai", name+".uai")))(t)
		p := oracle.Must(mpe.NewProblem(n))(t)
		exact := oracle.Must(p.Solve(context.Background(), mpe.Settings{Method: mpe.Exact}))(t)
		for _, method := range []mpe.Method{mpe.Auto, mpe.TRWS} {
			r := oracle.Must(p.Solve(context.Background(), mpe.Settings{Method: method}))(t)
			slack := 1e-10 * math.Abs(exact.Energy)
			if r.Energy < exact.Energy-slack || r.LowerBound > exact.Energy+slack || r.Optimal && r.Energy > exact.Energy+slack || method == mpe.Auto && !r.Optimal {
				t.Errorf("%s, %s: %v, bound %v, optimal %v; the smallest energy is %v", name, method, r.Energy, r.LowerBound, r.Optimal, exact.Energy)
			}
		}
	}
}
