package cli_test

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/uai"
	"github.com/blockbp/blockbp/mrf"
)

// TestInferSaysWhatItIs: answers in UAI format that are not exact come with a note,
// and exact inference with its forecast.
func TestInferSaysWhatItIs(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := writeFile(t, filepath.Join(folder, "loop.uai"), loopUAI)
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "value is exact, by elimination of variables over an induced width of 2"},
		{[]string{"--task", "MAR"}, "marginals are exact, by elimination of variables"},
		{[]string{"--task", "MPE"}, "a most probable one, as proved by elimination of variables"},
		{[]string{"--counting", "trw"}, "upper bound on log10 Z, by counting numbers trw"},
		{[]string{"--counting", "convex"}, "upper bound on log10 Z, by counting numbers convex"},
		{[]string{"--counting", "bethe"}, "approximation of log10 Z of unknown sign, by counting numbers bethe: a stationary point of a free energy that is not known to be convex, and the only one that 6 starts found"},
		{[]string{"--counting", "bethe", "--restarts", "0"}, "a stationary point of a free energy that is not known to be convex, so that other starts (--restarts) may find another"},
		{[]string{"--counting", "bethe", "--max-sweeps", "1"}, "of unknown sign, by counting numbers bethe; --method exact"},
		{[]string{"--task", "MAR", "--counting", "trw"}, "marginals are an approximation of unknown error"},
		{[]string{"--method", "mean-field"}, "lower bound on log10 Z, by mean field: the best of 10 starts, of which none ended lower"},
		{[]string{"--task", "MAR", "--method", "mean-field"}, "marginals are an approximation of unknown error, by mean field: the best of 10 starts"},
		{[]string{"--task", "MAR", "--method", "gibbs"}, "estimates by Gibbs sampling"},
		{[]string{"--method", "exact"}, "value is exact"},
		{[]string{"--json"}, ""},
	} {
		o := mustRun(t, append([]string{"infer", path}, c.args...)...)
		if c.want == "" && o.stderr != "" || !strings.Contains(o.stderr, c.want) {
			t.Errorf("%s: stderr is %q, want %q", o.command(), o.stderr, c.want)
		}
	}
	o := mustRun(t, "infer", path, "--method", "exact", "--json")
	if object := o.object(t, "induced_width", "forecast_bytes", "forecast_operations"); object["induced_width"] != 2.0 {
		t.Errorf("%s", o.stdout)
	}
}

// TestInferSaysHowManyStationaryPoints: where the starts end at several stationary points
// the note and the JSON say how many, and how far apart; what is convex has one optimum.
func TestInferSaysHowManyStationaryPoints(t *testing.T) {
	t.Parallel()
	// Four variables that want to agree, and all to be in state 0, but not much.
	path := writeFile(t, filepath.Join(t.TempDir(), "magnet.uai"),
		"MARKOV\n4\n2 2 2 2\n7\n1 0\n2 0 1\n2 0 2\n2 0 3\n2 1 2\n2 1 3\n2 2 3\n2 1.1 1"+strings.Repeat("\n4 9 1 1 9", 6)+"\n")
	for _, task := range []string{"PR", "MAR"} {
		o := mustRun(t, "infer", path, "--task", task, "--counting", "bethe", "--seed", "3")
		if want := "bethe: 6 starts ended at 2 different stationary points, with log10 Z from 5.728"; !strings.Contains(o.stderr, want) || !strings.Contains(o.stderr, "and this is the largest; --method exact") || strings.Contains(o.stderr, "converged") {
			t.Errorf("%s: %q, want %q", o.command(), o.stderr, want)
		}
	}
	answer := func(args ...string) map[string]any {
		return mustRun(t, append([]string{"infer", path, "--json"}, args...)...).object(t)
	}
	several := answer("--counting", "bethe", "--seed", "3")
	points, span := several["fixed_points"].([]any), several["log10_z_range"].([]any)
	if len(points) != 2 || len(span) != 2 || span[1] != several["log10_z"] || !(span[0].(float64) < span[1].(float64)) || several["optimum"] != "stationary" || several["converged"] != true || several["restarts"] != 5.0 {
		t.Errorf("%v", several)
	}
	for args, want := range map[string]any{
		"--counting convex": "global", "--counting trw": "global", "--method exact": "global", "--method mean-field": "stationary",
		"--counting bethe --restarts 0": "stationary", "--counting bethe --max-sweeps 1": "none", "--method gibbs --task MAR": "none",
	} {
		if got := answer(strings.Fields(args)...)["optimum"]; got != want {
			t.Errorf("%s: optimum %v, want %v", args, got, want)
		}
	}
}

// asiaUAI is the network of Lauritzen and Spiegelhalter (1988) of visits to Asia,
// tuberculosis, smoking, lung cancer, bronchitis, either of tuberculosis and cancer, an X-ray
// and shortness of breath. State 0 is yes.
const asiaUAI = `BAYES
8
2 2 2 2 2 2 2 2
8
1 0
2 0 1
1 2
2 2 3
2 2 4
3 3 1 5
2 5 6
3 4 5 7
2 0.01 0.99
4 0.05 0.95 0.01 0.99
2 0.5 0.5
4 0.1 0.9 0.01 0.99
4 0.6 0.4 0.3 0.7
8 1 0 1 0 1 0 0 1
4 0.98 0.02 0.05 0.95
8 0.9 0.1 0.8 0.2 0.7 0.3 0.1 0.9
`

// TestTextbookNetworkByDefault: every verb for networks is right without options on a Bayesian
// network with factors of three variables and with zeros, and says what it did.
func TestTextbookNetworkByDefault(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := writeFile(t, filepath.Join(folder, "asia.uai"), asiaUAI)
	evidence := writeFile(t, filepath.Join(folder, "asia.uai.evid"), "2 6 0 7 0\n")
	network, err := uai.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	given, err := network.WithEvidence(map[int]int{6: 0, 7: 0})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		n    *mrf.Network
		lung float64
	}{{[]string{path}, network, 0.055}, {[]string{path, "--evidence", evidence}, given, 0.621252796677629}} {
		want, _ := oracle.NetworkMarginals(c.n)
		r := infer(t, append(c.args, "--task", "MAR")...)
		compareMarginals(t, "asia", r.Marginals, want, 1e-12)
		if z := oracle.NetworkLogZ(c.n); r.Method != "exact" || r.Bound != "exact" || math.Abs(*r.LogZ-z) > 1e-12 || math.Abs(r.Marginals[3][0]-c.lung) > 1e-12 {
			t.Errorf("%v: %s, %s log Z %v, want %v; P(cancer) %v, want %v", c.args, r.Method, r.Bound, *r.LogZ, z, r.Marginals[3][0], c.lung)
		}
		var best statesResult
		mustRun(t, append([]string{"infer", "--task", "MPE", "--json"}, c.args...)...).json(t, &best)
		if states, score := oracle.NetworkMax(c.n); !best.Optimal || best.Gap != 0 || !slices.Equal(best.States, states) || !closeTo(best.Energy, -score, 1e-12) {
			t.Errorf("%v: %+v, want %v of score %v", c.args, best, states, score)
		}
		out := filepath.Join(folder, "out.npz")
		o := mustRun(t, append([]string{"sample", "-o", out, "--force", "--samples", "4000", "-q"}, c.args...)...)
		if !strings.Contains(o.stdout, "exact and independent") {
			t.Errorf("%v: %s", c.args, o.stdout)
		}
		compareMarginals(t, "draws", frequencies(samples(t, out), network.Card), want, 0.04) // five standard errors
	}
}
