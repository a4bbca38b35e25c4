package infer

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/mrf"
)

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
		draws := make([][]int32, length*len(c.chains))
		for k, text := range c.chains {
			for i, state := range text {
				draws[first[k]+i] = []int32{int32(state - '0')}
			}
		}
		j := newNodeMixing(draws, first, length)
		j.node(0, 4, true)
		for state, want := range c.want {
			rhat, ess := j.indicator(state)
			if !(math.Abs(rhat-want[0]) < 1e-13) || !(math.Abs(ess-want[1]) < 1e-13*want[1]) {
				t.Errorf("state %d: R-hat %v and %v effective draws, want %v", state, rhat, ess, want)
			}
		}
	}
}

// TestDiagnosisOfLittle: chains that stand still apart, and too few draws.
func TestDiagnosisOfLittle(t *testing.T) {
	draws := slices.Concat(slices.Repeat([][]int32{{1}}, 10), slices.Repeat([][]int32{{0}}, 10))
	alone := must((&mrf.Network{Card: []int{2}}).Condition(nil))
	d := must(diagnose(context.Background(), draws, alone, []int{0, 10, 20}, 1))
	if !math.IsInf(d.MaxRHat, 1) || d.good(10, 0) || d.Constant != 0 {
		t.Errorf("chains at states of their own: %+v", d)
	}
	d = must(diagnose(context.Background(), draws, alone, []int{0, 3, 6, 9}, 1))
	if d.Enough || d.good(100, 0) {
		t.Errorf("three draws of a chain: %+v", d)
	}
	d = must(diagnose(context.Background(), draws, alone, []int{0, 5, 10}, 1))
	if d.Constant != 1 || d.WorstRHat != -1 || !d.good(1.01, 400) {
		t.Errorf("a node in one state: %+v", d)
	}
}
