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
		numbers = append(numbers, oracle.Must(strconv.ParseFloat(f, 64))(t))
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
			o.says(t, "note: "+path+": every joint state has probability zero")
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
		oracle.OK(t, err)
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
