package uai

import (
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/blockbp/blockbp/mrf"
)

// Limits on what a header may claim without a table that backs it up: a
// variable costs later stages memory in proportion to its states even if no
// factor mentions it.
const (
	// MaxCardinality is the largest number of states of one variable.
	MaxCardinality = 1 << 20
	// MaxTotalStates is the largest sum of the states of all variables.
	MaxTotalStates = 1 << 26
)

// firstAllocation bounds what is allocated for a list on its header's word;
// longer lists grow as their entries arrive.
const firstAllocation = 1 << 10

// ReadFile reads the network in a .uai file. See Read.
func ReadFile(path string) (*mrf.Network, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return Read(file, filepath.ToSlash(path))
}

// Read reads a network with a MARKOV or BAYES preamble; both give the same kind
// of factors, and conditional tables are not checked to sum to 1. name stands
// for the file in errors.
//
// The last variable of a scope varies fastest in its table. Values are turned
// into natural logarithms, 0 into -Inf. Negative values, NaN, Inf, a table whose
// size does not fit its scope and anything after the last table are refused
// with an *Error.
func Read(r io.Reader, name string) (*mrf.Network, error) {
	s := newScanner(r, name)
	if err := s.word(plain("MARKOV or BAYES")); err != nil {
		return nil, err
	}
	if kind := strings.ToUpper(string(s.token)); kind != "MARKOV" && kind != "BAYES" {
		return nil, s.fail("a network starts with %q, want MARKOV or BAYES", s.token)
	}
	n := &mrf.Network{}
	if err := readCards(s, n); err != nil {
		return nil, err
	}
	if err := readScopes(s, n); err != nil {
		return nil, err
	}
	for f := range n.Factors {
		if err := readTable(s, n, f); err != nil {
			return nil, err
		}
	}
	if err := s.finish("the last table"); err != nil {
		return nil, err
	}
	return n, nil
}

// readCards reads the number of variables and the states of each.
func readCards(s *scanner, n *mrf.Network) error {
	count, err := s.integer(plain("the number of variables"), 0, math.MaxInt32)
	if err != nil {
		return err
	}
	n.Card = make([]int, 0, min(count, firstAllocation))
	total := 0
	for v := range count {
		card, err := s.integer(indexed("the number of states of variable", v), 1, MaxCardinality)
		if err != nil {
			return err
		}
		if total += card; total > MaxTotalStates {
			return s.fail("variables 0 to %d have %d states together, at most %d are supported", v, total, MaxTotalStates)
		}
		n.Card = append(n.Card, card)
	}
	return nil
}

// readScopes reads the number of factors and the variables of each.
func readScopes(s *scanner, n *mrf.Network) error {
	count, err := s.integer(plain("the number of factors"), 0, math.MaxInt32)
	if err != nil {
		return err
	}
	n.Factors = make([]mrf.Factor, 0, min(count, firstAllocation))
	seen := make([]int, len(n.Card)) // 1 + the last factor that named the variable
	for f := range count {
		arity, err := s.integer(indexed("the number of variables of factor", f), 0, len(n.Card))
		if err != nil {
			return err
		}
		scope := make([]int, 0, min(arity, firstAllocation))
		for range arity {
			v, err := s.integer(indexed("a variable of factor", f), 0, len(n.Card)-1)
			if err != nil {
				return err
			}
			if seen[v] == f+1 {
				return s.fail("factor %d names variable %d twice", f, v)
			}
			seen[v] = f + 1
			scope = append(scope, v)
		}
		n.Factors = append(n.Factors, mrf.Factor{Scope: scope})
	}
	return nil
}

// readTable reads the number of values of factor f and the values.
func readTable(s *scanner, n *mrf.Network, f int) error {
	factor := &n.Factors[f]
	size, err := s.integer(indexed("the table size of factor", f), 0, math.MaxInt)
	if err != nil {
		return err
	}
	want, ok := mrf.TableSize(n.Card, factor.Scope)
	if !ok {
		return s.fail("factor %d joins %d variables: its table would exceed the address space", f, len(factor.Scope))
	}
	if size != want {
		return s.fail("the table of factor %d has %d values, want %d for its scope %v", f, size, want, factor.Scope)
	}
	factor.LogTable = make([]float64, 0, min(size, firstAllocation))
	for i := range size {
		if err := s.word(indexed("a value of factor", f)); err != nil {
			return err
		}
		value, err := parseLog(string(s.token))
		if err != nil {
			return s.fail("value %d of factor %d is %q, %v", i, f, s.token, err)
		}
		factor.LogTable = append(factor.LogTable, value)
	}
	return nil
}
