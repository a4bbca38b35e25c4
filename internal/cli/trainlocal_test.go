package cli_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestLocalMethods: pseudo-likelihood and piecewise training leave the same run
// folder, which eval, predict, info and compare take like any other.
func TestLocalMethods(t *testing.T) {
	oracle.Long(t)
	t.Parallel()
	folder := t.TempDir()
	for method, kind := range map[string]string{"exact": "likelihood", "pseudo": "pseudo_likelihood", "piecewise": "piecewise", "bbpl": "variational"} {
		dir := filepath.Join(folder, method)
		o := mustRun(t, "train", gridData(t), "-o", dir, "--method", method, "--eval", "self="+gridData(t), "--json")
		r := o.object(t, "objective_kind", "status", "convex", "checked", "passes")
		if r["objective_kind"] != kind || r["status"] != "converged" || r["convex"] != true || r["checked"] != true {
			t.Errorf("%s: %v", method, r)
		}
		report := readFile(t, dir, "report.html")
		if strings.Contains(report, "running estimates") != (method == "bbpl") {
			t.Errorf("%s: the report speaks of running estimates: %v", method, method != "bbpl")
		}
		mustRun(t, "predict", gridData(t), "-m", dir, "-o", filepath.Join(folder, "predicted-"+method))
		mustRun(t, "info", dir)
	}
	o := mustRun(t, "compare", filepath.Join(folder, "pseudo"), filepath.Join(folder, "bbpl"))
	if !strings.Contains(o.stdout, "(pseudo_likelihood)") {
		t.Errorf("compare does not say that objectives differ:\n%s", o.stdout)
	}
	// What was learned exactly predicts so, unless counting numbers are asked for.
	for asked, bound := range map[string]string{"": "exact", "--counting=convex": "upper"} {
		args := []string{"eval", gridData(t), "-m", filepath.Join(folder, "exact"), "--json"}
		if asked != "" {
			args = append(args, asked)
		}
		if o := mustRun(t, args...); !strings.Contains(o.stdout, `"negative_log_likelihood_bound":"`+bound+`"`) {
			t.Errorf("eval %s: %s", asked, o.stdout)
		}
	}
	mustRun(t, "eval", gridData(t), "-m", filepath.Join(folder, "pseudo"), "-m", filepath.Join(folder, "bbpl"))
	mustRun(t, "train", gridData(t), "--method", "piecewise", "--dry-run")
}

// TestLocalMethodResumes: a run that a limit ended goes on to the same bits.
func TestLocalMethodResumes(t *testing.T) {
	oracle.Long(t)
	t.Parallel()
	folder := t.TempDir()
	once, twice := filepath.Join(folder, "once"), filepath.Join(folder, "twice")
	args := []string{"--method", "pseudo", "--class-weights", "balanced", "--json"}
	want := mustRun(t, append([]string{"train", gridData(t), "-o", once}, args...)...).object(t, "theta_sha256", "passes")
	mustRun(t, append([]string{"train", gridData(t), "-o", twice, "--max-iter", "3"}, args...)...)
	got := mustRun(t, "train", twice, "--resume", "--max-iter", "1000", "--json").object(t, "theta_sha256", "passes", "status")
	if got["theta_sha256"] != want["theta_sha256"] || got["passes"] != want["passes"] || got["status"] != "converged" {
		t.Errorf("resumed: %v, in one go: %v", got, want)
	}
	if plain := mustRun(t, "train", gridData(t), "-o", filepath.Join(folder, "plain"), "--method", "pseudo", "--json").object(t, "theta_sha256"); plain["theta_sha256"] == want["theta_sha256"] {
		t.Error("class weights change nothing")
	}
	o := mustRun(t, "train", gridData(t), "-o", filepath.Join(folder, "note"), "--method", "pseudo", "--class-weights", "0=2", "--max-iter", "1")
	if !strings.Contains(o.stderr, "--class-weights with --method pseudo multiply the odds of a state once for every neighbour") {
		t.Errorf("no note: %s", o.stderr)
	}
	run(t, "train", twice, "--resume", "--class-weights", "0=2").wantFailure(t, 2, "--class-weights", "balanced")
}

// TestLocalMethodNotes: what is not used, and what is left out, is said.
func TestLocalMethodNotes(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	o := mustRun(t, "train", gridData(t), "-o", filepath.Join(folder, "run"), "--method", "pseudo", "--step", "fixed:1", "--blocks", "2", "--max-iter", "1")
	for _, part := range []string{"--step is not used by --method pseudo", "--blocks is not used by --method pseudo"} {
		if !strings.Contains(o.stderr, part) {
			t.Errorf("no note %q: %s", part, o.stderr)
		}
	}
	writeFile(t, filepath.Join(folder, "g.nodes.tsv"), "a\t0\ttrain\t0\nb\t1\ttrain\t1\nc\t-1\t\t0 1\n")
	writeFile(t, filepath.Join(folder, "g.edges.tsv"), "a\tb\nb\tc\n")
	o = mustRun(t, "train", filepath.Join(folder, "g"), "-o", filepath.Join(folder, "missing"), "--method", "piecewise")
	if want := "leaves out every node and edge that misses a label"; !strings.Contains(o.stderr, want) {
		t.Errorf("no note %q: %s", want, o.stderr)
	}
}

// TestClassWeightErrors: weights that no objective can use are refused.
func TestClassWeightErrors(t *testing.T) {
	t.Parallel()
	for value, parts := range map[string][]string{
		"0=0":              {"positive", `not 0 for "0"`},
		"0":                {"STATE=WEIGHT"},
		"zebra=2":          {`no state "zebra"`},
		"0=2,1=much":       {`"1=much"`},
		"0=2,0=3":          {`state "0" is there twice`},
		`{"0": 0}`:         {`not 0 for "0"`, "positive"},
		`{"0": 2, "0": 3}`: {"0"},
		`{"0": 2`:          {"JSON"},
		`{"of,f": 2}`:      {`no state "of,f"`},
		"":                 {"want balanced, or STATE=WEIGHT"},
	} {
		run(t, "train", gridData(t), "-o", filepath.Join(t.TempDir(), "run"), "--method", "pseudo", "--class-weights", value).wantFailure(t, 2, append(parts, "--class-weights")...)
	}
}
