package mrf

import "github.com/blockbp/blockbp/graph"

// Network is a discrete factor network of any arity: p(x) ∝ exp Σ_f LogTable_f(x_scope(f)).
type Network struct {
	Card    []int // states of each variable
	Factors []Factor
	// Names and States are those of the variables, and of the states of each, where a file names them; else nil.
	Names  []string
	States [][]string
}

// Factor is one table over the variables of its scope.
type Factor struct {
	Scope []int
	// LogTable holds natural logarithms of the values, -Inf for zero, in the
	// scope's own order with its last variable fastest.
	LogTable []float64
}

// Pairwise is a network whose factors are one table per node and one per edge.
type Pairwise struct {
	Graph *graph.Graph
	Card  []int32 // [nodes] states of each node
	// Node holds θ_s(i) of node s at Node[NodeAt[s]+i]; NodeAt has nodes+1 entries.
	Node   []float64
	NodeAt []int
	// Edge holds θ_uv(i,j) of edge e at Edge[EdgeAt[e]+i*Card[v]+j], i a state of
	// U(e) and j of V(e); EdgeAt has edges+1 entries.
	Edge   []float64
	EdgeAt []int
	// Constant is the sum of the factors without a variable; it adds to log Z.
	Constant float64
}
