package mrf

import (
	"fmt"
	"math"
)

// Validate checks the whole network: every variable has at least one state, every scope names different existing
// variables, every table has one value per joint state of its scope, and no value is NaN or +Inf (-Inf is a legal
// zero). The error names the first variable or factor at fault.
func (n *Network) Validate() error {
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
	size, ok := TableSize(n.Card, factor.Scope)
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
func TableSize(card, scope []int) (size int, ok bool) {
	size = 1
	for _, v := range scope {
		if size > math.MaxInt/card[v] {
			return 0, false
		}
		size *= card[v]
	}
	return size, true
}
