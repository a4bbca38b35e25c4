package cli_test

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/crf"
)

// TestTurnedEdges: which end of an edge a table names first decides nothing, unless asked.
func TestTurnedEdges(t *testing.T) {
	t.Parallel()
	data, turned := graphTables(t), t.TempDir()
	writeFile(t, filepath.Join(turned, "web.nodes.tsv"), readFile(t, data, "web.nodes.tsv"))
	var edges strings.Builder
	lines := strings.Split(strings.TrimSpace(readFile(t, data, "web.edges.tsv")), "\n")
	for i, line := range lines[:len(lines)-1] { // the last is a repetition
		if u, v, _ := strings.Cut(line, "\t"); i%2 == 0 {
			line = v + "\t" + u
		}
		edges.WriteString(line + "\n")
	}
	writeFile(t, filepath.Join(turned, "web.edges.tsv"), edges.String())
	weights := func(data string, flags ...string) ([]float64, trainResult) {
		dir := filepath.Join(t.TempDir(), "run")
		r := train(t, append(flags, data, "-o", dir, "--observed", "train", "--l2", "0.1", "--rtol", "1e-9")...)
		m, _, err := crf.Load(filepath.Join(dir, "model.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		return m.Weights, r
	}
	largest := func(a, b []float64) (d float64) {
		for i := range a {
			d = max(d, math.Abs(a[i]-b[i]))
		}
		return d
	}
	for _, method := range []string{"bbpl", "exact"} {
		a, one := weights(data, "--method", method)
		b, other := weights(turned, "--method", method)
		if d := largest(a, b); !(d <= 1e-6) || !closeTo(one.Objective, other.Objective, 1e-9) {
			t.Errorf("%s: objective %.12g, turned round %.12g; weights differ by %g", method, one.Objective, other.Objective, d)
		}
		a, _ = weights(data, "--method", method, "--directed")
		b, _ = weights(turned, "--method", method, "--directed")
		if d := largest(a, b); d < 1e-3 {
			t.Errorf("%s: weights of directed edges differ by %g only", method, d)
		}
	}
	for _, flag := range []string{"", "--directed"} {
		dir := filepath.Join(t.TempDir(), "run")
		train(t, strings.Fields(data+" --observed train --max-iter 1 -o "+dir+" "+flag)...)
		want := map[string]string{"": "symmetric", "--directed": "directed"}[flag]
		if out := mustRun(t, "info", dir).stdout; !strings.Contains(out, want) {
			t.Errorf("%q: info prints\n%s", flag, out)
		}
	}
}
