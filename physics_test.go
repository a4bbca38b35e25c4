package blockbp_test

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/blockbp/blockbp"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestPhysics: of two spins fields and couplings, and their errors, follow from how often
// each joint state occurs: J = ¼ log(n₊₊ n₋₋ / n₊₋ n₋₊), with the variance Σ 1/(16 n).
func TestPhysics(t *testing.T) {
	counts := map[[2]string]int{{"-1", "-1"}: 40, {"-1", "1"}: 15, {"1", "-1"}: 25, {"1", "1"}: 70}
	var graphs []blockbp.Graph
	var labels [][]int32
	variance := 0.0
	for states, n := range counts {
		variance += 1 / (16 * float64(n))
		for range n {
			graphs = append(graphs, blockbp.Graph{Edges: [][2]int{{0, 1}}, Nodes: [][]float64{{1}, {1}}, Labels: states[:]})
			sample := []int32{-1, -1}
			for s, state := range states {
				if state == "1" {
					sample[s] = 1
				}
			}
			labels = append(labels, sample)
		}
	}
	log := func(a, b string) float64 { return math.Log(float64(counts[[2]string{a, b}])) }
	want := map[[2]int]float64{
		{0, -1}: (log("1", "1") + log("1", "-1") - log("-1", "1") - log("-1", "-1")) / 4,
		{1, -1}: (log("1", "1") + log("-1", "1") - log("1", "-1") - log("-1", "-1")) / 4,
		{0, 1}:  (log("1", "1") + log("-1", "-1") - log("1", "-1") - log("-1", "1")) / 4,
	}
	memory := oracle.Must(blockbp.NewData(graphs...))(t)
	path := filepath.Join(t.TempDir(), "spins.npz")
	oracle.OK(t, (&dataset.Arrays{Edges: [][2]int32{{0, 1}}, Labels: labels}).WriteFile(path))
	file := oracle.Must(blockbp.Open(path))(t)
	for name, data := range map[string]*blockbp.Data{"graphs": memory, "file": file} {
		m, err := blockbp.Train(t.Context(), data, blockbp.Options{Physics: "ising", Prior: 1e4})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		found := m.Training().Couplings
		oracle.MustEqual(t, len(found), len(want), "%s: how many of %+v", name, found)
		for _, c := range found {
			w, known := want[[2]int{c.U, c.V}]
			if !known || math.Abs(c.Value-w) > 1e-3 || math.Abs(c.Error-math.Sqrt(variance)) > 1e-3 || c.States != [2]string{} {
				t.Errorf("%s: %+v, want %v and the error %v", name, c, w, math.Sqrt(variance))
			}
		}
	}
	if _, err := blockbp.Train(t.Context(), memory, blockbp.Options{Physics: "isng"}); err == nil || err.Error() != `Options.Physics "isng": want ising or potts; did you mean ising?` {
		t.Errorf("error %v", err)
	}
	potts := oracle.Must(blockbp.Train(t.Context(), memory, blockbp.Options{Physics: "potts", Prior: 1e4}))(t)
	for _, c := range potts.Training().Couplings {
		if c.States[0] == "" || c.V >= 0 && c.States[1] == "" {
			t.Errorf("of potts %+v", c)
		}
	}
}
