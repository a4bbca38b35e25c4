package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/internal/cli"
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
	network, err := uai.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
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
	c, err := network.Condition(map[int]int{1: 2})
	if err != nil {
		t.Fatal(err)
	}
	left, _ := oracle.NetworkMax(c.Network)
	o = mustRun(t, "infer", path, "--task", "MPE", "--evidence", evidence, "--json")
	o.json(t, &r)
	if !slices.Equal(r.States, c.States(left)) {
		t.Errorf("with evidence: %s, want %v", o.stdout, c.States(left))
	}
}

// TestInferStatesRefuses: unsuited methods and options, and answers that would be
// none.
func TestInferStatesRefuses(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := writeFile(t, filepath.Join(folder, "loop.uai"), loopUAI)
	frustrated := writeFile(t, filepath.Join(folder, "f.uai"), "MARKOV\n4\n2 2 2 2\n5\n2 1 2\n2 2 3\n2 1 3\n1 1\n1 0\n\n4 1 2 2 1\n4 1 2 2 1\n4 1 2 2 1\n2 1 1.1\n2 1 1\n")
	zero := writeFile(t, filepath.Join(folder, "zero.uai"), "MARKOV\n2\n2 2\n2\n2 0 1\n1 0\n4 0 0 1 1\n2 1 0\n")
	hidden := writeFile(t, filepath.Join(folder, "hidden.uai"), "MARKOV\n3\n2 2 2\n3\n2 0 1\n2 1 2\n2 0 2\n4 0 1 1 0\n4 0 1 1 0\n4 0 1 1 0\n")
	evidence := writeFile(t, filepath.Join(folder, "f.evid"), "1 0 0\n")
	for _, c := range []struct {
		code int
		args []string
		want []string
	}{
		{2, []string{path, "--method", "bp"}, []string{"with --task MPE want auto, cut, exact, trws"}},
		{2, []string{path, "--method", "gibbs"}, []string{"with --task MPE want auto"}},
		{2, []string{path, "--chains", "2"}, []string{"--chains is used by --method gibbs only"}},
		{2, []string{path, "--counting", "trw"}, []string{"--counting is not used by --task MPE"}},
		{2, []string{path, "--seed", "2"}, []string{"--seed is not used"}},
		{3, []string{path, "--method", "trws", "--memory", "100"}, []string{"inference by trws would take about", "100 B are allowed", "--memory"}},
		{3, []string{path, "--method", "exact", "--memory", "1"}, []string{"loop.uai", "memory"}},
		{3, []string{path, "--method", "cut"}, []string{"submodular", "variable 1 has more than two possible states"}},
		{3, []string{frustrated, "--method", "cut", "--evidence", evidence}, []string{"variables 2 and 3"}},
		{3, []string{zero}, []string{"zero.uai", "probability zero"}},
		{3, []string{zero, "--method", "exact"}, []string{"zero.uai", "probability zero"}},
		{3, []string{hidden}, []string{"hidden.uai", "probability zero"}},
		{4, []string{hidden, "--method", "trws"}, []string{"hidden.uai", "no joint state of positive probability was found", "exact"}},
		{5, []string{frustrated, "--method", "trws", "--max-sweeps", "1", "--require-convergence"}, []string{"not proved optimal", "--max-sweeps"}},
	} {
		o := run(t, append([]string{"infer", "--task", "MPE"}, c.args...)...)
		o.wantFailure(t, c.code, c.want...)
		if c.code != 5 && o.stdout != "" {
			t.Errorf("%s: printed %q", o.command(), o.stdout)
		}
	}
	if o := mustRun(t, "infer", frustrated, "--task", "MPE", "--method", "trws"); !strings.Contains(o.stderr, "note: not proved optimal") {
		t.Errorf("stderr is %q", o.stderr)
	}
	run(t, "infer", path, "--method", "trws").wantFailure(t, 2, "with --task PR want auto, bp, exact")
}

// TestInferStatesAgreesWithEnumeration: whatever the network, the states have the
// energy that is printed, and bounds and claims are true.
func TestInferStatesAgreesWithEnumeration(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	network, evid := filepath.Join(folder, "x.uai"), filepath.Join(folder, "x.evid")
	rapid.Check(t, func(t *rapid.T) {
		text := networkText(t, 3)
		n, err := uai.Read(strings.NewReader(text), "x")
		if err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		evidence, given := evidenceText(t, n.Card)
		c, err := n.Condition(given)
		if err == nil {
			err = errors.Join(os.WriteFile(network, []byte(text), 0o600), os.WriteFile(evid, []byte(evidence), 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
		_, best := oracle.NetworkMax(c.Network)
		slack := 1e-9 * (1 + math.Abs(best))
		for _, method := range []string{"auto", "exact", "trws"} {
			var stdout, stderr bytes.Buffer
			line := []string{"infer", network, "--evidence", evid, "--task", "MPE", "--method", method, "--json"}
			code := cli.Run(context.Background(), line, strings.NewReader(""), &stdout, &stderr)
			if code == 3 && math.IsInf(best, -1) || code == 4 && method == "trws" {
				continue
			}
			var r statesResult
			if err := json.Unmarshal(stdout.Bytes(), &r); code != 0 || err != nil {
				t.Fatalf("%v: exit code %d, %v: %s%s", line, code, err, &stdout, &stderr)
			}
			for v, state := range given {
				if r.States[v] != state {
					t.Fatalf("%v: variable %d is in state %d, observed %d", line, v, r.States[v], state)
				}
			}
			energy := -n.LogScore(r.States)
			if !(math.Abs(energy-r.Energy) <= slack) || !(r.Energy >= -best-slack) || !(r.LowerBound <= -best+slack) || r.Optimal && !(r.Energy <= -best+slack) || method != "trws" && !r.Optimal {
				t.Fatalf("%v: %s, the states have energy %v, the smallest is %v", line, &stdout, energy, -best)
			}
		}
	})
}
