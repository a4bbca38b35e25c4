package uai

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/mrf"
)

// evidence is an evidence file: its words and the line of each.
type evidence struct {
	*scanner
	n     *mrf.Network
	words []string
	lines []int
}

// ReadEvidenceFile reads a .uai.evid file. See ReadEvidence.
func ReadEvidenceFile(path string, n *mrf.Network) (map[int]int, error) {
	return fromFile(path, func(r io.Reader, name string) (map[int]int, error) { return ReadEvidence(r, name, n) })
}

// ReadEvidence reads the states of observed variables of network n. name stands for the file in errors, which are
// *Error where the content is at fault.
//
// A file is n var val var val …, or the same behind the number of samples, which must be 1, over any number of lines.
// Names may stand for numbers, as in var=val, too, and then need no number before them.
func ReadEvidence(r io.Reader, name string, n *mrf.Network) (map[int]int, error) {
	e := &evidence{scanner: newScanner(r, name), n: n}
	for err := e.next(); err != io.EOF; err = e.next() {
		if err != nil {
			return nil, err
		}
		if variable, state, ok := strings.Cut(string(e.token), "="); ok && slices.Contains(n.Names, variable) {
			e.add(variable, strings.TrimSuffix(state, ","))
		} else {
			e.add(string(e.token))
		}
	}
	pairs, sample := len(e.words)/2, 0 // words of the line of the second, which are 1 + 2 n in one sample of several
	for i := 1; i < len(e.words) && e.lines[i] == e.lines[1]; i++ {
		sample++
	}
	switch {
	case len(e.words) == 0:
		return nil, e.fail("the file is empty, want the number of observations (0 for none)")
	case len(e.words)%2 == 1 && e.words[0] == strconv.Itoa(pairs) && (sample%2 == 0 || e.lines[0] == e.lines[1] ||
		len(slices.Compact(slices.Clone(e.lines))) != pairs+1): // samples have a line each
		return e.pairs(1)
	case len(e.words)%2 == 0 && e.words[0] == "1" && e.words[1] == strconv.Itoa(pairs-1):
		return e.pairs(2)
	case len(e.words)%2 == 0 && strings.ContainsFunc(strings.Join(e.words, ""), unicode.IsLetter):
		return e.pairs(0)
	}
	e.at = e.lines[len(e.lines)-1]
	return nil, e.fail("evidence is %d words beginning with %s, want so many pairs of variable and state; of several "+
		"samples give one", len(e.words), e.words[0])
}

func (e *evidence) add(words ...string) {
	for _, word := range words {
		e.words, e.lines = append(e.words, word), append(e.lines, e.at)
	}
}

// ParseEvidence reads observed states of a command line, VAR=STATE,VAR=STATE, by numbers or by names.
func ParseEvidence(text string, n *mrf.Network) (map[int]int, error) {
	e := &evidence{scanner: &scanner{file: text, at: 1}, n: n}
	for pair := range strings.SplitSeq(strings.Trim(text, ","), ",") {
		variable, state, _ := strings.Cut(pair, "=")
		e.add(strings.TrimSpace(variable), strings.TrimSpace(state))
	}
	return e.pairs(0)
}

// pairs makes evidence of variables and their states, from a word on.
func (e *evidence) pairs(from int) (map[int]int, error) {
	all := map[int]int{}
	for i := from; i < len(e.words); i += 2 {
		v := e.number(i, e.n.Names, "a variable")
		if e.err == nil && v >= len(e.n.Card) {
			e.fail("variable %d does not exist: the network has %d variables", v, len(e.n.Card))
		} else if _, known := all[v]; known {
			e.fail("variable %s is observed twice", Named(e.n.Names, v))
		}
		if e.err != nil {
			return nil, e.err
		}
		name := Named(e.n.Names, v)
		if all[v] = e.number(i+1, StatesOf(e.n, v), "a state of "+name); e.err == nil && all[v] >= e.n.Card[v] {
			e.fail("variable %s has state %d, want 0 to %d", name, all[v], e.n.Card[v]-1)
		}
	}
	return all, e.err
}

// number returns which of names a word is, or the number that it is.
func (e *evidence) number(i int, names []string, of string) int {
	word := e.words[i]
	if at := slices.Index(names, word); at >= 0 {
		return at
	}
	number, err := strconv.Atoi(word)
	switch e.at = e.lines[i]; {
	case err == nil && number >= 0:
	case names == nil:
		e.fail("evidence has %q, want a number from 0 on", word)
	default:
		e.fail("evidence has %q, want %s; %s", word, of, option.Suggestion(word, names, ""))
	}
	return number
}

// Named is a variable in messages: its name, of a network that has some, or its number.
func Named(names []string, v int) string {
	if v < len(names) {
		return names[v]
	}
	return strconv.Itoa(v)
}

// StatesOf returns the names of the states of a variable, if they have some.
func StatesOf(n *mrf.Network, v int) []string {
	if v < len(n.States) {
		return n.States[v]
	}
	return nil
}
