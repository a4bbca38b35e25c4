package cli_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

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

// frequencies are how often each variable was in each of its states.
func frequencies(draws [][]int, card []int) [][]float64 {
	f := make([][]float64, len(card))
	for v, k := range card {
		f[v] = make([]float64, k)
		for _, x := range draws {
			f[v][x[v]] += 1 / float64(len(draws))
		}
	}
	return f
}

// TestSampleNetworks: draws of a network with loops and of a tree have the right
// frequencies, given evidence too, and the scores that they say.
func TestSampleNetworks(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	evidence := writeFile(t, filepath.Join(folder, "one.evid"), "1 1 1\n")
	for _, c := range []struct{ name, text, evidence, sampler string }{
		{"loop", loopUAI, "", "gibbs"}, {"tree", treeUAI, "", "exact"}, {"loop", loopUAI, "", "exact"}, {"loop", loopUAI, evidence, "exact"},
	} {
		net := writeFile(t, filepath.Join(folder, c.name+".uai"), c.text)
		out := filepath.Join(folder, "out.npz")
		args := []string{"sample", net, "-o", out, "--force", "--samples", "4000", "--json", "-q"}
		if c.sampler == "gibbs" { // exact is the default
			args = append(args, "--sampler", "gibbs")
		}
		network, err := uai.ReadFile(net)
		if err != nil {
			t.Fatal(err)
		}
		held := []float64{-1, -1, -1}
		given := network
		if c.evidence != "" {
			args = append(args, "--evidence", c.evidence)
			held[1] = 1
			if given, err = network.WithEvidence(map[int]int{1: 1}); err != nil {
				t.Fatal(err)
			}
		}
		var result struct {
			NotConverged int `json:"not_converged"`
			Networks     []struct {
				Name, Sampler, File string
				Samples, Chains     int
				LogZ                *float64 `json:"log_z"`
				Converged           bool
				Irreducible         *bool
				MaxRHat             *float64 `json:"max_rhat"`
			}
		}
		mustRun(t, args...).json(t, &result)
		one := result.Networks[0]
		if result.NotConverged != 0 || one.Name != c.name || one.Sampler != c.sampler || one.Samples != 4000 || one.File != out || !one.Converged || (one.Chains == 4) != (c.sampler == "gibbs") || (one.MaxRHat != nil) != (c.sampler == "gibbs") {
			t.Errorf("%s: %+v", c.name, one)
		}
		if z := oracle.NetworkLogZ(given); c.sampler == "exact" && (one.LogZ == nil || !closeTo(*one.LogZ, z, 1e-12)) {
			t.Errorf("%s: log Z is %v, want %v", c.name, one.LogZ, z)
		}
		draws := samples(t, out)
		want, _ := oracle.NetworkMarginals(given)
		compareMarginals(t, c.name, frequencies(draws, network.Card), want, 0.04) // five standard errors
		if _, got := npyOf(t, out, "held"); !slices.Equal(got, held) {
			t.Errorf("%s: held is %v, want %v", c.name, got, held)
		}
		_, score := npyOf(t, out, "log_score")
		for i, x := range draws {
			if s := given.LogScore(x); !closeTo(score[i], s, 1e-12) {
				t.Fatalf("%s: the score of draw %d is %v, want %v", c.name, i, score[i], s)
			}
		}
	}
}

// TestSampleIsReproducible: the same bytes for any number of threads.
func TestSampleIsReproducible(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, threads := range []string{"1", "3"} {
		mustRun(t, "sample", gridData(t), "-m", filepath.Join(gridData(t), "truth.safetensors"), "-o", filepath.Join(folder, threads), "--samples", "30", "--burn-in", "0", "--thin", "1", "--threads", threads, "-q")
	}
	for _, name := range []string{"0.npz", "1.npz"} {
		if readFile(t, folder, "1", name) != readFile(t, folder, "3", name) {
			t.Errorf("%s differs with the number of threads", name)
		}
	}
	if readFile(t, folder, "1", "0.npz") == readFile(t, folder, "1", "1.npz") {
		t.Error("both instances have the same draws")
	}
	one := filepath.Join(folder, "alone.npz")
	mustRun(t, "sample", gridData(t), "-m", filepath.Join(gridData(t), "truth.safetensors"), "-o", one, "--instance", "1", "--samples", "30", "--burn-in", "0", "--thin", "1", "-q")
	if readFile(t, one) != readFile(t, folder, "1", "1.npz") {
		t.Error("an instance has other draws where it is the only one")
	}
}

// TestSampleHeld: labels that are held stay in every draw.
func TestSampleHeld(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	labels := []int64{-1, 1, -1, 0, 2, -1, -1, 1, 2}
	edges := []int64{0, 1, 1, 2, 3, 4, 4, 5, 6, 7, 7, 8, 0, 3, 1, 4, 2, 5, 3, 6, 4, 7, 5, 8}
	data := writeFile(t, filepath.Join(folder, "held.npz"), npz(t, arrays{
		"edges": npy(t, []int{12, 2}, edges), "labels": npy(t, []int{9}, labels), "states": npy(t, nil, []int64{3}), "node_features": npy(t, []int{9, 1}, make([]float64, 9)),
	}))
	mustRun(t, "train", data, "-o", filepath.Join(folder, "run"), "--max-iter", "30", "-q", noReport)
	out := filepath.Join(folder, "out")
	o := mustRun(t, "sample", data, "-m", filepath.Join(folder, "run"), "-o", out, "--clamp", "--samples", "40", "-q")
	if !strings.Contains(o.stdout, "held: 40 draws of 9 variables (5 held)") {
		t.Errorf("sample printed %q", o.stdout)
	}
	for _, x := range samples(t, filepath.Join(out, "held.npz")) {
		for s, y := range labels {
			if y >= 0 && x[s] != int(y) {
				t.Fatalf("node %d was drawn as %d, and held at %d", s, x[s], y)
			}
		}
	}
}

// lockedUAI is a ring of three variables that must be equal.
const lockedUAI = "MARKOV\n3\n2 2 2\n3\n2 0 1\n2 1 2\n2 2 0\n4 1 0 0 1\n4 1 0 0 1\n4 1 0 0 1\n"

// TestSampleRefuses: what cannot be drawn from, or is not asked for rightly, with
// nothing written.
func TestSampleRefuses(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name, text string) string { return writeFile(t, filepath.Join(folder, name), text) }
	net, locked := write("loop.uai", loopUAI), write("locked.uai", lockedUAI)
	never := write("never.uai", strings.ReplaceAll(lockedUAI, "4 1 0 0 1", "4 0 1 1 0"))
	triple := write("triple.uai", "MARKOV\n3\n2 2 2\n1\n3 0 1 2\n8 1 1 1 1 1 1 1 1\n")
	wide := write("colours.uai", "MARKOV\n3\n3 3 3\n3\n2 0 1\n2 1 2\n2 2 0\n"+strings.Repeat("9 0 1 1 1 0 1 1 1 0\n", 3))
	truth := filepath.Join(gridData(t), "truth.safetensors")
	data := gridData(t)
	before := tree(t, folder)
	out := filepath.Join(folder, "out.npz")
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"sample NET", 2, "-o"},
		{"sample -o OUT", 2, "want one network"},
		{"sample DATA -o OUT", 2, "-m"},
		{"sample -m MODEL -o OUT", 2, "DATA -m MODEL"},
		{"sample NET -o OUT --clamp", 2, "--clamp"},
		{"sample NET -o OUT --bins 3", 2, "--bins"},
		{"sample DATA -m MODEL -o OUT --evidence NET", 2, "--evidence"},
		{"sample DATA -m MODEL -o OUT", 2, "--instance"},
		{"sample DATA -m MODEL -o OUT --instance 7", 2, "--instance 7"},
		{"sample NET -o OUT --sampler exact --memory 1", 3, "memory"},
		{"sample NET -o OUT --sampler exact --thin 2", 2, "--thin"},
		{"sample NET -o OUT --samples 0", 2, "--samples 0"},
		{"sample NET -o OUT --samples 2000000000", 2, "--samples: 2000000000"},
		{"sample NET -o OUT --chains 0", 2, "--chains 0"},
		{"sample NET -o OUT --burn-in -1", 2, "--burn-in -1"},
		{"sample NET -o OUT --max-rhat 1", 2, "--max-rhat 1"},
		{"sample NET -o OUT --min-ess 0", 2, "--min-ess 0"},
		{"sample NEVER -o OUT", 3, "probability zero"},
		{"sample LOCKED -o OUT --sampler gibbs", 3, "not ergodic"},
		{"sample COLOURS -o OUT --sampler gibbs", 3, "not ergodic"},
		{"sample TRIPLE -o OUT --sampler gibbs", 3, "factor 0 joins 3 variables"},
		{"sample NET.none.uai -o OUT", 1, "NET.none.uai"},
	} {
		args := strings.Fields(c.args)
		for i, a := range args {
			if path, ok := map[string]string{"NET": net, "OUT": out, "DATA": data, "MODEL": truth, "NEVER": never, "LOCKED": locked, "COLOURS": wide, "TRIPLE": triple}[a]; ok {
				args[i] = path
			}
		}
		o := run(t, args...)
		o.wantFailure(t, c.code, c.want)
		wantUntouched(t, o, before, tree(t, folder))
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
	if !strings.Contains(o.stderr, "note: not converged: loop: 3 draws of 3 chains are too few to judge") {
		t.Errorf("stderr is %q", o.stderr)
	}
	if draws := samples(t, out); len(draws) != 3 {
		t.Errorf("%d draws, want 3", len(draws))
	}
	os.Remove(out)
	run(t, "sample", net, "-o", out, "--sampler", "gibbs", "--samples", "40", "--min-ess", "1e6", "-q", "--require-convergence").wantFailure(t, 5, "not converged", "variable")
	if draws := samples(t, out); len(draws) != 40 {
		t.Errorf("%d draws, want 40", len(draws))
	}
	// A five-colouring cannot be proved to be within reach, though it is.
	five := writeFile(t, filepath.Join(folder, "five.uai"), "MARKOV\n3\n5 5 5\n3\n2 0 1\n2 1 2\n2 2 0\n"+strings.Repeat("25 0 1 1 1 1 1 0 1 1 1 1 1 0 1 1 1 1 1 0 1 1 1 1 1 0\n", 3))
	if o := mustRun(t, "sample", five, "--sampler", "gibbs", "-o", out, "--force", "-q"); !strings.Contains(o.stderr, "not proved that it is ergodic") {
		t.Errorf("stderr is %q", o.stderr)
	}
	// Of exact draws options of chains are not used, which is said.
	tree := writeFile(t, filepath.Join(folder, "tree.uai"), treeUAI)
	if o := mustRun(t, "sample", tree, "-o", out, "--force", "--thin", "3"); !strings.Contains(o.stderr, "--thin is not used") {
		t.Errorf("stderr is %q", o.stderr)
	}
}

// TestSampleEverythingObserved: nothing is left to draw, and that is no failure.
func TestSampleEverythingObserved(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	net := writeFile(t, filepath.Join(folder, "loop.uai"), loopUAI)
	evidence := writeFile(t, filepath.Join(folder, "all.evid"), "3 0 1 1 2 2 0\n")
	out := filepath.Join(folder, "out.npz")
	mustRun(t, "sample", net, "--evidence", evidence, "-o", out, "--samples", "2")
	if draws := samples(t, out); len(draws) != 2 || !slices.Equal(draws[1], []int{1, 2, 0}) {
		t.Errorf("draws are %v", draws)
	}
	for _, method := range []string{"gibbs"} {
		r := mustRun(t, "infer", net, "--evidence", evidence, "--task", "MAR", "--method", method)
		compareMarginals(t, method, readMAR(t, r.stdout), [][]float64{{0, 1}, {0, 0, 1}, {1, 0}}, 0)
	}
}

// TestSampleInterrupted: nothing is written.
func TestSampleInterrupted(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	net := writeFile(t, filepath.Join(folder, "loop.uai"), loopUAI)
	before := tree(t, folder)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, line := range []string{"sample NET -o OUT", "convert NET -o OUT", "infer NET --method gibbs --task MAR -o OUT"} {
		args := strings.Fields(strings.ReplaceAll(strings.ReplaceAll(line, "NET", net), "OUT", filepath.Join(folder, "out.uai")))
		if args[0] == "sample" {
			args[3] = filepath.Join(folder, "out.npz")
		}
		o := runContext(ctx, args...)
		o.wantFailure(t, 130, "interrupted")
		wantUntouched(t, o, before, tree(t, folder))
	}
}

// TestInferByOtherMethods: Gibbs sampling is near the exact marginals.
func TestInferByOtherMethods(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	net := writeFile(t, filepath.Join(folder, "loop.uai"), loopUAI)
	evidence := writeFile(t, filepath.Join(folder, "one.evid"), "1 1 1\n")
	for _, given := range [][]string{nil, {"--evidence", evidence}} {
		exact := infer(t, slices.Concat([]string{net, "--task", "MAR", "--method", "exact"}, given)...)
		var gibbs struct {
			inferResult
			StandardError   float64 `json:"standard_error"`
			Irreducible     bool
			MaxRHat         float64 `json:"max_rhat"`
			MinESS          float64 `json:"min_ess"`
			MaxRHatVariable int     `json:"max_rhat_variable"`
		}
		mustRun(t, slices.Concat([]string{"infer", net, "--task", "MAR", "--method", "gibbs", "--min-ess", "3000", "--max-sweeps", "60000", "--json"}, given)...).json(t, &gibbs)
		if !gibbs.Converged || gibbs.LogZ != nil || gibbs.Bound != "none" || !gibbs.Irreducible || gibbs.MinESS < 3000 || !(gibbs.StandardError < 0.01) || given != nil && gibbs.MaxRHatVariable == 1 {
			t.Errorf("Gibbs sampling: %+v", gibbs)
		}
		compareMarginals(t, "gibbs", gibbs.Marginals, exact.Marginals, 5*gibbs.StandardError)
	}
	unsettled := mustRun(t, "infer", net, "--task", "MAR", "--method", "gibbs", "--max-sweeps", "120")
	if !strings.Contains(unsettled.stderr, "note: not converged") {
		t.Errorf("stderr is %q", unsettled.stderr)
	}
	run(t, "infer", net, "--task", "MAR", "--method", "gibbs", "--max-sweeps", "2", "--require-convergence").wantFailure(t, 5, "too few to judge")
	run(t, "infer", net, "--counting", "trw", "--max-sweeps", "1", "--require-convergence").wantFailure(t, 5, "residual")
	never := writeFile(t, filepath.Join(folder, "never.uai"), strings.ReplaceAll(lockedUAI, "4 1 0 0 1", "4 0 1 1 0"))
	run(t, "infer", never, "--method", "gibbs", "--task", "MAR").wantFailure(t, 3, "probability zero")
	locked := writeFile(t, filepath.Join(folder, "locked.uai"), lockedUAI)
	run(t, "infer", locked, "--method", "gibbs", "--task", "MAR").wantFailure(t, 3, "not ergodic")
	for _, line := range []string{"--chains 2", "--max-rhat 1.1", "--min-ess 3", "--task MPE --threads 1", "--method bp --chains 2"} {
		run(t, append([]string{"infer", net}, strings.Fields(line)...)...).wantFailure(t, 2, "is used by --method")
	}
	for _, line := range []string{"--method gibbs --task MAR --chains 0", "--method bp --threads 0", "--method gibbs --task MAR --max-rhat NaN"} {
		run(t, append([]string{"infer", net}, strings.Fields(line)...)...).wantFailure(t, 2, "want")
	}
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
	network, err := uai.ReadFile(net)
	if err != nil {
		t.Fatal(err)
	}
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
	run(t, "convert", filepath.Join(gridData(t), "0.npz"), "-o", again, "--force").wantFailure(t, 3, "only together with a model")
	huge := writeFile(t, filepath.Join(folder, "huge.uai"), "MARKOV\n1\n2\n1\n1 0\n2 1e400 1\n")
	if o := mustRun(t, "convert", huge, "-o", "-"); !strings.Contains(o.stderr, "note: -: values beyond the range of float64: 1;") {
		t.Errorf("stderr is %q", o.stderr)
	}
	triple := writeFile(t, filepath.Join(folder, "triple.uai"), "MARKOV\n3\n2 2 2\n1\n3 0 1 2\n8 1 1 1 1 1 1 1 1\n")
	run(t, "convert", triple, "-o", filepath.Join(folder, "no.npz")).wantFailure(t, 3, "joins 3 variables")
	run(t, "convert", net, "-o", "-", "--json").wantFailure(t, 2, "--json")
	run(t, "convert", net).wantFailure(t, 2, "-o")
	run(t, "convert", gridData(t), "-m", filepath.Join(gridData(t), "truth.safetensors"), "-o", filepath.Join(folder, "two.uai")).wantFailure(t, 2, "--instance")
}

// TestConvertNetworks: the same network again, and given evidence the same answers
// as with the evidence apart.
func TestConvertNetworks(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	net := writeFile(t, filepath.Join(folder, "loop.uai"), loopUAI)
	evidence := writeFile(t, filepath.Join(folder, "one.evid"), "1 1 2\n")
	out, given := filepath.Join(folder, "out.uai"), filepath.Join(folder, "given.uai")
	mustRun(t, "convert", net, "-o", out)
	if again := mustRun(t, "convert", out, "-o", "-").stdout; again != readFile(t, out) {
		t.Errorf("a converted network changes when it is converted again:\n%s\nand\n%s", readFile(t, out), again)
	}
	mustRun(t, "convert", net, "--evidence", evidence, "-o", given)
	want := infer(t, net, "--evidence", evidence, "--task", "MAR", "--method", "exact")
	got := infer(t, given, "--task", "MAR", "--method", "exact")
	if !closeTo(*got.LogZ, *want.LogZ, 1e-12) {
		t.Errorf("log Z is %v, with the evidence apart %v", *got.LogZ, *want.LogZ)
	}
	compareMarginals(t, "evidence", got.Marginals, want.Marginals, 1e-12)
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
	calibrated := filepath.Join(folder, "calibrated")
	mustRun(t, "train", data, "-o", calibrated, "--l2", "0.5", "--eval", "same="+data, "--calibrate", "same", noReport, "-q")
	if o := mustRun(t, "convert", data, "-m", calibrated, "-o", filepath.Join(folder, "tempered")); !strings.Contains(o.stderr, "networks hold no temperature") {
		t.Errorf("convert of a calibrated model says %q", o.stderr)
	}
	model, nets := gridRun(t), filepath.Join(folder, "held")
	mustRun(t, "convert", data, "-m", model, "-o", nets, "--clamp")
	// With all labels held, log Z is the score of the labels.
	held := infer(t, filepath.Join(nets, "0.uai"), "--method", "exact")
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
