package uai

import (
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/mrf"
)

// Networks that other programs keep: Bayesian ones of the Bayesian interchange format (.bif), whose variables and
// states are numbered in the order of their names in the file; factor graphs of libDAI (.fg); and weighted constraint
// networks of toulbar2 (.wcsp), whose costs are energies, beyond the upper bound infinite.

// readers of networks by the extension of a file; all others are in the format of the UAI competitions.
var readers = map[string]func(text, name string) (*mrf.Network, error){
	".bif": readInterchange, ".fg": readFactorGraph, ".wcsp": readConstraints,
}

var (
	comments = regexp.MustCompile(`//.*|(?s:/\*.*?\*/)`)
	signs    = regexp.MustCompile(`[{}()\[\];|]`)
	unread   = strings.NewReplacer(",", " ", `"`, " ")
)

// interchange is a network of the interchange format that is read.
type interchange struct {
	*scanner
	n      *mrf.Network
	number map[string]int   // of a variable
	states []map[string]int // [variable]
	most   int              // entries of a table
}

func readInterchange(text, name string) (*mrf.Network, error) {
	most := len(text) + firstAllocation
	text = comments.ReplaceAllStringFunc(text, func(comment string) string {
		return strings.Repeat("\n", strings.Count(comment, "\n"))
	})
	b := &interchange{
		scanner: newScanner(strings.NewReader(signs.ReplaceAllString(unread.Replace(text), " $0 ")), name), n: &mrf.Network{},
		number: map[string]int{}, most: most,
	}
	for b.err == nil {
		if b.err = b.next(); b.err != nil {
			break
		}
		switch what := string(b.token); what {
		case "network":
			b.until("{")
		case "property":
			b.until(";")
		case "}": // of the network, which may be around all
		case "variable":
			b.readVariable()
		case "probability":
			b.readProbability()
		default:
			b.err = b.fail("%q, want network, variable or probability", what)
		}
	}
	if b.err != io.EOF {
		return nil, b.err
	}
	return b.n, b.complete()
}

// until returns the words before a sign.
func (b *interchange) until(sign string) (words []string) {
	for b.word(sign) && string(b.token) != sign {
		words = append(words, string(b.token))
	}
	return words
}

func (b *interchange) readVariable() {
	head := b.until("{")
	if b.err == nil && len(head) != 1 {
		b.err = b.fail("a variable is called %q, want one word", strings.Join(head, " "))
	}
	for b.word("}") && string(b.token) != "}" {
		if string(b.token) != "type" {
			b.until(";")
			continue
		}
		declared := b.until("{")
		states, names := map[string]int{}, b.until("}")
		for i, state := range names {
			states[state] = i
		}
		b.until(";")
		if at := slices.Index(declared, "["); b.err == nil && at >= 0 && at+1 < len(declared) &&
			declared[at+1] != strconv.Itoa(len(states)) {
			b.err = b.fail("a variable of %s states names %d", declared[at+1], len(states))
		}
		if b.err == nil {
			b.number[head[0]] = len(b.n.Card)
			b.n.Card, b.states = append(b.n.Card, max(1, len(states))), append(b.states, states)
			b.n.Names, b.n.States = append(b.n.Names, head[0]), append(b.n.States, names)
		}
	}
}

// readProbability reads a table of a variable given others: whole, the last of these fastest, or a line for each of
// their states.
func (b *interchange) readProbability() {
	b.until("(")
	var f mrf.Factor
	for _, name := range b.until(")") {
		v, known := b.number[name]
		switch {
		case name == "|":
			continue
		case b.err == nil && (!known || slices.Contains(f.Scope, v)):
			b.err = b.fail("%q is no variable that is declared before, or named twice", name)
		}
		f.Scope = append(f.Scope, v)
	}
	size, ok := mrf.TableSize(b.n.Card, f.Scope)
	if b.err == nil && (!ok || size > b.most || len(f.Scope) == 0) {
		b.err = b.fail("the table of %d variables has more entries than the file has bytes", len(f.Scope))
	}
	if b.until("{"); b.err != nil {
		return
	}
	f.LogTable = slices.Repeat([]float64{math.NaN()}, size)
	given := size / b.n.Card[f.Scope[0]] // states of the others together
	for b.word("}") && string(b.token) != "}" {
		switch string(b.token) {
		case "table":
			b.fill(f.LogTable, 0, 1)
		case "default":
			row := make([]float64, b.n.Card[f.Scope[0]])
			b.fill(row, 0, 1)
			for i, x := range f.LogTable {
				if math.IsNaN(x) {
					f.LogTable[i] = row[i/given]
				}
			}
		case "(":
			b.fill(f.LogTable, b.row(f.Scope[1:]), given)
		default:
			b.until(";")
		}
	}
	if b.err == nil && slices.ContainsFunc(f.LogTable, math.IsNaN) {
		b.err = b.fail("a table lacks entries")
	}
	for row := 0; b.err == nil && row < given; row++ {
		sum := 0.0
		for i := row; i < size; i += given {
			sum += math.Exp(f.LogTable[i])
		}
		if math.Abs(sum-1) > roundedSum {
			b.err = b.fail("the probabilities of a variable are %.6g together, want 1", sum)
		}
	}
	b.n.Factors = append(b.n.Factors, f)
}

// roundedSum is what probabilities with two digits or more may sum up to beside 1.
const roundedSum = 0.02

// complete refuses a network without variables, and one in which a variable has no probability, or more than one.
func (b *interchange) complete() error {
	if len(b.n.Card) == 0 {
		return b.fail("no variable is declared")
	}
	of := make([]int, len(b.n.Card))
	for _, f := range b.n.Factors {
		of[f.Scope[0]]++
	}
	wrong := slices.IndexFunc(of, func(n int) bool { return n != 1 })
	for name, v := range b.number {
		if v == wrong {
			return b.fail("variable %q has %d probabilities, want one", name, of[v])
		}
	}
	return nil
}

// row is the number of the states of some variables, which follow.
func (b *interchange) row(scope []int) (row int) {
	names := b.until(")")
	if b.err == nil && len(names) != len(scope) {
		b.err = b.fail("%d states are given, want %d", len(names), len(scope))
	}
	for i := 0; b.err == nil && i < len(scope); i++ {
		x, known := b.states[scope[i]][names[i]]
		if !known {
			b.err = b.fail("%q is no state of the variable", names[i])
		}
		row = row*b.n.Card[scope[i]] + x
	}
	return row
}

// fill reads probabilities into every so many entries of a table.
func (b *interchange) fill(table []float64, from, step int) {
	words := b.until(";")
	if want := len(table) / step; b.err == nil && len(words) != want {
		b.err = b.fail("%d probabilities are given, want %d", len(words), want)
	}
	for i := 0; b.err == nil && i < len(words); i++ {
		x, err := parseLog(words[i])
		if err != nil {
			b.err = b.fail("%q, %v", words[i], err)
		}
		table[from+i*step] = x
	}
}

// readFactorGraph reads factors by their entries that are not 0, the first variable fastest.
func readFactorGraph(text, name string) (*mrf.Network, error) {
	text = regexp.MustCompile(`#.*`).ReplaceAllString(text, "")
	s, n := newScanner(strings.NewReader(text), name), &mrf.Network{}
	factors := s.integer("the number of factors", 0, len(text))
	for f := 0; f < factors && s.err == nil; f++ {
		s.index = f
		scope := make([]int, s.integer("the number of variables of factor %d", 0, len(text)))
		for i := range scope {
			scope[i] = s.integer("a variable of factor %d", 0, len(text)+firstAllocation)
		}
		for _, v := range scope {
			card := s.integer("the number of states of a variable of factor %d", 1, MaxCardinality)
			for len(n.Card) <= v {
				n.Card = append(n.Card, 0) // until a factor tells
			}
			if s.err == nil && n.Card[v] != 0 && n.Card[v] != card {
				s.err = s.fail("variable %d has %d states, and %d before", v, card, n.Card[v])
			}
			n.Card[v] = card
		}
		slices.Reverse(scope)
		table := s.newTable(n, scope, math.Inf(-1))
		for range s.integer("the number of entries of factor %d", 0, len(table)) {
			at := s.integer("the index of an entry of factor %d", 0, len(table)-1)
			if s.word("an entry of factor %d") {
				x, err := parseLog(string(s.token))
				if table[at] = x; err != nil {
					s.err = s.fail("an entry of factor %d is %q, %v", f, s.token, err)
				}
			}
		}
	}
	for v, card := range n.Card {
		n.Card[v] = max(1, card) // no factor tells of it
	}
	return n, s.finish("the last factor")
}

// newTable adds a factor whose entries have a value.
func (s *scanner) newTable(n *mrf.Network, scope []int, value float64) (table []float64) {
	size, ok := mrf.TableSize(n.Card, scope)
	switch sorted := slices.Sorted(slices.Values(scope)); {
	case s.err != nil:
	case !ok || size > MaxTotalStates-s.entries:
		s.err = s.fail("factor %d joins %d variables: its table is too large", s.index, len(scope))
	case len(slices.Compact(sorted)) < len(scope):
		s.err = s.fail("factor %d names a variable twice", s.index)
	default:
		s.entries += size
		table = slices.Repeat([]float64{value}, size)
		n.Factors = append(n.Factors, mrf.Factor{Scope: scope, LogTable: table})
	}
	return table
}

// readConstraints reads costs: a default for each constraint, and those of tuples that have others.
func readConstraints(text, name string) (*mrf.Network, error) {
	s, n := newScanner(strings.NewReader(text), name), &mrf.Network{}
	s.word("the name of the network")
	variables := s.integer("the number of variables", 0, MaxTotalStates)
	s.integer("the largest number of states", 1, MaxCardinality)
	constraints := s.integer("the number of constraints", 0, math.MaxInt32)
	bound := s.number("the upper bound")
	cost := func() float64 {
		x := s.number("a cost of constraint %d")
		if x >= bound {
			return math.Inf(-1)
		}
		return -x
	}
	for v := 0; v < variables && s.err == nil; v++ {
		s.index = v
		n.Card = append(n.Card, s.integer("the number of states of variable %d", 1, MaxCardinality))
	}
	for c := 0; c < constraints && s.err == nil; c++ {
		s.index = c
		scope := make([]int, s.integer("the number of variables of constraint %d", 0, variables))
		for i := range scope {
			scope[i] = s.integer("a variable of constraint %d", 0, variables-1)
		}
		if s.err != nil {
			break
		}
		table := s.newTable(n, scope, cost())
		for range s.integer("the number of tuples of constraint %d, in which no name of a global one is read,", 0,
			len(table)) {
			at := 0
			for _, v := range scope {
				at = at*n.Card[v] + s.integer("a state of constraint %d", 0, n.Card[v]-1)
			}
			if x := cost(); s.err == nil {
				table[at] = x
			}
		}
	}
	return n, s.finish("the last constraint")
}
