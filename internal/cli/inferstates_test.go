package cli_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/uai"
)

// statesResult is what infer --task MPE --json prints.
type statesResult struct {
	Task, Method       string
	Energy             float64
	LowerBound         float64 `json:"lower_bound"`
	Gap                float64
	Optimal, Converged bool
	Sweeps             int
	States             []int
}

var statesKeys = []string{"task", "method", "energy", "lower_bound", "gap", "optimal", "converged", "sweeps", "states"}

// TestInferStates reads what infer writes in both formats, with evidence.
func TestInferStates(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := writeFile(t, filepath.Join(folder, "loop.uai"), loopUAI)
	evidence := writeFile(t, filepath.Join(folder, "loop.evid"), "1 1 2\n")
	network := oracle.Must(uai.ReadFile(path))(t)
	want, score := oracle.NetworkMax(network)
	o := mustRun(t, "infer", path, "--task", "MPE", "--json")
	o.object(t, statesKeys...)
	var r statesResult
	o.json(t, &r)
	if !r.Optimal || !r.Converged || r.Gap != 0 || !closeTo(r.Energy, -score, 1e-12) || !slices.Equal(r.States, want) || o.stderr != "" {
		t.Errorf("%s%s, want %v of score %v", o.stdout, o.stderr, want, score)
	}
	text := fmt.Sprintf("MPE\n%d %s\n", len(want), strings.Trim(fmt.Sprint(want), "[]"))
	for _, method := range []string{"exact", "trws"} {
		if o := mustRun(t, "infer", path, "--task", "MAP", "--method", method); o.stdout != text {
			t.Errorf("%s printed %q, want %q", method, o.stdout, text)
		}
	}
	out := filepath.Join(folder, "x.MPE")
	if o := mustRun(t, "infer", path, "--task", "MPE", "-o", out); o.stdout != "" || readFile(t, out) != text {
		t.Errorf("printed %q, the file holds %q", o.stdout, readFile(t, out))
	}
	c := oracle.Must(network.Condition(map[int]int{1: 2}))(t)
	left, _ := oracle.NetworkMax(c.Network)
	o = mustRun(t, "infer", path, "--task", "MPE", "--evidence", evidence, "--json")
	o.json(t, &r)
	if !slices.Equal(r.States, c.States(left)) {
		t.Errorf("with evidence: %s, want %v", o.stdout, c.States(left))
	}
}
