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
		{nil, "upper bound on log10 Z, by counting numbers convex"},
		{[]string{"--counting", "trw"}, "upper bound on log10 Z, by counting numbers trw"},
		{[]string{"--counting", "bethe"}, "approximation of log10 Z of unknown sign"},
		{[]string{"--task", "MAR", "--counting", "trw"}, "marginals are an approximation"},
		{[]string{"--method", "mean-field"}, "lower bound on log10 Z, by mean field"},
		{[]string{"--task", "MAR", "--method", "mean-field"}, "marginals are an approximation, by mean field"},
		{[]string{"--task", "MAR", "--method", "gibbs"}, "estimates by Gibbs sampling"},
		{[]string{"--method", "exact"}, ""},
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
