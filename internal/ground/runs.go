package ground

import "github.com/blockbp/blockbp/crf"

// RowsPerBatch is how many nodes or edges of one type are ground, or scattered, in
// one call: enough to hide the cost of a call and to use a weight more than once
// per load, and few enough for the beliefs of a batch to stay in the nearest cache.
const RowsPerBatch = 24

// NodeRun returns the end of the run of nodes of one type that begins at lo, and at most hi.
func NodeRun(in *crf.Instance, nodes []int32, lo, hi int) int {
	if len(in.Schema().NodeTypes) == 1 {
		return hi
	}
	end := lo + 1
	for t := in.NodeType(nodes[lo]); end < hi && in.NodeType(nodes[end]) == t; {
		end++
	}
	return end
}

// EdgeRun is NodeRun for edges.
func EdgeRun(in *crf.Instance, edges []int32, lo, hi int) int {
	if len(in.Schema().EdgeTypes) == 1 {
		return hi
	}
	end := lo + 1
	for t := in.EdgeType(edges[lo]); end < hi && in.EdgeType(edges[end]) == t; {
		end++
	}
	return end
}

// nodeRows returns the rows of at most RowsPerBatch nodes among the features of
// their type; they are in dst where these are not the nodes' own numbers.
func nodeRows(in *crf.Instance, nodes []int32, dst *[RowsPerBatch]int32) []int32 {
	if len(in.Schema().NodeTypes) == 1 {
		return nodes
	}
	for i, n := range nodes {
		dst[i] = int32(in.NodeRow(n))
	}
	return dst[:len(nodes)]
}

// edgeRows is nodeRows for edges.
func edgeRows(in *crf.Instance, edges []int32, dst *[RowsPerBatch]int32) []int32 {
	if len(in.Schema().EdgeTypes) == 1 {
		return edges
	}
	for i, e := range edges {
		dst[i] = int32(in.EdgeRow(e))
	}
	return dst[:len(edges)]
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
