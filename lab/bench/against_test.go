package bench

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// build is a stand-in for a build of the program, which takes so many nanoseconds in each of
// its turns.
func build(t *testing.T, name string, sweep, iteration []float64) string {
	t.Helper()
	folder := t.TempDir()
	for i := range sweep {
		text := fmt.Sprintf(`{"quick":true,"phases":[{"graph":"grid 2×2","states":8,"name":"sweep","ns_per_edge":%g},
{"graph":"grid 2×2","states":8,"name":"iteration","sweeps":2,"ns_per_edge":%g},
{"graph":"%s","states":8,"name":"exp","ns_per_edge":3}]}`, sweep[i], iteration[i], name)
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprint(i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := fmt.Sprintf("#!/bin/sh\n[ \"$*\" = 'bench --quick --json' ] || exit 9\ncd %s || exit 8\nn=$(ls turn* 2>/dev/null | wc -l)\ntouch turn$n\ncat $((n))\n", folder)
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestAgainst: the best turn of each build counts, and what only one of them measures does not.
func TestAgainst(t *testing.T) {
	this := build(t, "this", []float64{10, 12, 11}, []float64{100, 130, 120})
	other := build(t, "other", []float64{30, 22, 20}, []float64{160, 150, 240})
	var said []string
	c, err := Against(t.Context(), this, other, 3, func(stage string) { said = append(said, stage) })
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Phases) != 2 || c.Phases[0].Name != "sweep" || c.Phases[0].Faster != 2 || c.Phases[1].Faster != 1.5 || math.Abs(c.IterationFaster-1.5) > 1e-12 {
		t.Errorf("%+v", c)
	}
	if p := c.Phases[0]; p.BestFaster != 3 || math.Abs(p.WorstFaster-20.0/11) > 1e-12 || len(c.Notes()) != 1 {
		t.Errorf("%+v, %q", p, c.Notes())
	}
	if len(said) != 6 || !strings.HasSuffix(said[2], "other") || !strings.HasSuffix(said[3], "this") {
		t.Errorf("turns are %q", said)
	}
	if text := c.Tables()[0].Text(); !strings.Contains(text, "iteration, 2 sweeps") || !strings.Contains(c.Summary(3), "1.50 times") {
		t.Errorf("%s\n%s", text, c.Summary(3))
	}
	for _, bad := range []string{"/no/such/build", "/bin/false", "/bin/true"} {
		if _, err := Against(t.Context(), bad, other, 1, func(string) {}); err == nil || !strings.Contains(err.Error(), "want a build of blockbp") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestUndisturbed: another iteration is disturbed in each pass.
func TestUndisturbed(t *testing.T) {
	of := func(seconds ...float64) (s stretch) {
		for _, x := range seconds {
			s.each = append(s.each, lap{seconds: x})
		}
		return s
	}
	second := func(s *stretch, i int) float64 { return s.each[i].seconds }
	for _, c := range []struct {
		passes []stretch
		want   float64
	}{
		{[]stretch{of(1, 2, 9), of(5, 2, 3), of(1, 7, 3)}, 6},
		{[]stretch{of(1, 2, 3), of(1, 2)}, 8},
		{[]stretch{of(), of()}, 8},
		{nil, 8},
	} {
		if got := undisturbed(c.passes, 8, second); got != c.want {
			t.Errorf("%v: %v, want %v", c.passes, got, c.want)
		}
	}
}
