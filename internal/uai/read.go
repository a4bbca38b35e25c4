package uai

import (
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/mrf"
)

// Limits on what a header may claim without a table that backs it up: a variable costs later stages memory in
// proportion to its states even if no factor mentions it.
const (
	// MaxCardinality is the largest number of states of one variable.
	MaxCardinality = 1 << 20
	// MaxTotalStates is the largest sum of the states of all variables.
	MaxTotalStates = 1 << 26
)

// firstAllocation bounds what is allocated for a list on its header's word; longer lists grow as their entries arrive.
const firstAllocation = 1 << 10

// ReadFile reads the network in a file: a .bif, or else in the UAI format. See Read.
func ReadFile(path string) (*mrf.Network, error) {
	if !strings.EqualFold(filepath.Ext(path), ".bif") {
		return fromFile(path, Read)
	}
	text, err := fileio.Read(path, "a network", fileio.Text)
	if err != nil {
		return nil, err
	}
	return readInterchange(string(fileio.Lines(text)), filepath.ToSlash(path))
}

// Read reads a network with a MARKOV or BAYES preamble; both give the same kind of factors, and those of BAYES have to
// be probabilities of the last variable of their scope, or 0 where others are impossible. name stands for the file in
// errors.
//
// The last variable of a scope varies fastest in its table. Values are turned into natural logarithms, 0 into -Inf.
// Negative values, NaN, Inf, a table of another size than its scope's, and what follows the last are an *Error.
func Read(r io.Reader, name string) (*mrf.Network, error) {
	s, kind := newScanner(r, name), ""
	if s.word("MARKOV or BAYES") {
		if kind = strings.ToUpper(string(s.token)); kind != "MARKOV" && kind != "BAYES" {
			return nil, s.fail("a network starts with %q, want MARKOV or BAYES", s.token)
		}
	}
	n := &mrf.Network{}
	readCards(s, n)
	readScopes(s, n)
	for f := range n.Factors {
		if readTable(s, n, f); kind == "BAYES" && len(n.Factors[f].Scope) > 0 {
			checkRows(s, n, f)
		}
	}
	if err := s.finish("the last table"); err != nil {
		return nil, err
	}
	return n, nil
}

// checkRows refuses rows that are no probabilities of a scope's last variable: with another order they seldom are.
func checkRows(s *scanner, n *mrf.Network, f int) {
	v := n.Factors[f].Scope[len(n.Factors[f].Scope)-1]
	for row := range slices.Chunk(n.Factors[f].LogTable, n.Card[v]) {
		if sum, off := sumOf(row, 0, 1); off && sum > 0 {
			s.fail("probabilities of variable %d, the last of factor %d, are %.6g together, want 1; where another varies "+
				"fastest, as in what pgmpy writes, give .bif; where values are no probabilities, begin with MARKOV", v, f, sum)
		}
	}
}

// readCards reads the number of variables and the states of each.
func readCards(s *scanner, n *mrf.Network) {
	count := s.integer("the number of variables", 0, math.MaxInt32)
	n.Card = make([]int, 0, min(count, firstAllocation))
	total := 0
	for v := 0; v < count && s.err == nil; v++ {
		s.index = v
		card := s.integer("the number of states of variable %d", 1, MaxCardinality)
		if total += card; total > MaxTotalStates {
			s.fail("variables 0 to %d have %d states together, at most %d are supported", v, total, MaxTotalStates)
		}
		n.Card = append(n.Card, card)
	}
}

// readScopes reads the number of factors and the variables of each.
func readScopes(s *scanner, n *mrf.Network) {
	count := s.integer("the number of factors", 0, math.MaxInt32)
	n.Factors = make([]mrf.Factor, 0, min(count, firstAllocation))
	seen := make([]int, len(n.Card)) // 1 + the last factor that named the variable
	for f := 0; f < count && s.err == nil; f++ {
		s.index = f
		arity := s.integer("the number of variables of factor %d", 0, len(n.Card))
		scope := make([]int, 0, min(arity, firstAllocation))
		for len(scope) < arity && s.err == nil {
			v := s.integer("a variable of factor %d", 0, len(n.Card)-1)
			if s.err == nil && seen[v] == f+1 {
				s.fail("factor %d names variable %d twice", f, v)
			}
			seen[v] = f + 1
			scope = append(scope, v)
		}
		n.Factors = append(n.Factors, mrf.Factor{Scope: scope})
	}
}

// readTable reads the number of values of factor f and the values.
func readTable(s *scanner, n *mrf.Network, f int) {
	s.index = f
	factor := &n.Factors[f]
	size := s.integer("the table size of factor %d", 0, math.MaxInt)
	if s.err != nil {
		return
	}
	want, ok := n.TableSize(factor.Scope)
	switch {
	case !ok:
		s.fail("factor %d joins %d variables: its table would exceed the address space", f, len(factor.Scope))
	case size != want:
		s.fail("the table of factor %d has %d values, want %d for its scope %v", f, size, want, factor.Scope)
	}
	factor.LogTable = make([]float64, 0, min(size, firstAllocation))
	for i := 0; i < size && s.word("a value of factor %d"); i++ {
		value, err := parseLog(string(s.token))
		if err != nil {
			s.fail("value %d of factor %d is %q, %v", i, f, s.token, err)
		}
		factor.LogTable = append(factor.LogTable, value)
	}
}
