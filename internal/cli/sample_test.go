package cli_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/uai"
	"github.com/blockbp/blockbp/mrf"
)

// samples reads the draws of a file: [draw][variable].
func samples(t testing.TB, path string) [][]int {
	t.Helper()
	shape, values := npyOf(t, path, "samples")
	if len(shape) != 2 || shape[0]*shape[1] != len(values) {
		t.Fatalf("%s: samples of shape %v with %d values", path, shape, len(values))
	}
	draws := make([][]int, shape[0])
	for i := range draws {
		for _, v := range values[i*shape[1]:][:shape[1]] {
			draws[i] = append(draws[i], int(v))
		}
	}
	return draws
}

// TestSampleNetworks: what is written of draws of a network, given evidence or not; package infer
// holds their frequencies against enumeration.
func TestSampleNetworks(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	net, evidence := writeFile(t, filepath.Join(folder, "loop.uai"), loopUAI), writeFile(t, filepath.Join(folder, "one.evid"), "1 1 1\n")
	out := filepath.Join(folder, "out.npz")
	for sampler, observed := range map[string]map[int]int{"gibbs": {}, "exact": {1: 1}} {
		args := []string{"sample", net, "-o", out, "--force", "--samples", "4000", "--sampler", sampler, "--json", "-q"}
		held := []float64{-1, -1, -1}
		if len(observed) > 0 {
			args, held[1] = append(args, "--evidence", evidence), 1
		}
		given := oracle.Must(uai.ReadFile(net))(t)
		for v, state := range observed {
			table := slices.Repeat([]float64{math.Inf(-1)}, given.Card[v])
			table[state] = 0
			given.Factors = append(given.Factors, mrf.Factor{Scope: []int{v}, LogTable: table})
		}
		var result struct {
			NotConverged int `json:"not_converged"`
			Networks     []struct {
				Name, Sampler, File string
				Samples, Chains     int
				LogZ                *float64 `json:"log_z"`
				MaxRHat             *float64 `json:"max_rhat"`
			}
		}
		mustRun(t, args...).json(t, &result)
		one, ofChains := result.Networks[0], sampler == "gibbs"
		if result.NotConverged != 0 || one.Name != "loop" || one.Sampler != sampler || one.Samples != 4000 || one.File != out ||
			(one.Chains == 4) != ofChains || (one.MaxRHat != nil) != ofChains {
			t.Errorf("%s: %+v", sampler, one)
		}
		if z := oracle.NetworkLogZ(given); !ofChains && (one.LogZ == nil || !closeTo(*one.LogZ, z, 1e-12)) {
			t.Errorf("log Z is %v, want %v", one.LogZ, z)
		}
		if _, got := npyOf(t, out, "held"); !slices.Equal(got, held) {
			t.Errorf("%s: held is %v, want %v", sampler, got, held)
		}
		_, score := npyOf(t, out, "log_score")
		for i, x := range samples(t, out) {
			if s := given.LogScore(x); !closeTo(score[i], s, 1e-12) {
				t.Fatalf("%s: the score of draw %d, %v, is %v, want %v", sampler, i, x, score[i], s)
			}
		}
	}
}

// TestSampleUnconverged: too few draws are written, with a note, and an exit code where it is asked for.
func TestSampleUnconverged(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	net := writeFile(t, filepath.Join(folder, "loop.uai"), loopUAI)
	out := filepath.Join(folder, "out.npz")
	o := mustRun(t, "sample", net, "-o", out, "--sampler", "gibbs", "--samples", "3", "-q")
	o.says(t, "note: not converged: loop: 3 draws of 3 chains are too few to judge; want more --samples")
	oracle.Equal(t, len(samples(t, out)), 3, "draws")
	os.Remove(out)
	run(t, "sample", net, "-o", out, "--sampler", "gibbs", "--samples", "40", "-q", "--require-convergence").wantFailure(t, 5, "not converged", "variable")
	oracle.Equal(t, len(samples(t, out)), 40, "draws")
	// A five-colouring cannot be proved to be within reach, though it is.
	five := writeFile(t, filepath.Join(folder, "five.uai"), "MARKOV\n3\n5 5 5\n3\n2 0 1\n2 1 2\n2 2 0\n"+strings.Repeat("25 0 1 1 1 1 1 0 1 1 1 1 1 0 1 1 1 1 1 0 1 1 1 1 1 0\n", 3))
	mustRun(t, "sample", five, "--sampler", "gibbs", "-o", out, "--force", "-q").says(t, "not proved that it is ergodic")
	// Of exact draws options of chains are not used, which is said. A file needs no ending, as /dev/stdin has none.
	tree := writeFile(t, filepath.Join(folder, "tree"), treeUAI)
	mustRun(t, "sample", tree, "-o", out, "--force", "--thin", "3").says(t, "--thin is not used")
}
