package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/internal/cli"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/uai"
	"github.com/blockbp/blockbp/mrf"
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

// TestInferNotConverged: a note and exit code 0, or exit code 5 if convergence is
// required.
func TestInferNotConverged(t *testing.T) {
	t.Parallel()
	path := writeFile(t, filepath.Join(t.TempDir(), "loop.uai"), loopUAI)
	o := mustRun(t, "infer", path, "--method", "bp", "--max-sweeps", "1", "--tol", "1e-12", "--json")
	if o.object(t)["converged"] != false || !strings.Contains(o.stderr, "not converged: residual") {
		t.Errorf("after one sweep: %s%s", o.stdout, o.stderr)
	}
	o = run(t, "infer", path, "--method", "bp", "--max-sweeps", "1", "--tol", "1e-12", "--json", "--require-convergence")
	o.wantFailure(t, 5, "not converged: residual", "after 1 sweeps")
	if o.object(t, inferKeys...)["converged"] != false {
		t.Errorf("infer --require-convergence printed %s", o.stdout)
	}
}

// TestInferTooWide: exact inference says what memory it would need, before it
// asks for it, and the default says why it is not exact.
func TestInferTooWide(t *testing.T) {
	oracle.Long(t)
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
	for task, want := range map[string]string{"PR": "an upper bound on log10 Z, by counting numbers trw", "MAR": "an approximation of unknown error, by counting numbers trw"} {
		const why = "by the orders of variables that were looked at, exact inference computes more than "
		if o := mustRun(t, "infer", path, "--task", task, "--max-sweeps", "30"); !strings.Contains(o.stderr, want+"; "+why) {
			t.Errorf("%s: stderr is %q", o.command(), o.stderr)
		}
		if r := mustRun(t, "infer", path, "--task", task, "--max-sweeps", "30", "--json").object(t); r["method"] != "bp" || !strings.HasPrefix(r["not_exact"].(string), why) {
			t.Errorf("method %v, %v", r["method"], r["not_exact"])
		}
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
	mustRun(t, "infer", path, "-o", out, "--force")
	if got := readFile(t, out); got != printed {
		t.Errorf("the file holds %q, want %q", got, printed)
	}

	// A link leads to the file.
	link := filepath.Join(folder, "link.PR")
	if err := os.Symlink(writeFile(t, filepath.Join(folder, "target.PR"), "old"), link); err != nil {
		t.Skipf("skipped: no symbolic links here: %v", err)
	}
	mustRun(t, "infer", path, "-o", link, "--force")
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the symbolic link was replaced by a file (%v, %v)", info.Mode(), err)
	}
	if got := readFile(t, folder, "target.PR"); got != printed {
		t.Errorf("the link's target holds %q, want %q", got, printed)
	}
}

// TestInferZero: Z = 0 is an answer to PR, whatever finds it, that no program can
// take for a number; marginals do not exist then.
func TestInferZero(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"table":    "MARKOV\n2\n2 2\n2\n2 0 1\n1 0\n4 0 0 0 0\n2 1 1\n",
		"conflict": "MARKOV\n2\n2 2\n2\n2 0 1\n1 0\n4 0 0 1 1\n2 1 0\n",
		"constant": "BAYES\n1\n2\n2\n1 0\n0\n2 0.5 0.5\n1 0\n",
		"evidence": "MARKOV\n2\n2 2\n1\n2 0 1\n4 0 0 1 1\n",
		"nothing":  "MARKOV\n0\n1\n0\n1 0\n",
	} {
		path := writeFile(t, filepath.Join(folder, name+".uai"), text)
		evidence := writeFile(t, filepath.Join(folder, name+".evid"), "0\n")
		if name == "evidence" {
			writeFile(t, evidence, "2 0 0 1 1\n")
		}
		for _, method := range [][]string{{"--method", "exact"}, {"--counting", "convex"}, {"--counting", "trw"}, {"--counting", "bethe"}} {
			args := append([]string{"infer", path, "--evidence", evidence, "--require-convergence"}, method...)
			o := mustRun(t, append(args, "--json")...)
			var r inferResult
			o.json(t, &r)
			if object := o.object(t, inferKeys...); !r.ZIsZero || r.LogZ != nil || r.Log10Z != nil || r.Bound != "exact" || object["gap"] == nil {
				t.Errorf("%s %v: %s", name, method, o.stdout)
			}
			if !strings.Contains(o.stderr, "note: "+path+": every joint state has probability zero") {
				t.Errorf("%s %v: stderr is %q", name, method, o.stderr)
			}
			if o = mustRun(t, args...); o.stdout != "PR\n-inf\n" {
				t.Errorf("%s %v: printed %q", name, method, o.stdout)
			}
			o = run(t, append(args, "--task", "MAR", "--json")...)
			o.wantFailure(t, 3, name+".uai", "every joint state has probability zero", "contradictory evidence")
			if o.stdout != "" {
				t.Errorf("%s %v: printed %q", name, method, o.stdout)
			}
		}
	}
}

// TestInferLocates: errors of belief propagation name the variables of the file
// although evidence has removed one.
func TestInferLocates(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := writeFile(t, filepath.Join(folder, "x.uai"), "MARKOV\n3\n2 2 2\n2\n1 0\n1 2\n2 1 1\n2 0 0\n")
	evidence := writeFile(t, filepath.Join(folder, "x.evid"), "1 0 1\n")
	run(t, "infer", path, "--evidence", evidence, "--task", "MAR").wantFailure(t, 3, "x.uai: variable 2: ")
}

// networkText draws a network in UAI format, with everything that the format
// allows: single states, variables and factors in any number, scopes of any size
// and order, zeros, values in any notation and of any magnitude.
func networkText(t *rapid.T, maxArity int) string {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
	card := rapid.SliceOfN(rapid.IntRange(1, 3), 0, 5).Draw(t, "card")
	spread := rapid.SampledFrom([]float64{1, 1, 100, 1000}).Draw(t, "spread")
	zeros := rapid.SampledFrom([]float64{0, 0.1, 0.4}).Draw(t, "zeros")
	gap := rapid.SampledFrom([]string{"\n", " ", "\t\r\n "}).Draw(t, "gap")
	words := []string{rapid.SampledFrom([]string{"MARKOV", "BAYES"}).Draw(t, "kind"), strconv.Itoa(len(card))}
	for _, k := range card {
		words = append(words, strconv.Itoa(k))
	}
	var tables []string
	factors := rapid.IntRange(0, 7).Draw(t, "factors")
	words = append(words, strconv.Itoa(factors))
	for range factors {
		scope := rng.Perm(len(card))[:rng.IntN(min(maxArity, len(card))+1)]
		words = append(words, strconv.Itoa(len(scope)))
		size := 1
		for _, v := range scope {
			words = append(words, strconv.Itoa(v))
			size *= card[v]
		}
		tables = append(tables, strconv.Itoa(size))
		for range size {
			if rng.Float64() < zeros {
				tables = append(tables, []string{"0", "0.000", "0e7", "-0", ".0"}[rng.IntN(5)])
				continue
			}
			format := []string{"%.3fe%d", "%.40fE%+d", "+%.0f.e%03d", "000%.17fe%d"}[rng.IntN(4)]
			tables = append(tables, fmt.Sprintf(format, 1+9*rng.Float64(), int(spread*(rng.Float64()-0.5))))
		}
	}
	return strings.Join(append(words, tables...), gap)
}

// evidenceText draws evidence for a network, in either form of the file.
func evidenceText(t *rapid.T, card []int) (string, map[int]int) {
	evidence := map[int]int{}
	text := ""
	for v, k := range card {
		if rapid.IntRange(0, 2).Draw(t, "observed") == 0 {
			evidence[v] = rapid.IntRange(0, k-1).Draw(t, "state")
			text = fmt.Sprintf(" %d %d", v, evidence[v]) + text
		}
	}
	text = strconv.Itoa(len(evidence)) + text
	return rapid.SampledFrom([]string{"", "1\n"}).Draw(t, "form") + text + "\n", evidence
}

// TestInferAgreesWithEnumeration: whatever the network, every answer is what
// enumeration says, or a bound on it, or says that it is neither.
func TestInferAgreesWithEnumeration(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	network, evid := filepath.Join(folder, "x.uai"), filepath.Join(folder, "x.evid")
	rapid.Check(t, func(t *rapid.T) {
		maxArity := rapid.IntRange(2, 3).Draw(t, "arity")
		text := networkText(t, maxArity)
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
		for _, method := range [][]string{{"--method", "exact"}, {"--counting", "convex"}, {"--counting", "trw"}, {"--counting", "bethe"}} {
			checkAnswer(t, c, append([]string{network, "--evidence", evid}, method...))
		}
	})
}

// checkAnswer compares what infer says with enumeration.
func checkAnswer(t *rapid.T, c *mrf.Conditioned, args []string) {
	want := oracle.NetworkLogZ(c.Network)
	command := func(extra ...string) outcome {
		var stdout, stderr bytes.Buffer
		line := slices.Concat([]string{"infer"}, args, extra)
		code := cli.Run(context.Background(), line, strings.NewReader(""), &stdout, &stderr)
		return outcome{line, code, stdout.String(), stderr.String()}
	}
	o := command("--json")
	var r inferResult
	if err := json.Unmarshal([]byte(o.stdout), &r); o.code != 0 || err != nil {
		t.Fatalf("%s: exit code %d, %v: %s%s", o.command(), o.code, err, o.stdout, o.stderr)
	}
	got := math.Inf(-1)
	if r.LogZ != nil {
		got = *r.LogZ
	}
	slack := 1e-8 * (1 + math.Abs(want))
	switch {
	case r.ZIsZero != (r.LogZ == nil) || r.ZIsZero && r.Bound != "exact",
		r.Bound == "exact" && got != want && !(math.Abs(got-want) <= slack),
		r.Bound == "upper" && !(got >= want-slack),
		r.Gap != nil && !(*r.Gap >= -slack):
		t.Fatalf("%s: %s; by enumeration log Z is %v", o.command(), o.stdout, want)
	}
	o = command("--json", "--task", "MAR")
	if r.ZIsZero || math.IsInf(want, -1) && r.Method == "exact" {
		if o.code != 3 || o.stdout != "" {
			t.Fatalf("%s: exit code %d, %s", o.command(), o.code, o.stdout)
		}
		return
	}
	r = inferResult{}
	if err := json.Unmarshal([]byte(o.stdout), &r); o.code != 0 || err != nil {
		t.Fatalf("%s: exit code %d, %v: %s%s", o.command(), o.code, err, o.stdout, o.stderr)
	}
	checkMarginals(t, o, c, r)
}

// checkMarginals compares marginals with enumeration where they are exact, and
// sees elsewhere that they are distributions.
func checkMarginals(t *rapid.T, o outcome, c *mrf.Conditioned, r inferResult) {
	if len(r.Marginals) != len(c.Observed) {
		t.Fatalf("%s: marginals of %d variables, want %d", o.command(), len(r.Marginals), len(c.Observed))
	}
	var want [][]float64
	if r.Bound == "exact" {
		nodes, _ := oracle.NetworkMarginals(c.Network)
		want = c.Marginals(nodes)
	}
	for v, marginal := range r.Marginals {
		sum := 0.0
		for i, p := range marginal {
			sum += p
			if want != nil && !(math.Abs(p-want[v][i]) <= 1e-6) {
				t.Fatalf("%s: P(x_%d = %d) is %v, want %v", o.command(), v, i, p, want[v][i])
			}
		}
		if state := c.Observed[v]; !(math.Abs(sum-1) <= 1e-9) || state >= 0 && marginal[state] != 1 {
			t.Fatalf("%s: variable %d, observed %d, has marginals %v", o.command(), v, state, marginal)
		}
	}
}

// TestInferUnusedOptions: what a method does not use is refused, or, beside exact
// inference, named.
func TestInferUnusedOptions(t *testing.T) {
	t.Parallel()
	path := writeFile(t, filepath.Join(t.TempDir(), "loop.uai"), loopUAI)
	for _, c := range []struct{ options, part string }{
		{"--task MAR --method gibbs --counting bethe", "--counting is used by --method bp only"},
		{"--task MAR --method gibbs --tol 1e-3", "--tol is used by --method bp only"},
		{"--counting convex --seed 2", "--seed is used by --counting trw only"},
		{"--task MPE --method exact --tol 1e-3", "--tol is used by --method trws only"},
		{"--task MPE --method cut --max-sweeps 10", "--max-sweeps is used by --method trws only"},
		{"--chains 2", "--chains is used by --method gibbs only"},
		{"--method exact --chains 2", "--chains is used by --method gibbs only"},
		{"--method gibbs --task MAR --sweeps 2", "--sweeps is used by --method bp only"},
		{"--task MPE --sweeps 2", "--sweeps is used by"},
		{"--sweeps 0", "want at least 1"},
		{"--sweeps 2 --tol 1e-3", "leave out --tol"},
		{"--sweeps 2 --max-sweeps 3", "leave out --max-sweeps"},
		{"--sweeps 2 --require-convergence", "leave out --require-convergence"},
		{"--method exact --memory 0", "above 0"},
		{"--method exact --memory -1", "above 0"},
	} {
		run(t, append([]string{"infer", path}, strings.Fields(c.options)...)...).wantFailure(t, 2, c.part)
	}
	plain := mustRun(t, "infer", path, "--method", "exact")
	for _, c := range []struct{ options, part string }{
		{"--counting bethe", "no use of --counting"}, {"--tol 1e-3 --max-sweeps 10", "no use of --tol, --max-sweeps"},
		{"--seed 2", "no use of --seed"}, {"--threads 2", "no use of --threads"}, {"--sweeps 2", "no use of --sweeps"},
	} {
		o := mustRun(t, append([]string{"infer", path, "--method", "exact"}, strings.Fields(c.options)...)...)
		if o.stdout != plain.stdout || !strings.Contains(o.stderr, "note: exact inference makes "+c.part) {
			t.Errorf("%s: printed %q and %q", c.options, o.stdout, o.stderr)
		}
	}
	for _, options := range []string{"--task MPE --tol 1e-3 --max-sweeps 10", "--task MPE --method trws --tol 1e-3", "--counting trw --seed 2"} {
		mustRun(t, append([]string{"infer", path}, strings.Fields(options)...)...)
	}
}

// TestInferZeroOnLoop: a triangle cannot be coloured with two colours, which no message
// finds: there are no marginals to print.
func TestInferZeroOnLoop(t *testing.T) {
	t.Parallel()
	triangle := writeFile(t, filepath.Join(t.TempDir(), "triangle.uai"),
		"MARKOV\n3\n2 2 2\n3\n2 0 1\n2 1 2\n2 0 2\n"+strings.Repeat("\n4 0 1 1 0", 3)+"\n")
	for _, counting := range []string{"convex", "trw", "bethe"} {
		o := run(t, "infer", triangle, "--task", "MAR", "--counting", counting)
		o.wantFailure(t, 3, "triangle.uai", "probability zero")
		if o.stdout != "" {
			t.Errorf("%s: printed %s", counting, o.stdout)
		}
	}
}

// TestNamesOnce: a message that lists the choices does so once, and still says which
// was probably meant.
func TestNamesOnce(t *testing.T) {
	t.Parallel()
	path := writeFile(t, filepath.Join(t.TempDir(), "loop.uai"), loopUAI)
	for _, c := range []struct{ option, far, near, meant string }{
		{"--method", "FOO", "exct", "; did you mean exact?"}, {"--counting", "FOO", "convx", "; did you mean convex?"},
	} {
		if o := run(t, "infer", path, c.option, c.far); o.code != 2 || strings.Contains(o.stderr, "valid are") {
			t.Errorf("exit code %d: %s", o.code, o.stderr)
		}
		run(t, "infer", path, c.option, c.near).wantFailure(t, 2, c.meant)
	}
	if o := run(t, "train", gridData(t), "--order", "rand"); o.code != 2 || strings.Count(o.stderr, "cyclic") != 1 {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
}

// TestInferNames: variables and states of a network that names them are shown by name, and evidence may be.
func TestInferNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	net := writeFile(t, filepath.Join(dir, "wet.bif"), "network w { }\nvariable rain { type discrete [2] { yes, no }; }\n"+
		"variable grass { type discrete [2] { dry, wet }; }\nprobability ( rain ) { table 0.25, 0.75; }\n"+
		"probability ( grass | rain ) { (yes) 0, 1; (no) 0.5, 0.5; }\n")
	if o := mustRun(t, "infer", net, "--task", "MAR"); !strings.Contains(o.stdout, "grass     wet          0.625") {
		t.Errorf("marginals are\n%s", o.stdout)
	}
	given := writeFile(t, filepath.Join(dir, "given"), "grass dry\n")
	if o := mustRun(t, "infer", net, "--task", "MPE", "--evidence", given); !strings.Contains(o.stdout, "rain      no") {
		t.Errorf("the state is\n%s", o.stdout)
	}
	if o := mustRun(t, "infer", net, "--task", "MAR", "--json"); !strings.Contains(o.stdout, `"state_names":[["yes","no"],["dry","wet"]]`) {
		t.Error(o.stdout)
	}
	file := filepath.Join(dir, "a.MAR")
	if mustRun(t, "infer", net, "--task", "MAR", "-o", file); !strings.HasPrefix(readFile(t, file), "MAR\n2 2 ") {
		t.Errorf("the file has %q", readFile(t, file))
	}
	for text, want := range map[string]string{"grass damp": `"damp", want one of dry, wet`, "grass": "the last variable of the evidence has no state"} {
		run(t, "infer", net, "--evidence", writeFile(t, given, text)).wantFailure(t, 3, want)
	}
}
