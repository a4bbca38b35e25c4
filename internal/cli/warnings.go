package cli

import (
	"fmt"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/learn"
)

// warn says what the user would not expect of a run that can be made all the same.
func (t *training) warn() {
	f := t.flags
	if method := t.settings.Method; method != learn.BBPL {
		t.warnUnused("blocks", method)
		t.warnUnused("partition", method)
		t.warnUnused("together", method)
	}
	if t.settings.Precision == bp.Single && !bp.SingleIsFaster() {
		t.app.note("--precision f32 is slower than f64 here: without AVX2 or AVX-512 it runs in plain Go")
	}
	if t.settings.Method == learn.InnerDual {
		t.warnUnused("inner-sweeps", learn.InnerDual)
	}
	if f.l2 == 0 {
		t.warnUnseen()
	}
	t.remark(learn.Diagnose(t.problem))
}

// remark prints what is wrong with data or settings, and keeps it for the result
// and the report.
func (t *training) remark(texts []string) {
	for _, text := range texts {
		t.app.note("%s", text)
	}
	t.remarks = append(t.remarks, texts...)
}

// warnUnused names an option that was given and that the method has no use for.
func (t *training) warnUnused(name string, method learn.Method) {
	if o := t.options[name]; o.Source == sourceFlag && t.recalled[name] == "" {
		t.app.note("--%s is not used by --method %s", name, method)
	}
}

// unseenState is a state that no label has.
type unseenState struct {
	kind  *crf.NodeType
	row   int // of untied weights, else 0
	state int
}

// warnUnseen names the states that no label has, for runs without regularisation:
// the likelihood grows for ever as their weights fall, so that there is no
// optimum to find.
func (t *training) warnUnseen() {
	unseen := unseenStates(t.set.Schema.NodeTypes, t.data)
	if len(unseen) == 0 {
		return
	}
	const most = 3 // named one by one
	names := ""
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
	t.remark([]string{fmt.Sprintf("--l2 0, and no label has %s: nothing keeps their weights from falling without end; give --l2 a positive value, or leave such states out of the data", names)})
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
