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
		{[]string{"--counting", "bethe"}, "approximation of log10 Z of unknown sign, by counting numbers bethe: a stationary point of a free energy that is not known to be convex, which may have others"},
		{[]string{"--counting", "bethe", "--max-sweeps", "1"}, "of unknown sign, by counting numbers bethe; --method exact"},
		{[]string{"--task", "MAR", "--counting", "trw"}, "marginals are an approximation of unknown error"},
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

// TestInferOptimum: what is convex has one optimum, and JSON says which kind was found.
func TestInferOptimum(t *testing.T) {
	t.Parallel()
	path := writeFile(t, filepath.Join(t.TempDir(), "loop.uai"), loopUAI)
	for args, want := range map[string]any{
		"--counting convex": "global", "--counting trw": "global", "--method exact": "global",
		"--counting bethe": "stationary", "--counting bethe --max-sweeps 1": "none", "--method gibbs --task MAR": "none",
	} {
		if got := mustRun(t, append([]string{"infer", path, "--json"}, strings.Fields(args)...)...).object(t)["optimum"]; got != want {
			t.Errorf("%s: optimum %v, want %v", args, got, want)
		}
	}
}
