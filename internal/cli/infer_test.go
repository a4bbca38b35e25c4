package cli_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/dataset/uai"
	"github.com/blockbp/blockbp/internal/cli"
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
	Bound                  string
	Converged              bool
	Residual               *float64
	Sweeps                 int
	Gap                    *float64
	Convex                 bool
	Marginals              [][]float64
}

// inferKeys are what --json promises.
var inferKeys = []string{"log_z", "log10_z", "bound", "converged", "residual", "sweeps", "gap"}

func infer(t testing.TB, args ...string) inferResult {
	t.Helper()
	o := mustRun(t, slices.Concat([]string{"infer"}, args, []string{"--json"})...)
	o.object(t, inferKeys...)
	var r inferResult
	o.json(t, &r)
	if r.LogZ == nil || r.Log10Z == nil || !closeTo(*r.Log10Z, *r.LogZ/math.Ln10, 1e-14) {
		t.Fatalf("%s: log_z and log10_z do not fit: %s", o.command(), o.stdout)
	}
	return r
}

func TestInferSmall(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, c := range []struct {
		name, text, counting, bound string
	}{
		{"loop", loopUAI, "convex", "upper"},
		{"loop", loopUAI, "trw", "upper"},
		{"loop", loopUAI, "bethe", "none"},
		{"tree", treeUAI, "trw", "exact"},
		{"tree", treeUAI, "bethe", "exact"},
		{"tree", treeUAI, "convex", "upper"},
	} {
		path := writeFile(t, filepath.Join(folder, c.name+".uai"), c.text)
		network, err := uai.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := oracle.NetworkLogZ(network)
		r := infer(t, path, "--task", "PR", "--counting", c.counting, "--tol", "1e-12")
		if r.Bound != c.bound || !r.Converged || *r.Residual > 1e-12 || r.Sweeps < 1 {
			t.Errorf("%s %s: %+v, want a converged bound %q", c.name, c.counting, r, c.bound)
		}
		switch {
		case r.Bound == "exact" && !closeTo(*r.LogZ, want, 1e-10), r.Bound == "upper" && *r.LogZ < want-1e-10:
			t.Errorf("%s %s: %s log Z is %v, exactly it is %v", c.name, c.counting, r.Bound, *r.LogZ, want)
		}
		if r.Gap != nil && math.Abs(*r.Gap) > 1e-8 {
			t.Errorf("%s %s: gap %v", c.name, c.counting, *r.Gap)
		}
		exact := infer(t, path, "--counting", c.counting, "--method", "exact", "--task", "MAR")
		if exact.Bound != "exact" || !exact.Converged || !closeTo(*exact.LogZ, want, 1e-12) {
			t.Errorf("%s: exact inference gives %+v, want log Z %v", c.name, exact, want)
		}
		nodes, _ := oracle.NetworkMarginals(network)
		compareMarginals(t, c.name, exact.Marginals, nodes, 1e-12)
		if c.bound == "exact" {
			compareMarginals(t, c.name, infer(t, path, "--task", "MAR", "--counting", c.counting, "--tol", "1e-12").Marginals, nodes, 1e-10)
		}
	}
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
	var numbers []float64
	for _, f := range fields[1:] {
		x, err := strconv.ParseFloat(f, 64)
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, x)
	}
	n, numbers := int(numbers[0]), numbers[1:]
	marginals := make([][]float64, n)
	for s := range n {
		k := int(numbers[0])
		marginals[s], numbers = numbers[1:1+k], numbers[1+k:]
	}
	if len(numbers) != 0 {
		t.Fatalf("%d numbers are left over after %d variables", len(numbers), n)
	}
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
	if o.stdout != "" {
		t.Errorf("infer -o FILE also printed %q", o.stdout)
	}
	compareMarginals(t, "-o", readMAR(t, readFile(t, out)), want.Marginals, 1e-15)

	// Standard input.
	var stdout, stderr bytes.Buffer
	if code := cli.Run(t.Context(), []string{"infer", "-", "--method", "exact"}, strings.NewReader(loopUAI), &stdout, &stderr); code != 0 || stdout.String() != printed {
		t.Errorf("infer - : exit code %d, stdout %q, stderr %q; want 0 and %q", code, stdout.String(), stderr.String(), printed)
	}
}

// TestInferEvidence fixes variables, in both forms of evidence files.
func TestInferEvidence(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := writeFile(t, filepath.Join(folder, "loop.uai"), loopUAI)
	network, err := uai.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	conditioned, err := network.Condition(map[int]int{1: 2})
	if err != nil {
		t.Fatal(err)
	}
	want := oracle.NetworkLogZ(conditioned.Network)
	for i, text := range []string{"1 1 2\n", "1\n1 1 2\n"} {
		evidence := writeFile(t, filepath.Join(folder, fmt.Sprintf("%d.evid", i)), text)
		for _, method := range []string{"exact", "bp"} { // with x_1 known the triangle is a chain
			r := infer(t, path, "--evidence", evidence, "--method", method, "--counting", "bethe", "--task", "MAR", "--tol", "1e-12")
			if !closeTo(*r.LogZ, want, 1e-10) {
				t.Errorf("%q %s: log Z is %v, want %v", text, method, *r.LogZ, want)
			}
			if !slices.Equal(r.Marginals[1], []float64{0, 0, 1}) {
				t.Errorf("%q %s: the observed variable has marginals %v", text, method, r.Marginals[1])
			}
		}
	}
}

// TestInferNotConverged: a note and exit code 0, or exit code 5 if convergence is
// required.
func TestInferNotConverged(t *testing.T) {
	t.Parallel()
	path := writeFile(t, filepath.Join(t.TempDir(), "loop.uai"), loopUAI)
	o := mustRun(t, "infer", path, "--max-sweeps", "1", "--tol", "1e-12", "--json")
	if o.object(t)["converged"] != false || !strings.Contains(o.stderr, "not converged: residual") {
		t.Errorf("after one sweep: %s%s", o.stdout, o.stderr)
	}
	o = run(t, "infer", path, "--max-sweeps", "1", "--tol", "1e-12", "--json", "--require-convergence")
	o.wantFailure(t, 5, "not converged: residual", "after 1 sweeps")
	if o.object(t, inferKeys...)["converged"] != false {
		t.Errorf("infer --require-convergence printed %s", o.stdout)
	}
}

// TestInferTooWide: exact inference says what memory it would need, before it
// asks for it.
func TestInferTooWide(t *testing.T) {
	t.Parallel()
	const side = 40
	var b strings.Builder
	fmt.Fprintf(&b, "MARKOV\n%d\n%s\n%d\n", side*side, strings.Repeat("2 ", side*side), 2*side*(side-1))
	for r := range side {
		for c := range side {
			if c+1 < side {
				fmt.Fprintf(&b, "2 %d %d\n", r*side+c, r*side+c+1)
			}
			if r+1 < side {
				fmt.Fprintf(&b, "2 %d %d\n", r*side+c, (r+1)*side+c)
			}
		}
	}
	b.WriteString(strings.Repeat("4 1 2 2 1\n", 2*side*(side-1)))
	path := writeFile(t, filepath.Join(t.TempDir(), "wide.uai"), b.String())
	o := run(t, "infer", path, "--method", "exact")
	o.wantFailure(t, 3, "memory", "width")
	if o.stdout != "" {
		t.Errorf("it printed %q", o.stdout)
	}
	run(t, "infer", writeFile(t, filepath.Join(t.TempDir(), "loop.uai"), loopUAI), "--method", "exact", "--memory", "1").wantFailure(t, 3, "memory")
}

// TestInferOutput: the answer goes where --out says, whatever is there.
func TestInferOutput(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := writeFile(t, filepath.Join(folder, "loop.uai"), loopUAI)
	printed := mustRun(t, "infer", path).stdout

	// Old content is replaced whole.
	out := writeFile(t, filepath.Join(folder, "out.PR"), strings.Repeat("old ", 1000))
	mustRun(t, "infer", path, "-o", out)
	if got := readFile(t, out); got != printed {
		t.Errorf("the file holds %q, want %q", got, printed)
	}

	// A link leads to the file.
	link := filepath.Join(folder, "link.PR")
	if err := os.Symlink(writeFile(t, filepath.Join(folder, "target.PR"), "old"), link); err != nil {
		t.Skipf("skipped: no symbolic links here: %v", err)
	}
	mustRun(t, "infer", path, "-o", link)
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the symbolic link was replaced by a file (%v, %v)", info.Mode(), err)
	}
	if got := readFile(t, folder, "target.PR"); got != printed {
		t.Errorf("the link's target holds %q, want %q", got, printed)
	}
}
