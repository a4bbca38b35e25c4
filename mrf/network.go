// Package mrf holds networks with explicit potential tables: what a file such as a UAI network gives, and what a
// conditional model becomes once the features of one instance are multiplied in.
package mrf

import (
	"errors"
	"fmt"
	"math"

	"github.com/blockbp/blockbp/graph"
)

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

// Validate checks the whole network: every variable has at least one state, every scope names different existing
// variables, every table has one value per joint state of its scope, and no value is NaN or +Inf (-Inf is a legal
// zero). The error names the first variable or factor at fault.
func (n *Network) Validate() error {
	if n == nil {
		return errors.New("mrf: the network is nil")
	}
	for v, card := range n.Card {
		if card <= 0 {
			return fmt.Errorf("mrf: variable %d has %d states, want at least 1", v, card)
		}
	}
	seen := make([]int, len(n.Card)) // 1 + the last factor that named the variable
	for f := range n.Factors {
		if err := n.validateFactor(f, seen); err != nil {
			return fmt.Errorf("mrf: factors[%d]: %w", f, err)
		}
	}
	return nil
}

// validateFactor checks factor f; seen marks the variables of earlier factors.
func (n *Network) validateFactor(f int, seen []int) error {
	factor := &n.Factors[f]
	for _, v := range factor.Scope {
		if v < 0 || v >= len(n.Card) {
			return fmt.Errorf("variable %d does not exist: variables are 0 to %d", v, len(n.Card)-1)
		}
		if seen[v] == f+1 {
			return fmt.Errorf("variable %d occurs twice in its scope %v", v, factor.Scope)
		}
		seen[v] = f + 1
	}
	size, ok := n.TableSize(factor.Scope)
	if !ok {
		return fmt.Errorf("a table over its scope of %d variables would exceed the address space", len(factor.Scope))
	}
	if len(factor.LogTable) != size {
		return fmt.Errorf("%d values in its table, want %d for scope %v", len(factor.LogTable), size, factor.Scope)
	}
	for i, value := range factor.LogTable {
		if math.IsNaN(value) || math.IsInf(value, 1) {
			return fmt.Errorf("logTable[%d] = %v, want a finite number or -Inf", i, value)
		}
	}
	return nil
}

// TableSize returns the number of joint states of the variables in scope, 1 for an empty scope. ok is false when it
// does not fit an int. The variables must exist and have at least one state each.
func (n *Network) TableSize(scope []int) (size int, ok bool) {
	size = 1
	for _, v := range scope {
		if size > math.MaxInt/n.Card[v] {
			return 0, false
		}
		size *= n.Card[v]
	}
	return size, true
}

// LogScore returns Σ_f LogTable_f(x_scope(f)), the logarithm of the unnormalised probability of the joint state x;
// -Inf where a factor is zero. x[v] is the state of variable v. The network must be valid; the length and range of x
// are not checked beyond what slices check.
func (n *Network) LogScore(x []int) float64 {
	score := 0.0
	for f := range n.Factors {
		factor := &n.Factors[f]
		at := 0
		for _, v := range factor.Scope {
			at = at*n.Card[v] + x[v]
		}
		score += factor.LogTable[at]
	}
	return score
}
