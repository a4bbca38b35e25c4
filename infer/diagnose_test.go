package infer

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
)

// binaryChains draws chains of one variable with two states that stays with
// probability (1+rho)/2, so that the autocorrelation at lag t is rho^t.
func binaryChains(rng *rand.Rand, chains, length int, rho float64) (*drawStore, []int) {
	d := newDrawStore(chains*length, []int32{2})
	for k := range chains {
		x := []int32{int32(rng.IntN(2))}
		for i := range length {
			if rng.Float64() > (1+rho)/2 {
				x[0] = 1 - x[0]
			}
			d.put(k*length+i, x)
		}
	}
	return d, divide(chains*length, chains)
}

// TestEffectiveSampleSize: that of a chain whose autocorrelation is known is
// n (1−ρ)/(1+ρ).
func TestEffectiveSampleSize(t *testing.T) {
	for _, rho := range []float64{0, 0.5, 0.9, -0.3} {
		const chains, length = 4, 20000
		draws, first := binaryChains(source(7), chains, length, rho)
		d := must(diagnose(context.Background(), draws, []int32{2}, first, 2))
		want := chains * length * (1 - rho) / (1 + rho)
		if r := d.ESS[0] / want; !(r > 0.85 && r < 1.15) || d.MinESS != d.ESS[0] || d.WorstESS != 0 {
			t.Errorf("autocorrelation %v: %.0f effective draws, want %.0f", rho, d.ESS[0], want)
		}
		if !(d.RHat[0] < 1.005) || !(d.RHat[0] > 0.999) || !d.good(1.01, want/2) {
			t.Errorf("autocorrelation %v: R-hat %v", rho, d.RHat[0])
		}
	}
}

// TestRHat: against its definition, written with real numbers, on chains that
// differ.
func TestRHat(t *testing.T) {
	const chains, length = 3, 21
	rng := source(1)
	draws, first := newDrawStore(chains*length, []int32{3, 2}), divide(chains*length, chains)
	var halves [][]float64 // of [x = 1] of the first node
	for k := range chains {
		var series []float64
		for i := range length {
			x := []int32{0, 0}
			if rng.Float64() < 0.2+0.3*float64(k) {
				x[0] = 1
			}
			draws.put(k*length+i, x)
			series = append(series, float64(x[0]))
		}
		halves = append(halves, series[:length/2], series[length-length/2:])
	}
	d := must(diagnose(context.Background(), draws, []int32{3, 2}, first, 1))
	n := float64(length / 2)
	w, means := 0.0, []float64{}
	for _, h := range halves {
		m, v := meanAndVariance(h)
		w += v / float64(len(halves))
		means = append(means, m)
	}
	_, b := meanAndVariance(means)
	want := math.Sqrt(((n-1)/n*w + b) / w)
	if !(math.Abs(d.RHat[0]-want) < 1e-12) || d.MaxRHat != d.RHat[0] || d.WorstRHat != 0 {
		t.Errorf("R-hat is %v, want %v", d.RHat[0], want)
	}
	if !math.IsNaN(d.RHat[1]) || !math.IsNaN(d.ESS[1]) || d.Constant != 1 {
		t.Errorf("a node that stands still: R-hat %v, %v effective draws, %d constant", d.RHat[1], d.ESS[1], d.Constant)
	}
}

// TestDiagnosisAsElsewhere: chains of a variable, and what ArviZ 0.23 says of its
// indicators: rhat(method="split") and ess(method="mean").
func TestDiagnosisAsElsewhere(t *testing.T) {
	type rhatAndESS [2]float64
	for _, c := range []struct {
		chains []string
		want   map[int32]rhatAndESS
	}{
		{[]string{
			"0022222111111222220001111111200002022002",
			"0002000022001110211111112222122220002222",
			"0000222222211111112102222222222222222200",
		}, map[int32]rhatAndESS{0: {1.0324545710657462, 46.97140788373518}, 1: {1.0267809258880114, 28.23829866752487}, 2: {1.1057938700262142, 34.29236386204624}}},
		{[]string{
			"222222123222211", // an odd number of draws: the one in the middle is left out
			"020222221201222",
			"222222122222212",
			"222222122221222",
		}, map[int32]rhatAndESS{0: {1.0461298939912007, 49.02857142857142}, 1: {0.9557559247815846, 71.94489092996555}, 2: {0.9731733281027651, 69.35779816513762}}},
	} {
		length := len(c.chains[0])
		first := divide(length*len(c.chains), len(c.chains))
		draws := newDrawStore(length*len(c.chains), []int32{4})
		for k, text := range c.chains {
			for i, state := range text {
				draws.put(first[k]+i, []int32{int32(state - '0')})
			}
		}
		j := newNodeJudge(draws, first, length)
		j.node(0, 4, true)
		for state, want := range c.want {
			rhat, ess := j.indicator(state)
			if !(math.Abs(rhat-want[0]) < 1e-13) || !(math.Abs(ess-want[1]) < 1e-13*want[1]) {
				t.Errorf("state %d: R-hat %v and %v effective draws, want %v", state, rhat, ess, want)
			}
		}
	}
}

func meanAndVariance(x []float64) (mean, variance float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x)-1)
	}
	return mean, variance
}

// TestDiagnosisOfLittle: chains that stand still apart, and too few draws.
func TestDiagnosisOfLittle(t *testing.T) {
	draws := newDrawStore(20, []int32{2})
	for i := range 10 {
		draws.put(i, []int32{1})
	}
	d := must(diagnose(context.Background(), draws, []int32{2}, []int{0, 10, 20}, 1))
	if !math.IsInf(d.MaxRHat, 1) || d.good(10, 0) || d.Constant != 0 {
		t.Errorf("chains at states of their own: %+v", d)
	}
	d = must(diagnose(context.Background(), draws, []int32{2}, []int{0, 3, 6, 9}, 1))
	if d.Enough || d.good(100, 0) {
		t.Errorf("three draws of a chain: %+v", d)
	}
	d = must(diagnose(context.Background(), draws, []int32{2}, []int{0, 5, 10}, 1))
	if d.Constant != 1 || d.WorstRHat != -1 || !d.good(1.01, 400) {
		t.Errorf("a node in one state: %+v", d)
	}
}
