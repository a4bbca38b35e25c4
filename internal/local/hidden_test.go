package local

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/lbfgs"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/simd"
)

// TestHiddenSpins: of 8 spins, all pairs, 5 % of which are missing, the likelihood and its gradient are those of all 256
// joint states added up; and couplings by the pseudo-likelihood with what is hidden filled in are those of EM, which
// they are not where neighbours are left out.
func TestHiddenSpins(t *testing.T) {
	const sites, samples = 8, 4000
	rng := rand.New(rand.NewPCG(45, 4))
	g := oracle.Must(gen.Complete(sites))(t)
	u, v := g.Ends()
	spin := []string{"-1", "1"}
	m := oracle.Must(crf.NewModel(crf.Schema{NodeTypes: []crf.NodeType{{Name: "s", States: spin, Features: 1, Copies: sites}},
		EdgeTypes: []crf.EdgeType{{Name: "e", Features: 1, Copies: len(u), Symmetric: true}}}))(t)
	for e := range u {
		j := 0.3 * rng.NormFloat64()
		copy(m.Weights[2*sites+4*e:], []float64{j, -j, -j, j})
	}
	score := func(w []float64, x int) (sum float64) {
		for s := range sites {
			sum += w[2*s+x>>s&1]
		}
		for e := range u {
			sum += w[2*sites+4*e+2*(x>>u[e]&1)+x>>v[e]&1]
		}
		return sum
	}
	var labels [][]int32
	p, total := make([]float64, 1<<sites), 0.0
	for x := range p {
		total += math.Exp(score(m.Weights, x))
		p[x] = total
	}
	for range samples {
		x, _ := slices.BinarySearch(p, total*rng.Float64())
		row := make([]int32, sites)
		for s := range row {
			if row[s] = int32(x >> s & 1); rng.Float64() < 0.05 {
				row[s] = crf.Unobserved
			}
		}
		labels = append(labels, row)
	}
	in := oracle.Must(crf.NewInstance(&m.Schema, crf.InstanceSpec{Graph: g, Labels: labels,
		NodeFeat: []crf.Features{crf.Constant(sites, 1)}, EdgeFeat: []crf.Features{crf.Constant(len(u), 1)}}))(t)
	learned := func(kind Kind, fill bool) []float64 {
		w := m.Clone()
		clear(w.Weights)
		o := &Objective{Kind: kind, Model: w, Data: []*crf.Instance{in}, L2: 1e-4, Total: samples}
		oracle.OK(t, o.Plan(math.Inf(1)))
		o.Allocate(1)
		defer o.Close()
		steps := lbfgs.NewMinimiser(o, w.Weights)
		for again := true; again; {
			if again = false; fill {
				again = oracle.Must(o.Fill(w.Weights))(t)
			}
			steps.Begin()
			for size := 1.0; size > 0 && math.Sqrt(simd.Dot(steps.Gradient, steps.Gradient)) > 1e-7; {
				size = oracle.Must(steps.Step(t.Context()))(t)
			}
		}
		oracle.Equal(t, !fill || o.Filled[m.Layout.Size] < 10, true, "few fillings, which are behind %v", o.Filled)
		return w.Weights
	}
	j := func(w []float64, e int) float64 {
		x := w[2*sites+4*e:]
		return (x[0] - x[1] - x[2] + x[3]) / 4
	}
	em := learned(Exact, false)
	checkStationary(t, labels, em, score)
	distance := func(w []float64) (sum float64) {
		for e := range u {
			sum += (j(w, e) - j(em, e)) * (j(w, e) - j(em, e)) / float64(len(u))
		}
		return math.Sqrt(sum)
	}
	filled, left := distance(learned(Pseudo, true)), distance(learned(Pseudo, false))
	if !(filled < 0.003 && left > 2*filled) {
		t.Errorf("couplings differ from those of EM by %.4g; with neighbours left out by %.4g", filled, left)
	}
}

// checkStationary compares means of products of spins given what is known with the model's: the prior holds the rest.
func checkStationary(t *testing.T, labels [][]int32, w []float64, score func(w []float64, x int) float64) {
	const sites, entries = 8, 28
	var weights [1 << sites]float64
	for x := range weights {
		weights[x] = math.Exp(score(w, x))
	}
	means := func(row []int32) (mean [entries]float64) {
		total := 0.0
		for x, p := range weights {
			for s := range sites {
				if row != nil && row[s] >= 0 && int(row[s]) != x>>s&1 {
					p = 0
				}
			}
			total += p
			e := 0
			for i := range sites {
				for j := i + 1; j < sites; j++ {
					mean[e] += p * float64((2*(x>>i&1)-1)*(2*(x>>j&1)-1))
					e++
				}
			}
		}
		simd.AddScaled(mean[:], mean[:], 1/total-1)
		return mean
	}
	model, known := means(nil), [entries]float64{}
	for _, row := range labels {
		for e, x := range means(row) {
			known[e] += x / float64(len(labels))
		}
	}
	for e := range known {
		x := w[16+4*e:]
		oracle.Near(t, known[e]-model[e], 1e-4*(x[0]-x[1]-x[2]+x[3]), 1e-6,
			"pair %d: mean %v, less the model's %v", e, known[e], model[e])
	}
}
