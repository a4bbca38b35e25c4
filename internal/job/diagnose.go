package job

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/learn"
)

const (
	// unsettledTold is the change of a message in the last pass of a check that is told
	// of: the check that a limit ends is short, and leaves smaller ones as a rule.
	unsettledTold = 0.01
	// mostNamed bounds how many states one text names.
	mostNamed = 3
)

// noOptimum tells of states that no label has where nothing regularises: the likelihood
// grows for ever as their weights fall.
func noOptimum(p learn.Problem) []string {
	if p.L2 > 0 {
		return nil
	}
	var names []string
	types := p.Model.Schema.NodeTypes
	for a, counts := range labelsOf(types, p.Data).of {
		t := &types[a]
		for row := range max(1, t.Copies) {
			labels := counts[row*len(t.States):][:len(t.States)]
			for state, n := range labels {
				if t.Features == 0 || n > 0 || slices.Max(labels) == 0 { // nothing is asked of nodes without any label
					continue
				}
				name := fmt.Sprintf("state %q of node type %q", t.States[state], t.Name)
				if t.Copies > 0 {
					name += fmt.Sprintf(" at its node %d", row)
				}
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("{l2=0}, and no label has %s: nothing keeps their weights from falling without end; "+
		"give {l2} a positive value, or leave such states out of the data", some(names, " and %d more"))}
}

// resultNotes say what a result shows to be wrong with data or settings, each with what to do about it.
func resultNotes(r *learn.Result) []string {
	var texts []string
	if r.Separable {
		texts = append(texts, fmt.Sprintf("l2 is 0 and the data are separable: the model gives every sample of labels "+
			"more than half of its probability (objective %.3g), so that the objective would fall for ever as the weights "+
			"grow, and these weights are only where the run stopped; give l2 a positive value", r.Objective))
	}
	if len(r.Seeded) > 0 {
		var types []string
		for _, name := range r.Seeded {
			types = append(types, strconv.Quote(name))
		}
		texts = append(texts, fmt.Sprintf("labels leave some states of node type %s alike, as states that no label has: "+
			"their weights began at small random numbers of {seed}, which decides what each state comes to stand for, and "+
			"may decide which of several optima is reached; compare the objectives of a few seeds",
			some(types, " and %d more")))
	}
	if r.AtStart {
		texts = append(texts, atStart(r))
	}
	switch {
	case r.Unsettled == "" || r.Residual <= unsettledTold:
	case r.Status == learn.TimeLimit:
		texts = append(texts, fmt.Sprintf("the time limit ended the final check while messages in %s still changed by "+
			"%.3g, so that the objective and what is said of it are approximate; go on with a longer {max-time}",
			r.Unsettled, r.Residual))
	default:
		remedy := "use counting numbers that are convex"
		switch {
		case r.ConvexCounting && (r.Status == learn.PassLimit || r.Status == learn.IterationLimit):
			remedy = "messages need more passes: raise {max-passes}"
		case r.ConvexCounting: // it has ended by a rule of its own
			remedy = "messages need more passes: {rtol=1e-5} makes them"
		}
		texts = append(texts, fmt.Sprintf("inference did not settle: messages in %s still changed by %.3g, so that values "+
			"and beliefs there are approximate; %s, or use a larger l2 or smaller features", r.Unsettled, r.Residual, remedy))
	}
	if r.Damping > 0 {
		texts = append(texts, fmt.Sprintf("messages circled instead of settling, and were damped by %.2g; counting "+
			"numbers without negative c_s need no damping and learn faster here", r.Damping))
	}
	return texts
}

// atStart says that a run has not left the weights that it began with.
func atStart(r *learn.Result) string {
	remedy := map[learn.Status]string{
		learn.TimeLimit:      "go on with a longer {max-time}",
		learn.PassLimit:      "go on with more {max-passes}",
		learn.IterationLimit: "go on with a larger {max-iter}",
	}[r.Status]
	if r.Iterations == 0 {
		return "a limit ended the run before its first step, so that the model has the weights that the run began with; " +
			"" + remedy
	}
	if !r.ConvexCounting {
		remedy += ", or use counting numbers that are convex"
	}
	return fmt.Sprintf("a limit ended the run after %d iterations, none of which is known to have made the objective "+
		"smaller, so that the model has the weights that the run began with; %s", r.Iterations, remedy)
}

// some lists the first of some names, and then how many more there are.
func some(names []string, more string) string {
	text := strings.Join(names[:min(mostNamed, len(names))], ", ")
	if n := len(names) - mostNamed; n > 0 {
		text += fmt.Sprintf(more, n)
	}
	return text
}
