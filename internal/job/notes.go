package job

import (
	"fmt"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/diagnose"
	"github.com/blockbp/blockbp/learn"
)

// hints say which choices will not do what they seem to.
func hints(o *Options, data []*crf.Instance) (texts []string) {
	if o.Precision == bp.Single.String() && !bp.SingleIsFaster() {
		texts = append(texts, "--precision f32 is slower than f64 here: without AVX2 or AVX-512 it runs in plain Go")
	}
	if !o.Method.Local() {
		return texts
	}
	if terms, left := leftOut(data); left > 0 {
		texts = append(texts, fmt.Sprintf("--method %s leaves out every term that a missing label takes part in: %d of %d nodes and edges; the other methods sum over missing labels instead", o.Method, left, terms))
	}
	return texts
}

// notes say what is wrong with data or settings of a run that can be made all the
// same.
func notes(p learn.Problem) (texts []string) {
	if p.L2 == 0 {
		if names := unseenNames(unseenStates(p.Model.Schema.NodeTypes, p.Data)); names != "" {
			texts = append(texts, fmt.Sprintf("--l2 0, and no label has %s: nothing keeps their weights from falling without end; give --l2 a positive value, or leave such states out of the data", names))
		}
	}
	return append(texts, diagnose.Data(p)...)
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

// unseenState is a state that no label has. Without regularisation the likelihood
// grows for ever as its weights fall, so that there is no optimum to find.
type unseenState struct {
	kind  *crf.NodeType
	row   int // of untied weights, else 0
	state int
}

func unseenNames(unseen []unseenState) (names string) {
	const most = 3 // named one by one
	for i, u := range unseen[:min(most, len(unseen))] {
		if i > 0 {
			names += ", "
		}
		names += fmt.Sprintf("state %q of node type %q", u.kind.States[u.state], u.kind.Name)
		if u.kind.Copies > 0 {
			names += fmt.Sprintf(" at its node %d", u.row)
		}
	}
	if len(unseen) > most {
		names += fmt.Sprintf(" and %d more", len(unseen)-most)
	}
	return names
}

// unseenStates lists, by type, copy and number, the states without any label of
// nodes that have labels: of others nothing is asked.
func unseenStates(types []crf.NodeType, data []*crf.Instance) []unseenState {
	counts := make([][]int, len(types)) // [copy*states+state]
	for a, t := range types {
		counts[a] = make([]int, max(1, t.Copies)*len(t.States))
	}
	for _, in := range data {
		for _, labels := range in.Samples() {
			for s, y := range labels {
				if y == crf.Unobserved {
					continue
				}
				a, at := in.NodeType(int32(s)), int(y)
				if types[a].Copies > 0 {
					at += in.NodeRow(int32(s)) * len(types[a].States)
				}
				counts[a][at]++
			}
		}
	}
	var unseen []unseenState
	for a := range types {
		t := &types[a]
		for row := range max(1, t.Copies) {
			labels := counts[a][row*len(t.States):][:len(t.States)]
			for state, n := range labels {
				if n == 0 && slices.Max(labels) > 0 && t.Features > 0 {
					unseen = append(unseen, unseenState{t, row, state})
				}
			}
		}
	}
	return unseen
}
