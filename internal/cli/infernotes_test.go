package cli_test

import (
	"path/filepath"
	"strings"
	"testing"
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
