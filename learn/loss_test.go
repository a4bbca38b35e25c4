package learn

import (
	"math"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// labelling is one of an instance: how many labels are wrong, and M w(x) − M w(y).
type labelling struct {
	wrong    float64
	features []float64
}

// labellings are all of each instance.
func labellings(p Problem) (all [][]labelling) {
	for _, in := range p.Data {
		total := 1
		for _, k := range in.Cards() {
			total *= int(k)
		}
		of, truth, x := make([]labelling, total), in.Samples()[0], make([]int32, in.Graph.NumNodes())
		for i := range of {
			of[i].features = make([]float64, len(p.Model.Weights))
		}
		for j := range p.Model.Weights {
			unit := make([]float64, len(p.Model.Weights))
			unit[j] = 1
			var pot ground.Potentials
			pot.Ground(p.startingAt(unit).Model, in, &partition.Whole(in.Graph).Blocks[0])
			for i := range of {
				rest := i
				of[i].wrong = 0
				for s, k := range in.Cards() {
					x[s], rest = int32(rest%int(k)), rest/int(k)
					of[i].wrong += float64(oneIf(x[s] != truth[s]))
				}
				of[i].features[j] = pot.LogScore(in, x) - pot.LogScore(in, truth)
			}
		}
		all = append(all, of)
	}
	return all
}

// augmented is the objective with a loss, entropies counting ε times, by enumeration; for ε = 0 with a subgradient.
func augmented(all [][]labelling, w []float64, l2, loss, epsilon float64) (value float64, slope []float64) {
	slope, value = make([]float64, len(w)), l2/2*simd.Dot(w, w)
	simd.AddScaled(slope, w, l2)
	for _, of := range all {
		largest, at, sum := math.Inf(-1), 0, 0.0
		score := make([]float64, len(of))
		for i, x := range of {
			if score[i] = loss*x.wrong + simd.Dot(w, x.features); score[i] > largest {
				largest, at = score[i], i
			}
		}
		for _, s := range score {
			sum += math.Exp((s - largest) / epsilon)
		}
		if value += largest / float64(len(all)); epsilon > 0 {
			value += epsilon * math.Log(sum) / float64(len(all))
		}
		simd.AddScaled(slope, of[at].features, 1/float64(len(all)))
	}
	return value, slope
}

// TestLoss: with a loss the objective is what enumeration has, on forests, and else above it; all methods come to the
// same optimum, and nearly to that of margins as ε goes to zero, which subgradients find.
func TestLoss(t *testing.T) {
	forest := mixedShape(t, must(graph.FromEdges(6, []int32{0, 1, 3, 1}, []int32{1, 2, 4, 5})))
	loopy := mixedShape(t, must(graph.Grid(2, 3, graph.GridOptions{})))
	for name, s := range map[string]shape{"forest": forest, "loopy": loopy} {
		s.instances = 3
		p := s.build(t, 8).with("trw")
		all, l2 := labellings(p), p.L2
		best, w := math.Inf(1), make([]float64, len(p.Model.Weights))
		entropy := math.Log(2 * 2 * 2 * 2 * 4 * 4) // the largest
		for step := range 6000 {
			value, slope := augmented(all, w, l2, 1, 0)
			best = min(best, value)
			for i, g := range slope {
				w[i] -= g / (l2 * float64(step+1))
			}
		}
		for _, epsilon := range []float64{1, 0.1, 0.01} {
			p.Loss, p.L2 = 1/epsilon, l2*epsilon
			for _, method := range []Method{Full, InnerDual, BBPL} {
				r := fit(t, p, Settings{Method: method, Assign: blocksOf(3), Gap: 1e-7, RelativeTolerance: 1e-6})
				theta, got := make([]float64, len(r.Model.Weights)), epsilon*r.Objective
				simd.AddScaled(theta, r.Model.Weights, epsilon)
				want, _ := augmented(all, theta, l2, 1, epsilon)
				if name == "forest" && !near(got, want, 1e-6) || got < want*(1-1e-6) || r.Status != Converged {
					t.Errorf("%s, ε = %g, %s: %s: L = %.9g, by enumeration %.9g", name, epsilon, method, r.Status, got, want)
				}
				margin, _ := augmented(all, theta, l2, 1, 0)
				if name == "forest" && !(margin <= best+epsilon*entropy) {
					t.Errorf("ε = %g, %s: margins are %.6g, want at most %.6g + %g", epsilon, method, margin, best, epsilon*entropy)
				}
			}
		}
	}
	p := loopy.build(t, 8)
	p.Loss = -1
	oracle.Fails(Fit(t.Context(), p, Settings{}))(t, "Loss")
	p.Loss = 1
	oracle.Fails(Fit(t.Context(), p, Settings{Method: Pseudo}))(t, "Loss goes with")
	p.Data[0] = changed(p.Data[0], func(spec *crf.InstanceSpec) { spec.Labels[0][1] = crf.Unobserved })
	oracle.Fails(Fit(t.Context(), p, Settings{}))(t, "instance 0", "hidden labels")
}
