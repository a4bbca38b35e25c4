package cli_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestInferSearches: restarts find several fixed points, the same ones again.
func TestInferSearches(t *testing.T) {
	t.Parallel()
	// A ring with a chord, of couplings of different strength.
	path := writeFile(t, filepath.Join(t.TempDir(), "ring.uai"),
		"MARKOV\n4\n2 2 2 2\n6\n1 0\n2 0 1\n2 1 2\n2 2 3\n2 3 0\n2 0 2\n\n2 1 1.02\n4 30 1 1 30\n4 30 1 1 30\n4 2 1 1 2\n4 2 1 1 2\n4 30 1 1 30\n")
	o := mustRun(t, "infer", path, "--counting", "bethe", "--restarts", "20", "--json")
	if points, ok := o.object(t)["fixed_points"].([]any); !ok || len(points) < 2 {
		t.Errorf("%s: want several fixed points", o.stdout)
	}
	if again := mustRun(t, "infer", path, "--counting", "bethe", "--restarts", "20", "--json"); untimed(again.stdout) != untimed(o.stdout) {
		t.Errorf("a second run printed %s, not %s", again.stdout, o.stdout)
	}
	o = mustRun(t, "infer", path, "--method", "mean-field", "--restarts", "3", "--json")
	if object := o.object(t); object["restarts"] != 3.0 || mustRun(t, "infer", path, "--method", "mean-field", "--json").object(t)["restarts"] != 10.0 {
		t.Errorf("%s: want 3 restarts of mean field, and 10 if not told", o.stdout)
	}
}

// untimed is JSON of infer without what the clock says.
func untimed(json string) string {
	return regexp.MustCompile(`"(seconds|sweeps_per_second)":[-+.e0-9]+`).ReplaceAllString(json, "")
}

// TestInferSweeps: --sweeps makes exactly so many, from one start, whether they converge or not,
// and the answer says how long they took.
func TestInferSweeps(t *testing.T) {
	t.Parallel()
	path := writeFile(t, filepath.Join(t.TempDir(), "loop.uai"), loopUAI)
	for _, line := range []string{"", "--counting trw", "--counting bethe", "--method mean-field", "--task MAR --threads 2"} {
		for _, n := range []float64{1, 3, 200} {
			o := mustRun(t, append([]string{"infer", path, "--json", "--sweeps", fmt.Sprint(n)}, strings.Fields(line)...)...)
			r := o.object(t)
			seconds, fast := r["seconds"].(float64), r["sweeps_per_second"].(float64)
			if r["sweeps"] != n || !(seconds > 0) || !(fast*seconds > 0) || r["converged"] != false || !strings.Contains(o.stderr, "which --sweeps asked for") {
				t.Errorf("%s --sweeps %v: %s%s", line, n, o.stdout, o.stderr)
			}
			if line == "--counting bethe" && r["restarts"] != 0.0 {
				t.Errorf("%s --sweeps %v: other starts were made: %s", line, n, o.stdout)
			}
		}
	}
	if r := mustRun(t, "infer", path, "--task", "MPE", "--json").object(t); !(r["seconds"].(float64) > 0) {
		t.Errorf("MPE took %v seconds", r["seconds"])
	}
}
