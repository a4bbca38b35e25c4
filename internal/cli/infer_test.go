package cli_test

import (
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	arrayfile "github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/oracle"
)

// loopUAI is a triangle of variables with 2, 3 and 2 states.
const loopUAI = `MARKOV
3
2 3 2
5
1 0
1 1
2 0 1
2 1 2
2 2 0

2 1.5 0.5
3 0.2 1 2
6 1 2 0.5 3 1 0.7
6 2 1 1 0.3 0.9 4
4 1 0.4 0.6 2
`

// treeUAI is a chain in which a joint state is forbidden.
const treeUAI = `MARKOV
3
2 2 2
2
2 0 1
2 1 2
4 1 2 0 3
4 1 0.5 0.25 1
`

// inferResult is what infer --json prints.
type inferResult struct {
	Task, Method, Counting string
	LogZ                   *float64 `json:"log_z"`
	Log10Z                 *float64 `json:"log10_z"`
	ZIsZero                bool     `json:"z_is_zero"`
	Bound                  string
	Converged              bool
	Residual               *float64
	Sweeps                 int
	Gap                    *float64
	Convex                 bool
	Marginals              [][]float64
}

// inferKeys are what --json promises.
var inferKeys = []string{"log_z", "log10_z", "z_is_zero", "bound", "converged", "residual", "sweeps", "gap"}

func infer(t testing.TB, args ...string) inferResult {
	t.Helper()
	o := mustRun(t, slices.Concat([]string{"infer"}, args, []string{"--json"})...)
	o.object(t, inferKeys...)
	var r inferResult
	o.json(t, &r)
	if r.ZIsZero || r.LogZ == nil || r.Log10Z == nil || !closeTo(*r.Log10Z, *r.LogZ/math.Ln10, 1e-14) {
		t.Fatalf("%s: log_z and log10_z do not fit: %s", o.command(), o.stdout)
	}
	return r
}

func compareMarginals(t testing.TB, name string, got, want [][]float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: marginals of %d variables, want %d", name, len(got), len(want))
		return
	}
	for s := range want {
		if len(got[s]) != len(want[s]) {
			t.Errorf("%s: variable %d has %d marginals, want %d", name, s, len(got[s]), len(want[s]))
			return
		}
		for i := range want[s] {
			if !(math.Abs(got[s][i]-want[s][i]) <= tolerance) {
				t.Errorf("%s: P(x_%d = %d) is %v, want %v", name, s, i, got[s][i], want[s][i])
				return
			}
		}
	}
}

// readMAR parses the UAI competition's format of marginals.
func readMAR(t testing.TB, text string) [][]float64 {
	t.Helper()
	fields := strings.Fields(text)
	if len(fields) < 2 || fields[0] != "MAR" {
		t.Fatalf("marginals begin with %.40q, want MAR", text)
	}
	numbers := numeric.Map(fields[1:], func(f string) float64 { return oracle.Must(strconv.ParseFloat(f, 64))(t) })
	n, numbers := int(numbers[0]), numbers[1:]
	marginals := make([][]float64, n)
	for s := range n {
		k := int(numbers[0])
		marginals[s], numbers = numbers[1:1+k], numbers[1+k:]
	}
	oracle.MustEqual(t, len(numbers), 0, "numbers left over after %d variables", n)
	return marginals
}

// TestInferFormats reads what infer writes without --json.
func TestInferFormats(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := writeFile(t, filepath.Join(folder, "loop.uai"), loopUAI)
	want := infer(t, path, "--method", "exact", "--task", "MAR")

	printed := mustRun(t, "infer", path, "--method", "exact").stdout
	fields := strings.Fields(printed)
	if len(fields) != 2 || fields[0] != "PR" {
		t.Fatalf("infer --task PR printed %q", printed)
	}
	if x, err := strconv.ParseFloat(fields[1], 64); err != nil || !closeTo(x, *want.Log10Z, 1e-14) {
		t.Errorf("log10 Z is printed as %q, want %v", fields[1], *want.Log10Z)
	}
	compareMarginals(t, "MAR", readMAR(t, mustRun(t, "infer", path, "--method", "exact", "--task", "MAR").stdout), want.Marginals, 1e-15)

	out := filepath.Join(folder, "out.MAR")
	o := mustRun(t, "infer", path, "--method", "exact", "--task", "MAR", "-o", out)
	oracle.Equal(t, o.stdout, "", "infer -o FILE also printed")
	compareMarginals(t, "-o", readMAR(t, readFile(t, out)), want.Marginals, 1e-15)
}

// TestProbabilitiesAsPotentials: rows of probabilities are told of, and neither logarithms nor rows of 0 and 1 are.
func TestProbabilitiesAsPotentials(t *testing.T) {
	t.Parallel()
	p, path := []float64{.75, .25, .5, .5}, filepath.Join(t.TempDir(), "p.npz")
	for _, theta := range [][]float64{p, numeric.Map(p, math.Log), {2, 0, 0, 1}, {0, 1, 1, 0}} {
		oracle.OK(t, arrayfile.WriteArchive(path, arrayfile.ArrayOf("theta", theta, 2, 2)))
		said := strings.Contains(mustRun(t, "infer", path).stderr, "each row of theta adds up to 1")
		oracle.Equal(t, said, theta[0] == p[0], "a note of theta %v", theta)
	}
}

// TestInferZero: Z = 0 is an answer to PR that no program can take for a number; marginals do not exist then. Package
// infer has the ways to it.
func TestInferZero(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := writeFile(t, filepath.Join(folder, "zero.uai"), "MARKOV\n2\n2 2\n1\n2 0 1\n4 0 0 1 1\n")
	evidence := writeFile(t, filepath.Join(folder, "zero.evid"), "2 0 0 1 1\n")
	for _, method := range []string{"--method=exact", "--counting=convex"} {
		args := []string{"infer", path, "--evidence", evidence, "--require-convergence", method}
		o := mustRun(t, append(args, "--json")...)
		var r inferResult
		o.json(t, &r)
		if object := o.object(t, inferKeys...); !r.ZIsZero || r.LogZ != nil || r.Log10Z != nil || r.Bound != "exact" || object["gap"] == nil {
			t.Errorf("%s: %s", method, o.stdout)
		}
		o.says(t, "note: "+path+": every joint state has probability zero")
		if o = mustRun(t, args...); o.stdout != "PR\n-inf\n" {
			t.Errorf("%s: printed %q", method, o.stdout)
		}
		o = run(t, append(args, "--task", "MAR", "--json")...)
		o.wantFailure(t, 3, "zero.uai", "every joint state has probability zero", "contradictory evidence")
	}
}
