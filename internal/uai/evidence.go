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
func ReadEvidenceFile(path string, n *mrf.Network) ([]map[int]int, error) {
	return fromFile(path, func(r io.Reader, name string) ([]map[int]int, error) { return ReadEvidence(r, name, n) })
}

// ReadEvidence reads the observed states for network n: one map from variable to state per sample. name stands for
// the file in errors, which are *Error where the content is at fault.
//
// Two forms are in use, and a file does not say which it has:
//
//	n var val var val …       old: one sample
//	S                         new: S samples, then
//	n var val …               one line for each
//
// They are told apart in this order. A lone "0" is one sample without observations. If the first number stands alone
// on its line and every further line is one complete sample, and there are S of them, it is the new form. If the file
// has exactly 1 + 2n numbers it is the old form, over any number of lines. If S samples use up the file exactly it is
// the new form without the line structure. Anything else is an error.
//
// Of a network with names, a file may have pairs of these, with or without their number before them.
func ReadEvidence(r io.Reader, name string, n *mrf.Network) ([]map[int]int, error) {
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
	read := e.readNames
	if n.Names == nil || !isName(words[0]) && !slices.Contains(n.Names, words[0]) {
		read = func(words []string) ([]map[int]int, error) {
			e.lines = append(e.lines, 1)
			return e.readNumbers(slices.Insert(words, 0, strconv.Itoa(len(words)/2)))
		}
	}
	samples, err := read(words)
	if err != nil || len(samples) != 1 {
		return nil, err
	}
	return samples[0], nil
}

// isName reports whether a word is no number.
func isName(word string) bool {
	_, err := strconv.Atoi(word)
	return err != nil
}

// readNames reads pairs of names, or of numbers in their place.
func (e *evidence) readNames(words []string) ([]map[int]int, error) {
	e.values = []int{len(words) / 2}
	e.lines = slices.Insert(e.lines, 0, e.lines[0])
	for i, word := range words {
		names, of := e.n.Names, "a variable"
		if e.at = e.lines[1+i]; i%2 == 1 {
			v := e.values[i]
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
	return e.samples([]int{0})
}

// readNumbers reads a file of numbers, in one of the two forms.
func (e *evidence) readNumbers(words []string) ([]map[int]int, error) {
	for i, word := range words {
		value, err := strconv.Atoi(word)
		if e.at = e.lines[i]; err != nil || value < 0 || value > math.MaxInt32 {
			return nil, e.fail("evidence has %q, want an integer from 0 to %d", word, math.MaxInt32)
		}
		e.values = append(e.values, value)
	}
	count := e.values[0]
	if count == 0 && len(words) == 1 {
		return e.samples([]int{0})
	}
	var starts []int // of the new form
	at, ofOwn := 1, true
	for ; len(starts) < count && at < len(words); at += 1 + 2*e.values[at] {
		starts = append(starts, at)
		last := min(len(words)-1, at+2*e.values[at])
		ofOwn = ofOwn && e.lines[at] > e.lines[at-1] && e.lines[last] == e.lines[at]
	}
	complete := len(starts) == count && at == len(words)
	switch {
	case !(complete && ofOwn) && len(words) == 1+2*count:
		starts = []int{0}
	case !complete:
		return nil, e.fail("evidence is %d numbers beginning with %d: neither that many pairs of variable and state nor "+
			"that many samples", len(words), count)
	}
	return e.samples(starts)
}

// samples reads the samples whose numbers of observations stand at some places.
func (e *evidence) samples(starts []int) (all []map[int]int, err error) {
	for _, start := range starts {
		sample := make(map[int]int)
		for at := start + 1; at < start+2*e.values[start]; at += 2 {
			v, state := e.values[at], e.values[at+1]
			e.at = e.lines[at]
			_, known := sample[v]
			switch {
			case v >= len(e.n.Card):
				return nil, e.fail("variable %d does not exist: the network has %d variables", v, len(e.n.Card))
			case state >= e.n.Card[v]:
				return nil, e.fail("variable %s has state %d, want 0 to %d", Named(e.n.Names, v), state, e.n.Card[v]-1)
			case known:
				return nil, e.fail("variable %s is observed twice in one sample", Named(e.n.Names, v))
			}
			sample[v] = state
		}
		all = append(all, sample)
	}
	return all, nil
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
