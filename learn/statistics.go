package learn

import (
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/instances"
)

// statistics are what a step rule may know of the data.
func (l *learner) statistics() *instances.Statistics {
	free := map[*crf.Instance]*unit{}
	for _, u := range l.units {
		if u.isFree() {
			free[u.in] = u
		}
	}
	return &instances.Statistics{
		Layout: &l.model.Layout, Data: l.problem.Data, Given: l.problem.Statistics,
		Adder: instances.Adder{Each: l.each, Group: l.ranks},
		Scales: func(in *crf.Instance) (node, edge func(int32) float64) {
			u := free[in]
			c := u.net.Counting
			return func(s int32) float64 { return u.nodeCurvature(s) / c.Rho[s] },
				func(e int32) float64 { return u.edgeCurvature(e) / c.Edge[e] }
		},
	}
}

// addLabels adds up the statistics of the labels.
func (l *learner) addLabels() {
	a := instances.Labels{Model: l.model, Data: l.problem.Data, ClassWeights: l.problem.ClassWeights, Total: l.samples,
		Adder: instances.Adder{Each: l.each, Group: l.ranks}}
	for _, w := range l.workers {
		a.Adjoints = append(a.Adjoints, w.adjoint)
	}
	if l.data = l.problem.Statistics; l.data == nil {
		l.data = a.Observed()
	}
	l.magnitude = a.Magnitude(l.data)
	if l.reference = l.data; l.ownReference() {
		return
	}
	of := make([][]*unit, len(l.problem.Data))
	for _, u := range l.units {
		of[u.instance] = append(of[u.instance], u)
	}
	l.reference = a.Sum(func(add *ground.Adjoint, sum []float64, i int, r ground.Range) {
		for _, u := range of[i] {
			if u.labels != nil {
				add.AddChange(sum, l.model, u.in, r, u.net.Observed, u.labels, u.weight)
			}
		}
	})
}

// allSpans returns the spans of all types: nodes, then edges.
func allSpans(layout *crf.Layout) []crf.Span { return slices.Concat(layout.Node, layout.Edge) }

func oneIf(x bool) int {
	if x {
		return 1
	}
	return 0
}

// largestTable returns the largest number of (joint) states of a type, 1 at least.
func largestTable(spans []crf.Span) int {
	largest := 1
	for _, span := range spans {
		largest = max(largest, span.States)
	}
	return largest
}
