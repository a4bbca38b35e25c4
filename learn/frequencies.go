package learn

import (
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/ground"
)

// labelFrequencies returns, for all node types and then all edge types, how often
// each (joint) state occurs in the labels, normalised; zeros for a type without
// labels.
func labelFrequencies(a adder, layout *crf.Layout, data []*crf.Instance) []float64 {
	var at []int // of each type: nodes, then edges
	size := 0
	for _, span := range allSpans(layout) {
		at = append(at, size)
		size += span.States
	}
	counts := a.sumOver(data, size, func(counts []float64, _, i int, r ground.Range) {
		in := data[i]
		u, v := in.Graph.Ends()
		for _, labels := range in.Samples() {
			for s := range r.Nodes.All() {
				if y := labels[s]; y != crf.Unobserved {
					counts[at[in.NodeType(int32(s))]+int(y)] += in.Weight()
				}
			}
			for e := range r.Edges.All() {
				if yu, yv := labels[u[e]], labels[v[e]]; yu != crf.Unobserved && yv != crf.Unobserved {
					counts[at[len(layout.Node)+in.EdgeType(int32(e))]+int(yu)*in.States(v[e])+int(yv)] += in.Weight()
				}
			}
		}
	})
	for i, lo := range at {
		hi := size
		if i+1 < len(at) {
			hi = at[i+1]
		}
		normalise(counts[lo:hi])
	}
	for b := range layout.Edge {
		layout.Edge[b].Symmetrise(counts[at[len(layout.Node)+b]:][:layout.Edge[b].States])
	}
	return counts
}

// normalise divides x by its sum, if that is positive.
func normalise(x []float64) {
	total := 0.0
	for _, v := range x {
		total += v
	}
	if total > 0 {
		for i := range x {
			x[i] /= total
		}
	}
}

// allSpans returns the spans of all types: nodes, then edges.
func allSpans(layout *crf.Layout) []crf.Span { return slices.Concat(layout.Node, layout.Edge) }

// largestTable returns the largest number of (joint) states of a type, 1 at least.
func largestTable(spans []crf.Span) int {
	largest := 1
	for _, span := range spans {
		largest = max(largest, span.States)
	}
	return largest
}
