package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReproduce runs a study, and again in the same folder, where nothing is left
// to measure.
func TestReproduce(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "study")
	o := mustRun(t, "reproduce", "theorem1", "--scale", "tiny", "-o", out, "--json")
	var result struct {
		Scale   string   `json:"scale"`
		Studies []string `json:"studies"`
		NotRun  []string `json:"not_run"`
		Page    string   `json:"page"`
		Claims  []struct {
			Name     string `json:"name"`
			Paper    string `json:"paper"`
			Measured string `json:"measured"`
			Held     *bool  `json:"held"`
			Scale    string `json:"scale"`
		} `json:"claims"`
	}
	if err := json.Unmarshal([]byte(o.stdout), &result); err != nil {
		t.Fatalf("%v in %s", err, o.stdout)
	}
	if result.Scale != "tiny" || len(result.Studies) != 1 || result.NotRun == nil || len(result.Claims) == 0 {
		t.Fatalf("result %+v", result)
	}
	for _, c := range result.Claims {
		if c.Name == "" || c.Paper == "" || c.Measured == "" || c.Held == nil || c.Scale != "tiny" {
			t.Errorf("claim %+v", c)
		}
	}
	if page := readFile(t, result.Page); !strings.Contains(page, "Assumption 1") || !strings.Contains(page, "data:image/svg") {
		t.Error("the page shows no figures, or not the claims")
	}
	if !strings.Contains(o.stderr, "10 parts, 0 of them kept") || !strings.Contains(o.stderr, "[1/10] theorem1-non-templated") {
		t.Errorf("stderr is %q", o.stderr)
	}
	again := mustRun(t, "reproduce", "theorem1", "--scale", "tiny", "-o", out)
	if !strings.Contains(again.stderr, "10 of them kept") || strings.Contains(again.stderr, "[1/10]") || !strings.Contains(again.stdout, result.Claims[0].Measured) {
		t.Errorf("the second run says\n%s%s", again.stderr, again.stdout)
	}
}

// TestReproduceKept: a folder where only a part was measured tells of that, and
// nothing is measured.
func TestReproduceKept(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "study")
	mustRun(t, "reproduce", "theorem1", "--scale", "tiny", "-o", out)
	o := mustRun(t, "reproduce", "theorem1", "fig3", "--scale", "tiny", "-o", out, "--kept", "--json")
	if strings.Contains(o.stderr, "[1/") || !strings.Contains(o.stderr, "fig3: 4 of 4 parts are not measured yet") || !strings.Contains(o.stdout, `"theorem1: linear convergence, templated"`) {
		t.Errorf("it says\n%s%s", o.stderr, o.stdout)
	}
	before := readFile(t, filepath.Join(out, "claims.json"))
	runLab(t.Context(), "reproduce", "fig3", "--kept", "-o", t.TempDir()).wantFailure(t, 2, "--kept")
	runLab(t.Context(), "reproduce", "fig3", "--scale", "tiny", "--kept", "-o", out).wantFailure(t, 2, "fig3: 4 of 4 parts")
	for _, kept := range [][]string{{"--kept"}, nil} {
		runLab(t.Context(), append([]string{"reproduce", "theorem1", "--scale", "paper", "-o", out}, kept...)...).wantFailure(t, 2, "scale tiny")
	}
	if after := readFile(t, filepath.Join(out, "claims.json")); after != before {
		t.Errorf("what was refused changed claims.json:\n%s", after)
	}
	// What is left out is as the folder was made.
	o = mustRun(t, "reproduce", "theorem1", "-o", out, "--kept")
	if !strings.Contains(o.stderr, "--scale tiny, as "+out+" was made") || !strings.Contains(o.stdout, "linear convergence, templated") {
		t.Errorf("it says\n%s%s", o.stderr, o.stdout)
	}
}

// TestReproduceRefuses: what it cannot do, and what to do instead.
func TestReproduceRefuses(t *testing.T) {
	t.Parallel()
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "thesis.tex"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"reproduce":                                "theorem1",
		"reproduce fgi2":                           "fig2",
		"reproduce fig2 --scale huge":              "want small or paper",
		"reproduce fig2 --seeds -1":                "--seeds -1",
		"reproduce fig5 --features x":              "--data",
		"reproduce fig2 --threads 0":               "--threads 0",
		"reproduce theorem1 --out " + foreign:      "thesis.tex",
		"reproduce all --sclae paper":              "--sclae",
		"reproduce theorem1 fig9 --scale small":    "fig9",
		"reproduce steps --suite easy":             "rivals, hard",
		"reproduce fig2 --suite hard":              "--suite hard",
		"reproduce steps --only 3":                 "--suite hard",
		"reproduce steps --suite hard --only 9999": "9999",
	} {
		runLab(t.Context(), strings.Fields(line)...).wantFailure(t, 2, want)
	}
	out := filepath.Join(t.TempDir(), "out")
	runLab(t.Context(), "reproduce", "fig1", "--data", foreign, "-o", out).wantFailure(t, 1, "features", "lab/README.md")
	if _, err := os.Stat(out); err == nil {
		t.Error("a folder was made before the data were looked at")
	}
}

// TestReproduceWithoutData: studies on images are counted as not run beside others,
// and refused alone.
func TestReproduceWithoutData(t *testing.T) {
	t.Parallel()
	o := mustRun(t, "reproduce", "fig6", "theorem1", "--scale", "tiny", "-o", filepath.Join(t.TempDir(), "out"))
	if !strings.Contains(o.stderr, "not run: fig6") || !strings.Contains(o.stderr, "--data") {
		t.Errorf("stderr is %q", o.stderr)
	}
	runLab(t.Context(), "reproduce", "fig5", "fig6", "-o", filepath.Join(t.TempDir(), "out")).wantFailure(t, 2, "--data")
}

// TestReproduceHard: single problems of the hard suite, and the suite itself, at the scale
// of tests.
func TestReproduceHard(t *testing.T) {
	t.Parallel()
	o := mustRun(t, "reproduce", "steps", "--suite", "hard", "--only", "24,9", "--json")
	var all []struct {
		Number int    `json:"number"`
		Kind   string `json:"kind"`
		Status string `json:"status"`
	}
	if err := json.Unmarshal([]byte(o.stdout), &all); err != nil {
		t.Fatalf("%v in %s", err, o.stdout)
	}
	if len(all) != 2 || all[0].Number != 24 || all[0].Kind != "stationary" || all[1].Kind != "proof" || all[1].Status == "" {
		t.Errorf("%+v", all)
	}
	out := filepath.Join(t.TempDir(), "study")
	o = mustRun(t, "reproduce", "steps", "--suite", "hard", "--scale", "tiny", "-o", out)
	for _, want := range []string{"network: grid", "steps-hard: convex, l2 = 0", "steps-hard: claims of convergence"} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("no %q in\n%s", want, o.stdout)
		}
	}
	var results []map[string]any
	if err := json.Unmarshal([]byte(readFile(t, filepath.Join(out, "steps-hard", "steps-hard.json"))), &results); err != nil || len(results) != 4 {
		t.Errorf("%d results, %v", len(results), err)
	}
}
