package learn

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/oracle"
)

// expected is what independent code found on the reference problem.
type expected map[string][]float64

// readExpected reads lines "name number…", or numbers alone, named "".
func readExpected(t *testing.T, path string) expected {
	t.Helper()
	text := oracle.Must(os.ReadFile(path))(t)
	e := expected{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name := ""
		for _, field := range strings.Fields(line) {
			x, err := strconv.ParseFloat(field, 64)
			if err != nil {
				name = field
				continue
			}
			e[name] = append(e[name], x)
		}
	}
	return e
}

// referenceProblem reads the problem, or skips the test where it is absent.
func referenceProblem(t *testing.T) (p Problem, folder string) {
	t.Helper()
	folder = oracle.SharedData(t, "learning", "crf_grid4x4_K3")
	set := oracle.Must(dataset.Open(t.Context(), []string{folder}, dataset.Options{Directed: true}))(t)
	model := oracle.Must(crf.NewModel(set.Schema))(t)
	return Problem{Model: model, Data: set.Instances, L2: 0.5}, folder
}

// permuted brings weights between the reference's order, [state][feature] within
// a type, and the model's, [feature][state].
func permuted(m *crf.Model, weights []float64, fromReference bool) []float64 {
	out := make([]float64, len(weights))
	for _, span := range slices.Concat(m.Layout.Node, m.Layout.Edge) {
		for x := range span.States {
			for j := range span.Features {
				ours, theirs := span.At+j*span.States+x, span.At+x*span.Features+j
				if fromReference {
					out[ours] = weights[theirs]
				} else {
					out[theirs] = weights[ours]
				}
			}
		}
	}
	return out
}

// TestReferenceProblem: L and ∇L at zero, at some weights and at the optimum, and the optimum that every method finds,
// are those of independent code, which prints 12 to 15 digits.
func TestReferenceProblem(t *testing.T) {
	p, folder := referenceProblem(t)
	w1 := permuted(p.Model, readExpected(t, filepath.Join(folder, "w1.txt"))[""], true)
	for file, counting := range map[string]string{"ones": "convex", "trw_half": "half", "bethe": "bethe"} {
		t.Run(file, func(t *testing.T) {
			p := p.with(counting)
			want := readExpected(t, filepath.Join(folder, "expected_"+file+".txt"))
			optimum := permuted(p.Model, want["wstar"], true)
			e := must(NewEvaluator(p, 1))
			defer e.Close()
			check := func(where string, weights []float64, objective float64, gradient []float64) {
				x := settled(t, e, weights)
				nearly(t, x.Objective, objective, 1e-11, "L at %s", where)
				got := permuted(p.Model, x.Gradient, false)
				if gradient != nil && !(distance(got, gradient) <= 1e-9*norm(gradient)) {
					t.Errorf("∇L at %s is %v, want %v", where, got, gradient)
				}
				if gradient == nil && x.GradientNorm > 1e-6 {
					t.Errorf("‖∇L‖ at %s is %g", where, x.GradientNorm)
				}
			}
			check("zero", make([]float64, len(w1)), want["L0"][0], want["g0"])
			check("w1", w1, want["L1"][0], want["g1"])
			check("the optimum", optimum, want["Lstar"][0], nil)
			for _, method := range []Method{Full, InnerDual, BBPL} {
				r := fit(t, p, Settings{Method: method, GradientTolerance: 1e-9})
				if !r.Status.Stationary() || !near(r.Objective, want["Lstar"][0], 1e-11) || r.Convex != (counting != "bethe") {
					t.Errorf("%s: %s, objective %.13f, want %.13f", method, r.Status, r.Objective, want["Lstar"][0])
				}
				if d := distance(r.Model.Weights, optimum) / norm(optimum); !(d <= 1e-7) {
					t.Errorf("%s: relative distance %g", method, d)
				}
			}
		})
	}
}
