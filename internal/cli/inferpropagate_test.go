package cli_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestInferSweeps: --sweeps makes exactly so many, whether they converge or not,
// and the answer says how long they took.
func TestInferSweeps(t *testing.T) {
	t.Parallel()
	path := writeFile(t, filepath.Join(t.TempDir(), "loop.uai"), loopUAI)
	for _, line := range []string{"", "--counting trw", "--counting bethe", "--task MAR --threads 2"} {
		for _, n := range []float64{1, 3, 200} {
			o := mustRun(t, append([]string{"infer", path, "--json", "--sweeps", fmt.Sprint(n)}, strings.Fields(line)...)...)
			r := o.object(t)
			seconds, fast := r["seconds"].(float64), r["sweeps_per_second"].(float64)
			if r["sweeps"] != n || !(seconds > 0) || !(fast*seconds > 0) || r["converged"] != false || !strings.Contains(o.stderr, "which --sweeps asked for") {
				t.Errorf("%s --sweeps %v: %s%s", line, n, o.stdout, o.stderr)
			}
		}
	}
	if r := mustRun(t, "infer", path, "--task", "MPE", "--json").object(t); !(r["seconds"].(float64) > 0) {
		t.Errorf("MPE took %v seconds", r["seconds"])
	}
}
