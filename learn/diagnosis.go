package learn

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/gibbs"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/simd"
)

// diagnosis says what is wrong with a run, where, and what to try.
type diagnosis struct{ *inference }

// worsePasses is how many pass ends in a row may lie above the objective of the start before a run counts as diverged;
// the estimate uses stale beliefs, so one alone proves little.
const worsePasses = 5

// where names the blocks of a set, and the instance if there is one only.
func (d *diagnosis) where(blocks blockSet) string {
	text := fmt.Sprintf("block %d", blocks[0])
	if n := len(blocks); n > 1 {
		text += fmt.Sprintf(" and %d more", n-1)
	}
	if data := d.problem.given().Data; len(data) == 1 {
		text += " of instance " + data[0].Name
	}
	return text
}

// separable reports that the model gives every sample more than half of its probability: B is no less than A, and so
// w log 2 > N L ≥ −w log p for each, w being the smallest weight of a sample. Then every other labelling has a
// smaller product with θ, and L falls to zero as θ grows in its direction.
func (d *diagnosis) separable() bool {
	least := math.Inf(1)
	for _, in := range d.problem.Data {
		least = min(least, in.Weight())
	}
	if d.problem.L2 > 0 || d.problem.ClassWeights != nil || d.problem.Statistics != nil || !d.holds.convex ||
		!(d.progress.Objective*d.samples < least*math.Ln2) {
		return false
	}
	return !slices.ContainsFunc(d.units, func(u *unit) bool { return u.net.Counting.Facts.Bound == counting.None })
}

// impossible says why what the model forbids leaves a unit no joint state, whatever the weights: by itself, or with
// the labels of a clamped unit. It returns "" where that is not proved.
func (d *diagnosis) impossible(u *unit) string {
	if !d.model.Layout.Masked {
		return ""
	}
	p := ground.Condition(d.model, u.in)
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

// diverged is the error of a run that has got worse, in a block, with what to try.
func (d *diagnosis) diverged(block int, reason string, a ...any) error {
	return &DivergedError{Iteration: d.progress.Iterations, Block: block,
		Reason: fmt.Sprintf(reason, a...) + "; " + d.remedy()}
}

// checkFinite stops the run at the first weight that is not a number.
func (d *diagnosis) checkFinite(block int) error {
	if w := d.model.Weights; simd.Dot(w, w) <= math.MaxFloat64 {
		return nil // none is a NaN or infinite
	}
	for i, w := range d.model.Weights {
		if math.IsNaN(w) || math.IsInf(w, 0) {
			return d.diverged(block, "weight %s became %v", d.model.WeightName(i), w)
		}
	}
	return nil
}

// comparePass compares the objective at a pass end with the start.
func (d *diagnosis) comparePass(block int) error {
	f, first := d.progress.Objective, d.progress.FirstObjective
	below := d.belowZero(f)
	if f > first+d.slack(d.progress.FirstResidual) || below {
		d.progress.Worse++
	} else {
		d.progress.Worse = 0
	}
	if d.settings.Step.Guarded() || d.progress.Worse < worsePasses {
		return nil
	}
	if below {
		return d.diverged(block, "the running objective stays below zero (%.6g), where no objective can be: beliefs do not "+
			"follow the weights", f)
	}
	return d.diverged(block, "the objective is %.6g, above %.6g at the start", f, first)
}

// belowZero reports a running objective that no true one can have: with every label observed the labelling itself,
// whose entropy is zero, is feasible in the free energy (2), so that L ≥ 0. Stale beliefs lead there where steps are so
// long that a block's beliefs never see the weights they are used with. Means that were given may be those of no
// distribution, and L of any value.
func (d *diagnosis) belowZero(objective float64) bool {
	if d.problem.Statistics != nil {
		return false
	}
	for _, u := range d.units {
		if u.weight < 0 {
			return false
		}
	}
	return objective < -d.slack()
}

// remedy names the likely cause of divergence and what to try.
func (d *diagnosis) remedy() string {
	if d.settings.Step.Guarded() {
		if d.holds.convexNumbers {
			return "the inference within it probably needs longer: try more passes, or a larger l2"
		}
		return "the inference within it probably does not converge: try counting numbers that are convex, or a larger l2"
	}
	return fmt.Sprintf("the step %v is probably too large: try auto, or a smaller one", d.settings.Step)
}

// locate turns an error of inference into one that names instance, block and iteration, and the likely cause.
func (d *diagnosis) locate(err error) error {
	var at *unitError
	var numerical *bp.NumericalError
	if !errors.As(err, &at) || !errors.As(err, &numerical) {
		return err
	}
	numerical.Node, numerical.Edge = at.unit.in.Graph.Known(numerical.Node, numerical.Edge)
	cause := d.remedy()
	if why := d.impossible(at.unit); why != "" {
		cause = why
	} else if d.progress.Iterations == 0 {
		cause = "the initial weights or the features are at fault"
	}
	return &DivergedError{Iteration: d.progress.Iterations, Instance: at.unit.in.Name, Block: at.block,
		Reason: fmt.Sprintf("%v; %s", numerical, cause)}
}

// worseThanStart reports an objective above that of the start by more than the residuals of their checks explain.
func (d *diagnosis) worseThanStart() bool {
	p := &d.progress
	return p.Iterations > 0 && p.Objective > p.FirstObjective+d.slack(p.FirstResidual, p.Pass.Residual)
}
