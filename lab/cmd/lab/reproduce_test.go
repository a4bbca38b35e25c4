package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/lab/study"
)

// TestReproduce runs a study, and again in the same folder, where nothing is left to measure.
func TestReproduce(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "study")
	o := mustRun(t, "reproduce", "theorem1", "--scale", "tiny", "-o", out)
	var result study.Outcome
	oracle.OK(t, json.Unmarshal([]byte(readFile(t, filepath.Join(out, "claims.json"))), &result))
	if result.Scale != "tiny" || !slices.Equal(result.Studies, []string{"theorem1"}) || len(result.Claims) == 0 {
		t.Fatalf("result %+v", result)
	}
	for _, c := range result.Claims {
		if c.Paper == "" || c.Measured == "" || !strings.Contains(o.stdout, c.Name) {
			t.Errorf("claim %+v is not in\n%s", c, o.stdout)
		}
	}
	if page := readFile(t, result.Page); !strings.Contains(page, "Assumption 1") ||
		!strings.Contains(page, "<svg ") {
		t.Error("the page shows no figures, or not the claims")
	}
	if !strings.Contains(o.stderr, "2 parts, 0 of them kept") ||
		!strings.Contains(o.stderr, "[1/2] theorem1-non-templated") {
		t.Errorf("stderr is %q", o.stderr)
	}
	again := mustRun(t, "reproduce", "theorem1", "--scale", "tiny", "-o", out)
	if !strings.Contains(again.stderr, "2 of them kept") || strings.Contains(again.stderr, "[1/2]") ||
		!strings.Contains(again.stdout, result.Claims[0].Measured) {
		t.Errorf("the second run says\n%s%s", again.stderr, again.stdout)
	}
}

// TestReproduceRefuses: what it cannot do, and what to do instead.
func TestReproduceRefuses(t *testing.T) {
	t.Parallel()
	foreign := t.TempDir()
	oracle.OK(t, os.WriteFile(filepath.Join(foreign, "thesis.tex"), nil, 0o600))
	for line, want := range map[string]string{
		"reproduce":                             "theorem1",
		"reproduce fgi2":                        "fig2",
		"reproduce fig2 --scale huge":           "want small or paper",
		"reproduce fig2 --seeds -1":             "--seeds -1",
		"reproduce fig5 --features x":           "--data",
		"reproduce fig2 --threads 0":            "--threads 0",
		"reproduce theorem1 --out " + foreign:   "thesis.tex",
		"reproduce all --sclae paper":           "--sclae",
		"reproduce theorem1 fig9 --scale small": "fig9",
		"reproduce steps --only 3":              "steps-hard",
		"reproduce fig2 steps-hard":             "goes alone",
	} {
		runLab(t.Context(), strings.Fields(line)...).wantFailure(t, 2, want)
	}
	out := filepath.Join(t.TempDir(), "out")
	runLab(t.Context(), "reproduce", "fig1", "--data", foreign, "-o", out).
		wantFailure(t, 1, "features", "lab/README.md")
	if _, err := os.Stat(out); err == nil {
		t.Error("a folder was made before the data were looked at")
	}
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	runLab(ctx, "reproduce", "theorem1", "-o", out).wantFailure(t, 130, "interrupted", out)
}

// TestReproduceWithoutData: studies on images are counted as not run beside others, and refused alone.
func TestReproduceWithoutData(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	o := mustRun(t, "reproduce", "fig6", "theorem1", "--scale", "tiny", "-o", out)
	if !strings.Contains(o.stderr, "not run: fig6") || !strings.Contains(o.stderr, "--data") {
		t.Errorf("stderr is %q", o.stderr)
	}
	runLab(t.Context(), "reproduce", "fig5", "fig6", "-o", filepath.Join(t.TempDir(), "out")).wantFailure(t, 2, "--data")
}

// TestReproduceHard: the suite of small problems is a test, all of it or some problems. It does not
// run beside other tests: it replaces what runs tests.
func TestReproduceHard(t *testing.T) {
	runTest := goTest
	defer func() { goTest, moduleFolder = runTest, "" }()
	moduleFolder = ""
	var asked []string
	goTest = func(_ context.Context, _, _ io.Writer, args ...string) error { asked = args; return nil }
	runLab(t.Context(), "reproduce", "steps-hard").wantFailure(t, 1, "go test -C lab ./hard")
	moduleFolder = filepath.Join("..", "..")
	for line, want := range map[string]string{"steps-hard": "all", "steps-hard --only 24,9": "24,9"} {
		mustRun(t, append([]string{"reproduce"}, strings.Fields(line)...)...)
		if asked[0] != "./hard" || asked[len(asked)-1] != want {
			t.Errorf("%s runs the test %q", line, asked)
		}
	}
}
