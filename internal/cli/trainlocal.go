package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/learn"
)

// methodChoices lists the values of --method.
func methodChoices() []string {
	names := make([]string, len(learn.Methods))
	for i, m := range learn.Methods {
		names[i] = string(m)
	}
	return names
}

// objectiveKind names in result.json what a method minimises, beside (l2/2)‖θ̃‖².
func objectiveKind(m learn.Method) string {
	switch {
	case m == learn.Pseudo:
		return "pseudo_likelihood"
	case m.Local():
		return string(m)
	}
	return "variational"
}

// objectiveTexts tell people the same.
var objectiveTexts = map[learn.Method]string{
	learn.Pseudo:    "The objective is the regularised negative log-pseudo-likelihood, computed exactly at every iteration: not the objective of bbpl, inner-dual and full, and not to be compared with it.",
	learn.Piecewise: "The objective is the regularised negative piecewise log-likelihood, computed exactly at every iteration; with all labels known it is an upper bound on the regularised negative log-likelihood. It is not the objective of bbpl, inner-dual and full.",
}

// objectiveNote stands behind the value of an objective that is not the usual one.
func objectiveNote(kind string) string {
	if kind == objectiveKind(learn.BBPL) {
		return ""
	}
	return " (" + kind + ")"
}

// passesText says what passes were made of.
func passesText(n numbersOfResult) string {
	if n.ObjectiveKind != objectiveKind(learn.BBPL) {
		return fmt.Sprintf("%.0f evaluations of objective and gradient", n.Passes)
	}
	return fmt.Sprintf("%.1f, of which checks %.1f", n.Passes, n.CheckPasses)
}

// blockOptions are the options that methods without blocks and messages have no
// use for. --counting is used all the same: evaluations and predictions need it.
var blockOptions = []string{"blocks", "partition", "together", "precision", "inner-sweeps", "inner-tol", "order", "pairs", "step"}

// warnLocal says which options a local method does not use, and what it leaves
// out for want of labels.
func (t *training) warnLocal() {
	method := t.settings.Method
	if !method.Local() {
		return
	}
	for _, name := range blockOptions {
		t.warnUnused(name, method)
	}
	if terms, left := leftOut(t.data); left > 0 {
		t.app.note("--method %s leaves out every term that a missing label takes part in: %d of %d nodes and edges; the other methods sum over missing labels instead", method, left, terms)
	}
}

// leftOut counts the nodes and edges of all samples, and those without the labels
// that a local term needs.
func leftOut(data []*crf.Instance) (terms, left int) {
	for _, in := range data {
		u, v := in.Graph.Ends()
		for _, labels := range in.Samples() {
			terms += len(labels) + len(u)
			for _, y := range labels {
				if y == crf.Unobserved {
					left++
				}
			}
			for e := range u {
				if labels[u[e]] == crf.Unobserved || labels[v[e]] == crf.Unobserved {
					left++
				}
			}
		}
	}
	return terms, left
}

// prepareClassWeights reads --class-weights.
func (t *training) prepareClassWeights() error {
	spec := t.flags.classWeights
	if spec == "" {
		return nil
	}
	if method := t.settings.Method; method != learn.Pseudo {
		return usagef("--class-weights: a label can be weighed only where it has a term of its own, and %s has one for whole networks or pairs; use --method pseudo (with --no-edges it is weighted logistic regression), or weigh instances (docs/reference/formats.md)", method)
	}
	types := t.set.Schema.NodeTypes
	if spec == "balanced" {
		t.problem.ClassWeights = balancedWeights(types, t.data)
		return nil
	}
	weights := make([][]float64, len(types))
	for a := range types {
		weights[a] = slices.Repeat([]float64{1}, len(types[a].States))
	}
	given := map[string]bool{}
	for part := range strings.SplitSeq(spec, ",") {
		name, text, ok := strings.Cut(part, "=")
		var weight float64
		if _, err := fmt.Sscan(text, &weight); !ok || err != nil || !(weight > 0) {
			return usagef("--class-weights %q: want balanced, or STATE=WEIGHT,… with positive weights, not %q", spec, part)
		}
		if given[name] {
			return usagef("--class-weights %q: state %q has two weights, want one", spec, name)
		}
		given[name] = true
		found := false
		for a := range types {
			if i := slices.Index(types[a].States, name); i >= 0 {
				weights[a][i], found = weight, true
			}
		}
		if !found {
			return usagef("--class-weights %q: there is no state %q; %s", spec, name, nearestName(name, stateNamesOf(types), ""))
		}
	}
	t.problem.ClassWeights = weights
	return nil
}

func stateNamesOf(types []crf.NodeType) (names []string) {
	for _, t := range types {
		for _, state := range t.States {
			if !slices.Contains(names, state) {
				names = append(names, state)
			}
		}
	}
	return names
}

// balancedWeights returns n/(K n_c): every state that occurs has the same weight in
// all, and the mean over the labels is one. States without labels get 1.
func balancedWeights(types []crf.NodeType, data []*crf.Instance) [][]float64 {
	weights := make([][]float64, len(types))
	for a := range types {
		weights[a] = make([]float64, len(types[a].States))
	}
	for _, in := range data {
		for _, labels := range in.Samples() {
			for s, y := range labels {
				if y != crf.Unobserved {
					weights[in.NodeType(int32(s))][y]++
				}
			}
		}
	}
	for _, counts := range weights {
		total, occurring := 0.0, 0.0
		for _, n := range counts {
			total += n
			if n > 0 {
				occurring++
			}
		}
		for i, n := range counts {
			counts[i] = 1
			if n > 0 {
				counts[i] = total / (occurring * n)
			}
		}
	}
	return weights
}
