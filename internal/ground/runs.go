package ground

import (
	"fmt"
	"slices"

	"github.com/blockbp/blockbp/crf"
)

// RowsPerBatch is how many nodes or edges of one type are ground, or scattered, in
// one call: enough to hide the cost of a call and to use a weight more than once
// per load, and few enough for the beliefs of a batch to stay in the nearest cache.
const RowsPerBatch = 24

// NodeRun returns the end of the run of nodes of one type that begins at lo, and at most hi.
func NodeRun(in *crf.Instance, nodes []int32, lo, hi int) int {
	return runOf(nodes, lo, hi, len(in.Schema().NodeTypes), in.NodeType)
}

// EdgeRun is NodeRun for edges.
func EdgeRun(in *crf.Instance, edges []int32, lo, hi int) int {
	return runOf(edges, lo, hi, len(in.Schema().EdgeTypes), in.EdgeType)
}

func runOf(numbers []int32, lo, hi, types int, typeOf func(int32) int) int {
	if types == 1 {
		return hi
	}
	end := lo + 1
	for t := typeOf(numbers[lo]); end < hi && typeOf(numbers[end]) == t; {
		end++
	}
	return end
}

// nodeRows returns the rows of at most RowsPerBatch nodes among the features of
// their type; they are in dst where these are not the nodes' own numbers.
func nodeRows(in *crf.Instance, nodes []int32, dst *[RowsPerBatch]int32) []int32 {
	rows, _ := in.FeatureRows()
	return rowsOf(nodes, dst, rows)
}

// edgeRows is nodeRows for edges.
func edgeRows(in *crf.Instance, edges []int32, dst *[RowsPerBatch]int32) []int32 {
	_, rows := in.FeatureRows()
	return rowsOf(edges, dst, rows)
}

func rowsOf(numbers []int32, dst *[RowsPerBatch]int32, rows []int32) []int32 {
	if rows == nil {
		return numbers
	}
	for i, n := range numbers {
		dst[i] = rows[n]
	}
	return dst[:len(numbers)]
}

// SharesTables reports whether edges of the instance may share potential tables:
// those of a tied type whose features are one-hot, coded or constant.
func SharesTables(in *crf.Instance) bool {
	for t := range in.Schema().EdgeTypes {
		if edgeFeatures(in, t).tables() > 0 && in.Schema().EdgeTypes[t].Copies == 0 {
			return true
		}
	}
	return false
}

// copyOf returns the part of x, laid out like the weights, that belongs to row r of
// a type: its own copy, or the type's.
func copyOf(span *crf.Span, x []float64, r int) []float64 {
	if span.Untied {
		return x[span.At+r*span.Copy():][:span.Copy()]
	}
	return x[span.At:][:span.Len]
}

// copiedTogether returns how many of the elements of a batch have the same weights.
func copiedTogether(span *crf.Span, n int) int {
	if span.Untied {
		return 1
	}
	return n
}

// SameShape reports whether weights laid out for one schema fit the other.
func SameShape(a, b *crf.Schema) bool {
	sameNode := func(x, y crf.NodeType) bool {
		return len(x.States) == len(y.States) && x.Features == y.Features && x.Copies == y.Copies &&
			slices.Equal(x.Forbidden, y.Forbidden)
	}
	sameEdge := func(x, y crf.EdgeType) bool {
		return x.U == y.U && x.V == y.V && x.Features == y.Features && x.Copies == y.Copies &&
			slices.Equal(x.Forbidden, y.Forbidden) && x.Symmetric == y.Symmetric
	}
	return a == b || slices.EqualFunc(a.NodeTypes, b.NodeTypes, sameNode) &&
		slices.EqualFunc(a.EdgeTypes, b.EdgeTypes, sameEdge)
}

// Largest returns the bytes that the largest table or weights of a type would take, what these are, and how the number
// comes about. Nothing of that size need exist: as floating point it does not overflow.
func Largest(s *crf.Schema) (bytes float64, name, reason string) {
	each := func(kind, of string, states, features, copies float64) {
		const double = 8
		if here := double * states * max(1, features*max(1, copies)); here > bytes {
			bytes, name = here, "weights of "+kind+" type "+of
			reason = fmt.Sprintf("%.6g states × %.6g features × %.6g × 8 bytes", states, features, max(1, copies))
		}
	}
	for a, t := range s.NodeTypes {
		each("node", t.Name, float64(s.NodeStates(a)), float64(t.Features), float64(t.Copies))
	}
	for b, t := range s.EdgeTypes {
		ku, kv := s.EdgeStates(b)
		each("edge", t.Name, float64(ku)*float64(kv), float64(t.Features), float64(t.Copies))
	}
	return bytes, name, reason
}
