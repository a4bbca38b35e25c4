package uai

import (
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/mrf"
)

// evidence is an evidence file: its numbers and the line of each.
type evidence struct {
	*scanner
	n      *mrf.Network
	values []int
	lines  []int
}

// ReadEvidenceFile reads a .uai.evid file. See ReadEvidence.
func ReadEvidenceFile(path string, n *mrf.Network) (map[int]int, error) {
	return fromFile(path, func(r io.Reader, name string) (map[int]int, error) { return ReadEvidence(r, name, n) })
}

// ReadEvidence reads the states of observed variables of network n. name stands for the file in errors, which are
// *Error where the content is at fault.
//
// A file is n var val var val …, or the same behind the number of samples, which must be 1, over any number of lines.
// Of a network with names, it may be pairs of these, with or without their number before them.
func ReadEvidence(r io.Reader, name string, n *mrf.Network) (map[int]int, error) {
	e := &evidence{scanner: newScanner(r, name), n: n}
	var words []string
	known := slices.Concat(n.States, [][]string{n.Names})
	for {
		err := e.next()
		if err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		token := string(e.token)
		parts := []string{token}
		if n.Names != nil && !slices.ContainsFunc(known, func(names []string) bool { return slices.Contains(names, token) }) {
			parts = strings.FieldsFunc(token, func(c rune) bool { return c == '=' || c == ',' })
		}
		for _, word := range parts {
			words, e.lines = append(words, word), append(e.lines, e.at)
		}
	}
	switch {
	case len(words) == 0:
		return nil, e.fail("the file is empty, want the number of observations (0 for none)")
	case n.Names == nil || !slices.Contains(n.Names, words[0]) && !slices.ContainsFunc(words, isName):
		return e.readNumbers(words)
	case len(words)%2 == 1 && (isName(words[0]) || slices.Contains(n.Names, words[0])):
		return nil, e.fail("the last variable of the evidence has no state")
	case len(words)%2 == 1:
		if words[0] != strconv.Itoa(len(words)/2) {
			return nil, e.fail("evidence has %d observations, and begins with %s", len(words)/2, words[0])
		}
		words, e.lines = words[1:], e.lines[1:]
	}
	return e.readNames(words)
}

// ParseEvidence reads observed states of a command line, VAR=STATE,VAR=STATE, by numbers or by names.
func ParseEvidence(text string, n *mrf.Network) (map[int]int, error) {
	e := &evidence{scanner: &scanner{file: text, line: 1, at: 1}, n: n}
	var words []string
	for pair := range strings.SplitSeq(strings.Trim(text, ","), ",") {
		variable, state, _ := strings.Cut(pair, "=")
		words, e.lines = append(words, strings.TrimSpace(variable), strings.TrimSpace(state)), append(e.lines, 1, 1)
	}
	if n.Names == nil || !isName(words[0]) && !slices.Contains(n.Names, words[0]) {
		e.lines = append(e.lines, 1)
		return e.readNumbers(slices.Insert(words, 0, strconv.Itoa(len(words)/2)))
	}
	return e.readNames(words)
}

// isName reports whether a word is no number.
func isName(word string) bool {
	_, err := strconv.Atoi(word)
	return err != nil
}

// readNames reads pairs of names, or of numbers in their place.
func (e *evidence) readNames(words []string) (map[int]int, error) {
	for i, word := range words {
		names, of := e.n.Names, "a variable"
		if e.at = e.lines[i]; i%2 == 1 {
			v := e.values[i-1]
			names, of = e.n.States[v], "a state of "+e.n.Names[v]
		}
		value := slices.Index(names, word)
		if value < 0 {
			number, err := strconv.Atoi(word)
			if err != nil || number < 0 || number >= len(names) {
				return nil, e.fail("evidence has %q, want %s; %s", word, of, option.Suggestion(word, names, ""))
			}
			value = number
		}
		e.values = append(e.values, value)
	}
	return e.sample()
}

// readNumbers reads a file of numbers.
func (e *evidence) readNumbers(words []string) (map[int]int, error) {
	for i, word := range words {
		value, err := strconv.Atoi(word)
		if e.at = e.lines[i]; err != nil || value < 0 || value > math.MaxInt32 {
			return nil, e.fail("evidence has %q, want an integer from 0 to %d", word, math.MaxInt32)
		}
		e.values = append(e.values, value)
	}
	before := 1 // numbers before the pairs: an odd number of all, or with that of samples an even one
	if len(words)%2 == 0 && e.values[0] == 1 {
		before = 2
	}
	if len(words) != before+2*e.values[before-1] || e.hasSamples() {
		return nil, e.fail("evidence is %d numbers beginning with %d, want so many pairs of variable and state; of several "+
			"samples give one", len(words), e.values[0])
	}
	e.values, e.lines = e.values[before:], e.lines[before:]
	return e.sample()
}

// hasSamples reports whether behind the first number there are as many lines, more than one, with a sample each: some
// of these have as many numbers as pairs would.
func (e *evidence) hasSamples() bool {
	at := 1
	for range e.values[0] {
		if at >= len(e.values) || e.lines[at] == e.lines[at-1] {
			return false
		}
		last := at + 2*e.values[at]
		if last >= len(e.values) || e.lines[last] != e.lines[at] {
			return false
		}
		at = last + 1
	}
	return at == len(e.values) && e.values[0] > 1
}

// sample makes evidence of pairs.
func (e *evidence) sample() (map[int]int, error) {
	sample := make(map[int]int)
	for at := 0; at < len(e.values); at += 2 {
		v, state := e.values[at], e.values[at+1]
		e.at = e.lines[at]
		_, known := sample[v]
		switch {
		case v >= len(e.n.Card):
			return nil, e.fail("variable %d does not exist: the network has %d variables", v, len(e.n.Card))
		case state >= e.n.Card[v]:
			return nil, e.fail("variable %s has state %d, want 0 to %d", Named(e.n.Names, v), state, e.n.Card[v]-1)
		case known:
			return nil, e.fail("variable %s is observed twice", Named(e.n.Names, v))
		}
		sample[v] = state
	}
	return sample, nil
}

// Named is a variable in messages: its name, of a network that has some, or its number.
func Named(names []string, v int) string {
	if v < len(names) {
		return names[v]
	}
	return strconv.Itoa(v)
}

// NamedState is a state of a variable in messages, likewise.
func NamedState(n *mrf.Network, v, state int) string {
	if v < len(n.States) {
		return Named(n.States[v], state)
	}
	return strconv.Itoa(state)
}
