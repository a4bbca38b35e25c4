package uai

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/mrf"
)

// words of the Bayesian interchange format (.bif): comments, names and texts between quotes, signs, and all else.
var words = regexp.MustCompile(`//.*|(?s:/\*.*?\*/)|"(?:[^"\\]|\\.)*"|[{}()\[\];|]|(?:[^\s,{}()\[\];|"/]|/[^\s/*])+`)

// interchange is a network of the interchange format that is read. Variables and states are numbered in the order of
// their names in the file.
type interchange struct {
	scanner // of which it has the place, and the first error: from then on no method reads anything
	text    string
	from    int // where the text goes on
	quoted  bool
	token   string
	n       *mrf.Network
	number  map[string]int   // of a variable
	states  []map[string]int // [variable]
}

func readInterchange(text, name string) (*mrf.Network, error) {
	var tables [][2]int // where they begin, as bytes and lines: a variable may be declared behind them
	b := &interchange{scanner: scanner{file: name, at: 1}, text: text, n: &mrf.Network{}, number: map[string]int{}}
	for b.read() {
		switch {
		case b.token == "network" && !b.quoted:
			b.until("{")
		case b.token == "property" && !b.quoted:
			b.until(";")
		case b.is("}"): // of the network, which may be around all
		case b.token == "variable" && !b.quoted:
			b.readVariable()
		case b.token == "probability" && !b.quoted:
			tables = append(tables, [2]int{b.from, b.at})
			for b.inside("}") {
				if b.is("property") { // which may have any signs
					b.until(";")
				}
			}
		default:
			b.fail("%q, want network, variable or probability", b.token)
		}
	}
	for _, at := range tables {
		b.from, b.at = at[0], at[1]
		b.readProbability()
	}
	b.complete()
	return b.n, b.err
}

// read takes the next word, without its quotes. It reports false at the end, and after an error.
func (b *interchange) read() bool {
	for b.err == nil {
		at := words.FindStringIndex(b.text[b.from:])
		if at == nil {
			break
		}
		word := b.text[b.from+at[0] : b.from+at[1]]
		b.at += strings.Count(b.text[b.from:b.from+at[0]], "\n")
		b.from += at[1]
		if strings.HasPrefix(word, "//") || strings.HasPrefix(word, "/*") {
			b.at += strings.Count(word, "\n")
			continue
		}
		if b.quoted = word[0] == '"'; b.quoted {
			word = unquoted.Replace(word[1 : len(word)-1])
		}
		b.token = word
		return true
	}
	return false
}

var unquoted = strings.NewReplacer(`\"`, `"`, `\\`, `\`)

// is reports whether the word at hand is a sign.
func (b *interchange) is(sign string) bool { return b.token == sign && !b.quoted }

// inside reads a word before a sign, and reports false at the sign.
func (b *interchange) inside(sign string) bool {
	if !b.read() {
		b.fail("the file ends where %s should be", sign)
	}
	return b.err == nil && !b.is(sign)
}

// until returns the words before a sign, at which it may be already.
func (b *interchange) until(sign string) (words []string) {
	for !b.is(sign) && b.inside(sign) {
		words = append(words, b.token)
	}
	return words
}

func (b *interchange) readVariable() {
	head := b.until("{")
	if len(head) != 1 {
		b.fail("a variable is called %q, want one word, or several between quotes", strings.Join(head, " "))
	}
	for b.inside("}") {
		if b.token != "type" {
			b.until(";")
			continue
		}
		declared := b.until("{")
		states, names := map[string]int{}, b.until("}")
		for i, state := range names {
			states[state] = i
		}
		if at := slices.Index(declared, "["); at >= 0 && at+1 < len(declared) && declared[at+1] != strconv.Itoa(len(states)) {
			b.fail("a variable of %s states names %d", declared[at+1], len(states))
		}
		if b.err == nil {
			b.number[head[0]] = len(b.n.Card)
			b.n.Card, b.states = append(b.n.Card, max(1, len(states))), append(b.states, states)
			b.n.Names, b.n.States = append(b.n.Names, head[0]), append(b.n.States, names)
		}
	}
}

// readProbability reads a table of a variable given others: whole, the last of these fastest, or a line for each state.
func (b *interchange) readProbability() {
	b.until("(")
	var f mrf.Factor
	for _, name := range b.until(")") {
		v, known := b.number[name]
		switch {
		case name == "|":
			continue
		case !known || slices.Contains(f.Scope, v):
			b.fail("%q is no variable that is declared, or named twice", name)
		}
		f.Scope = append(f.Scope, v)
	}
	if b.err != nil {
		return
	}
	size, ok := b.n.TableSize(f.Scope)
	if !ok || size > len(b.text)+firstAllocation || len(f.Scope) == 0 {
		b.fail("the table of %d variables has more entries than the file has bytes", len(f.Scope))
	}
	if b.until("{"); b.err != nil {
		return
	}
	f.LogTable = slices.Repeat([]float64{math.NaN()}, size)
	given := size / b.n.Card[f.Scope[0]] // states of the others together
	for b.inside("}") {
		switch b.token {
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
	if slices.ContainsFunc(f.LogTable, math.IsNaN) {
		b.fail("a table lacks entries")
	}
	for row := 0; b.err == nil && row < given; row++ {
		sum, off := sumOf(f.LogTable, row, given)
		if off {
			b.fail("the probabilities of a variable are %.6g together, want 1", sum)
		} else if math.Abs(sum-1) > exactSum {
			for i := row; i < size; i += given {
				f.LogTable[i] -= math.Log(sum)
			}
		}
	}
	b.n.Factors = append(b.n.Factors, f)
}

// Probabilities with two digits may be off by roundedEntry each, and few of them by roundedSum together. Those that are
// off by more than exactSum are divided by their sum.
const roundedEntry, roundedSum, exactSum = 0.005 + 1e-9, 0.02, 1e-6

// sumOf adds up every step-th probability of a table from one on. It is off if it is not 1, but for rounding.
func sumOf(logs []float64, from, step int) (sum float64, off bool) {
	for i := from; i < len(logs); i += step {
		sum += math.Exp(logs[i])
	}
	return sum, math.Abs(sum-1) > max(roundedSum, float64(len(logs)/step)*roundedEntry)
}

// complete refuses a network without variables, and one in which a variable has no probability, or more than one.
func (b *interchange) complete() {
	if len(b.n.Card) == 0 {
		b.fail("no variable is declared")
	}
	of := make([]int, len(b.n.Card))
	for _, f := range b.n.Factors {
		of[f.Scope[0]]++
	}
	for v, n := range of {
		if n != 1 {
			b.fail("variable %q has %d probabilities, want one", b.n.Names[v], n)
		}
	}
}

// row is the number of the states of some variables, which follow.
func (b *interchange) row(scope []int) (row int) {
	names := b.until(")")
	if len(names) != len(scope) {
		b.fail("%d states are given, want %d", len(names), len(scope))
	}
	for i := 0; b.err == nil && i < len(scope); i++ {
		x, known := b.states[scope[i]][names[i]]
		if !known {
			b.fail("%q is no state of the variable", names[i])
		}
		row = row*b.n.Card[scope[i]] + x
	}
	return row
}

// fill reads probabilities into every so many entries of a table.
func (b *interchange) fill(table []float64, from, step int) {
	words := b.until(";")
	if want := len(table) / step; len(words) != want {
		b.fail("%d probabilities are given, want %d", len(words), want)
	}
	for i := 0; b.err == nil && i < len(words); i++ {
		x, err := parseLog(words[i])
		if err != nil {
			b.fail("%q, %v", words[i], err)
		}
		table[from+i*step] = x
	}
}
