package learn

import (
	"fmt"
	"math"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/internal/gibbs"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/simd"
)

// where names the blocks of a set, and the instance, where it is of one.
func (l *learner) where(blocks blockSet) string {
	text := fmt.Sprintf("block %d", blocks[0])
	if n := len(blocks); n > 1 {
		text += fmt.Sprintf(" and %d more", n-1)
	}
	if data := l.problem.given().Data; len(data) == 1 {
		text += " of instance " + data[0].Name
	}
	return text
}

// separable reports that the model gives every sample more than half of its probability: B is no less than A, and so
// w log 2 > N L ≥ −w log p for each, w being the smallest weight of a sample. Then every other labelling has a
// smaller product with θ, and L falls to zero as θ grows in its direction.
func (l *learner) separable() bool {
	least := math.Inf(1)
	for _, in := range l.problem.Data {
		least = min(least, in.Weight())
	}
	if l.problem.L2 > 0 || l.problem.ClassWeights != nil || l.problem.Statistics != nil || !l.convex ||
		!(l.progress.Objective*l.samples < least*math.Ln2) {
		return false
	}
	for _, u := range l.units {
		if u.net.Counting.Facts.Bound == counting.None {
			return false
		}
	}
	return true
}

// impossible says why what the model forbids leaves a unit no joint state, whatever the weights: by itself, or with
// the labels of a clamped unit. It returns "" where that is not proved.
func (l *learner) impossible(u *unit) string {
	if !l.model.Layout.Masked {
		return ""
	}
	p := ground.Condition(l.model, u.in)
	if _, ok := gibbs.Possible(p); !ok {
		return "what is forbidden leaves no joint state: correct forbidden_states and forbidden_pairs, or the edges"
	}
	for s, y := range u.net.Observed {
		for i := range p.Card[s] {
			if y >= 0 && i != y {
				p.Node[p.NodeAt[s]+int(i)] = math.Inf(-1)
			}
		}
	}
	if _, ok := gibbs.Possible(p); !ok {
		return "what is forbidden leaves no joint state with the labels that are known: correct forbidden_states and " +
			"forbidden_pairs, the labels or the edges"
	}
	return ""
}

// checkFinite stops the run at the first weight that is not a number.
func (l *learner) checkFinite(block int) error {
	if w := l.model.Weights; simd.Dot(w, w) <= math.MaxFloat64 {
		return nil // none is a NaN or infinite
	}
	for i, w := range l.model.Weights {
		if math.IsNaN(w) || math.IsInf(w, 0) {
			return &DivergedError{Iteration: l.progress.Iterations, Block: block,
				Reason: fmt.Sprintf("weight %s became %v; %s", l.model.WeightName(i), w, l.remedy())}
		}
	}
	return nil
}

// worsePasses is how many pass ends in a row may lie above the objective of the start before a run counts as diverged;
// the estimate uses stale beliefs, so one alone proves little.
const worsePasses = 5

// judgePass compares the objective at a pass end with the start.
func (l *learner) judgePass(block int) error {
	f, first := l.progress.Objective, l.progress.FirstObjective
	below := l.belowZero(f)
	if f > first+l.slack(l.progress.FirstResidual) || below {
		l.progress.Worse++
	} else {
		l.progress.Worse = 0
	}
	if l.settings.Step.Guarded() || l.progress.Worse < worsePasses {
		return nil
	}
	reason := fmt.Sprintf("the objective is %.6g, above %.6g at the start; %s", f, first, l.remedy())
	if below {
		reason = fmt.Sprintf("the running objective stays below zero (%.6g), where no objective can be: beliefs do not "+
			"follow the weights; %s", f, l.remedy())
	}
	return &DivergedError{Iteration: l.progress.Iterations, Block: block, Reason: reason}
}

// belowZero reports a running objective that no true one can have: with every label observed the labelling itself,
// whose entropy is zero, is feasible in the free energy (2), so that L ≥ 0. Stale beliefs lead there where steps are so
// long that a block's beliefs never see the weights they are used with. Means that were given may be those of no
// distribution, and L of any value.
func (l *learner) belowZero(objective float64) bool {
	if l.problem.Statistics != nil {
		return false
	}
	for _, u := range l.units {
		if u.weight < 0 {
			return false
		}
	}
	return objective < -l.slack()
}

// slack is the rise over the first objective that proves nothing: what the messages of a check still change by, 1e-6
// even where they settled, leaves the objective unknown by about as much per variable. A first objective may be zero.
func (l *learner) slack(residuals ...float64) float64 {
	unknown := 1e-6
	for _, r := range residuals {
		unknown += r
	}
	return unknown * (math.Abs(l.progress.FirstObjective) + l.variables)
}

// remedy names the likely cause of divergence and what to try.
func (l *learner) remedy() string {
	if l.settings.Step.Guarded() {
		if l.convexNumbers {
			return "the inference within it probably needs longer: try more passes, or a larger l2"
		}
		return "the inference within it probably does not converge: try counting numbers that are convex, or a larger l2"
	}
	return fmt.Sprintf("the step %v is probably too large: try auto, or a smaller one", l.settings.Step)
}
