package cli_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestEvalAgainst: what belief propagation misses of exact marginals.
func TestEvalAgainst(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := writeFile(t, filepath.Join(folder, "loop.uai"), loopUAI)
	exact, approximate := filepath.Join(folder, "exact.MAR"), filepath.Join(folder, "bp.MAR")
	mustRun(t, "infer", path, "--task", "MAR", "--method", "exact", "-o", exact)
	mustRun(t, "infer", path, "--task", "MAR", "--counting", "trw", "-o", approximate)
	keys := []string{"variables", "mean_hellinger", "largest_hellinger", "worst_variable", "largest_difference"}
	same := mustRun(t, "eval", exact, "--against", exact, "--json").object(t, keys...)
	if same["variables"] != 3.0 || same["mean_hellinger"] != 0.0 || same["largest_difference"] != 0.0 {
		t.Errorf("a file against itself: %v", same)
	}
	o := mustRun(t, "eval", approximate, "--against", exact, "--json")
	if h, ok := o.object(t, keys...)["mean_hellinger"].(float64); !ok || h < 0.01 || h > 0.5 {
		t.Errorf("%s", o.stdout)
	}
	if table := mustRun(t, "eval", approximate, "--against", exact).stdout; !strings.Contains(table, "mean Hellinger distance") {
		t.Errorf("printed %s", table)
	}
	other := writeFile(t, filepath.Join(folder, "other.MAR"), "MAR\n3 2 0.5 0.5 2 0.5 0.5 2 0.5 0.5\n")
	run(t, "eval", other, "--against", exact).wantFailure(t, 3, "other.MAR", "variable 1 has 2 states, in the reference 3")
	run(t, "eval", filepath.Join(folder, "none.MAR"), "--against", exact).wantFailure(t, 1, "none.MAR")
	run(t, "eval", path, "--against", exact).wantFailure(t, 3, "loop.uai:1", "MAR")
	run(t, "eval", exact, "--against", exact, "-m", "run").wantFailure(t, 2, "--model is not used")
	run(t, "eval", "--against", exact).wantFailure(t, 2, "one file of marginals")
}
