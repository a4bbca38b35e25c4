package cli_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/uai"
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
		given := oracle.Must(oracle.Must(uai.ReadFile(net))(t).WithEvidence(observed))(t)
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

// TestSampleOfInstance: an instance has the same draws where it is the only one, and others than its neighbour. Package
// infer has those of several threads.
func TestSampleOfInstance(t *testing.T) {
	t.Parallel()
	all, one := filepath.Join(t.TempDir(), "all"), filepath.Join(t.TempDir(), "alone.npz")
	args := []string{"sample", gridData(t), "-m", filepath.Join(gridData(t), "truth.safetensors"), "--samples", "30", "--burn-in", "0", "--thin", "1", "-q", "-o"}
	mustRun(t, append(args, all)...)
	mustRun(t, append(args, one, "--instance", "1")...)
	if readFile(t, one) != readFile(t, all, "1.npz") || readFile(t, one) == readFile(t, all, "0.npz") {
		t.Error("an instance has other draws alone, or those of another")
	}
}

// TestSampleUnconverged: too few draws are written, with a note, and an exit code
// where it is asked for.
func TestSampleUnconverged(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	net := writeFile(t, filepath.Join(folder, "loop.uai"), loopUAI)
	out := filepath.Join(folder, "out.npz")
	o := mustRun(t, "sample", net, "-o", out, "--sampler", "gibbs", "--samples", "3", "-q")
	o.says(t, "note: not converged: loop: 3 draws of 3 chains are too few to judge")
	if draws := samples(t, out); len(draws) != 3 {
		t.Errorf("%d draws, want 3", len(draws))
	}
	os.Remove(out)
	run(t, "sample", net, "-o", out, "--sampler", "gibbs", "--samples", "40", "-q", "--require-convergence").wantFailure(t, 5, "not converged", "variable")
	if draws := samples(t, out); len(draws) != 40 {
		t.Errorf("%d draws, want 40", len(draws))
	}
	// A five-colouring cannot be proved to be within reach, though it is.
	five := writeFile(t, filepath.Join(folder, "five.uai"), "MARKOV\n3\n5 5 5\n3\n2 0 1\n2 1 2\n2 2 0\n"+strings.Repeat("25 0 1 1 1 1 1 0 1 1 1 1 1 0 1 1 1 1 1 0 1 1 1 1 1 0\n", 3))
	mustRun(t, "sample", five, "--sampler", "gibbs", "-o", out, "--force", "-q").says(t, "not proved that it is ergodic")
	// Of exact draws options of chains are not used, which is said.
	tree := writeFile(t, filepath.Join(folder, "tree.uai"), treeUAI)
	mustRun(t, "sample", tree, "-o", out, "--force", "--thin", "3").says(t, "--thin is not used")
}

// logScore of arrays as convert writes them.
func logScore(t testing.TB, path string, x []int) float64 {
	t.Helper()
	_, constant := npyOf(t, path, "constant")
	shape, theta := npyOf(t, path, "theta")
	_, pair := npyOf(t, path, "theta_uv")
	_, edges := npyOf(t, path, "edges")
	k, score := shape[1], constant[0]
	for s, i := range x {
		score += theta[s*k+i]
	}
	for e := range len(edges) / 2 {
		score += pair[e*k*k+x[int(edges[2*e])]*k+x[int(edges[2*e+1])]]
	}
	return score
}

// TestConvertArrays: the scores of all joint states, and −Inf beyond the states.
func TestConvertArrays(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	net := writeFile(t, filepath.Join(folder, "loop.uai"), loopUAI)
	network := oracle.Must(uai.ReadFile(net))(t)
	out := filepath.Join(folder, "out.npz")
	mustRun(t, "convert", net, "-o", out)
	for i := range 27 {
		x := []int{i / 9, i / 3 % 3, i % 3}
		want := math.Inf(-1)
		if x[0] < 2 && x[2] < 2 {
			want = network.LogScore(x)
		}
		if got := logScore(t, out, x); got != want && !closeTo(got, want, 1e-12) {
			t.Errorf("the score of %v is %v, want %v", x, got, want)
		}
	}
	// The arrays are read as the network is.
	if got, want := infer(t, out, "--task", "MAR"), infer(t, net, "--task", "MAR"); !closeTo(*got.LogZ, *want.LogZ, 1e-12) {
		t.Errorf("log Z of the arrays is %v, of the network %v", *got.LogZ, *want.LogZ)
	} else {
		compareMarginals(t, "arrays", got.Marginals, want.Marginals, 1e-10)
	}
	again := filepath.Join(folder, "again.npz")
	mustRun(t, "convert", out, "-o", again)
	if readFile(t, out) != readFile(t, again) {
		t.Error("arrays change when they are converted again")
	}
}

// TestConvertModel: infer on the exported network, with the options that convert names,
// gives the beliefs of predict, and so does holding labels.
func TestConvertModel(t *testing.T) {
	oracle.Long(t)
	t.Parallel()
	folder := t.TempDir()
	data := gridData(t)
	for i, tc := range []struct {
		train []string
		want  string // the options that convert names
	}{
		{[]string{"--counting", "convex"}, "--counting convex"},
		{[]string{"--counting", "trw"}, "--counting trw"},
		{[]string{"--counting", "trw", "--seed", "7"}, "--counting trw --seed 7"},
		{[]string{"--method", "exact"}, "--method exact"},
		{[]string{"--method", "pseudo"}, "--method exact"},
		{[]string{"--method", "pseudo", "--counting", "convex"}, "--counting convex"},
		{[]string{"--counting", "bethe"}, "--counting bethe"},
	} {
		at := func(name string) string { return filepath.Join(folder, strconv.Itoa(i)+name) }
		mustRun(t, slices.Concat([]string{"train", data, "-o", at("run"), "--l2", "0.5", "-q"}, tc.train)...)
		mustRun(t, "predict", data, "-m", at("run"), "-o", at("predicted"), "--tol", "1e-13", "--max-sweeps", "100000", "-q")
		o := mustRun(t, "convert", data, "-m", at("run"), "-o", at("nets"))
		if strings.Count(o.stdout, "36 variables") != 2 {
			t.Errorf("convert printed %q", o.stdout)
		}
		_, options, _ := strings.Cut(strings.TrimSpace(o.stderr), "gives the beliefs of predict with ")
		if options != tc.want {
			t.Errorf("trained with %v, convert names the options %q, want %q:\n%s", tc.train, options, tc.want, o.stderr)
		}
		asked := strings.Fields(options)
		if options != "--method exact" {
			asked = append(asked, "--tol", "1e-13", "--max-sweeps", "100000")
		}
		for _, name := range []string{"0", "1"} {
			r := infer(t, append(asked, filepath.Join(at("nets"), name+".uai"), "--task", "MAR")...)
			_, beliefs := npyOf(t, filepath.Join(at("predicted"), name+".npz"), "beliefs")
			var want [][]float64
			for s := range 36 {
				want = append(want, beliefs[3*s:3*s+3])
			}
			compareMarginals(t, name, r.Marginals, want, 1e-10)
		}
	}
	tempered := oracle.Must(job.LoadModel(gridRun(t)))(t)
	tempered.Path, tempered.Meta[job.MetaTemperature] = filepath.Join(folder, "tempered.safetensors"), "2"
	oracle.OK(t, tempered.Save(tempered.Path))
	mustRun(t, "convert", data, "-m", tempered.Path, "-o", filepath.Join(folder, "tempered")).says(t,
		"networks hold no temperature")
	model, nets := gridRun(t), filepath.Join(folder, "held")
	mustRun(t, "convert", data, "-m", model, "-o", nets, "--clamp")
	// With all labels held, log Z is the score of the labels.
	held := infer(t, filepath.Join(nets, "0-0.uai"), "--method", "exact")
	arrays := filepath.Join(folder, "free.npz")
	mustRun(t, "convert", data, "-m", model, "--instance", "0", "-o", arrays)
	_, labels := npyOf(t, filepath.Join(data, "0.npz"), "labels")
	x := make([]int, 36)
	for s := range x {
		x[s] = int(labels[s])
	}
	if want := logScore(t, arrays, x); !closeTo(*held.LogZ, want, 1e-12) {
		t.Errorf("log Z with all labels held is %v, their score %v", *held.LogZ, want)
	}
}
