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

// evidenceTokens is an evidence file: its integers and the line of each.
type evidenceTokens struct {
	*scanner
	values []int
	lines  []int
	n      *mrf.Network
	named  bool // variables and states have names, of pairs alone
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
// the new form without the line structure. Of a network with names, a file may have pairs of these alone. Anything
// else is an error.
func ReadEvidence(r io.Reader, name string, n *mrf.Network) ([]map[int]int, error) {
	t := &evidenceTokens{scanner: newScanner(r, name), n: n}
	if err := t.read(); err != nil {
		return nil, err
	}
	starts, err := t.samples()
	if err != nil {
		return nil, err
	}
	var samples []map[int]int
	for _, start := range starts {
		sample, err := t.sample(start, n)
		if err != nil {
			return nil, err
		}
		samples = append(samples, sample)
	}
	return samples, nil
}

// ParseEvidence reads observed states of a command line, VAR=STATE,VAR=STATE, by numbers or by names.
func ParseEvidence(text string, n *mrf.Network) (map[int]int, error) {
	words := strings.FieldsFunc(text, isPairSign)
	if _, err := strconv.Atoi(words[0]); err == nil && !slices.Contains(n.Names, words[0]) {
		words = slices.Insert(words, 0, strconv.Itoa(len(words)/2))
	}
	samples, err := ReadEvidence(strings.NewReader(strings.Join(words, " ")), text, n)
	if err != nil || len(samples) != 1 {
		return nil, err
	}
	return samples[0], nil
}

// isPairSign reports whether a character stands between names of variables and states.
func isPairSign(c rune) bool { return c == '=' || c == ',' }

// read collects the file's integers.
func (t *evidenceTokens) read() error {
	said := -1 // how many observations there are by names
	for {
		switch err := t.next(); {
		case err == io.EOF && len(t.values) == 0:
			return t.fail("the file is empty, want the number of observations (0 for none)")
		case err == io.EOF && t.named && len(t.values)%2 == 1:
			return t.fail("the last variable of the evidence has no state")
		case err == io.EOF && t.named && said >= 0 && said != len(t.values)/2:
			return t.fail("evidence has %d observations, and begins with %d", len(t.values)/2, said)
		case err == io.EOF && t.named:
			t.values, t.lines = slices.Insert(t.values, 0, len(t.values)/2), slices.Insert(t.lines, 0, t.lines[0])
			return nil
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		words := []string{string(t.token)}
		isWhole := func(names []string) bool { return slices.Contains(names, words[0]) }
		if t.n.Names != nil && !isWhole(t.n.Names) && !slices.ContainsFunc(t.n.States, isWhole) {
			words = strings.FieldsFunc(words[0], isPairSign)
		}
		for _, word := range words {
			if _, err := strconv.Atoi(word); len(t.values) == 1 && !t.named && err != nil && t.n.Names != nil {
				said, t.values, t.lines = t.values[0], nil, nil
			}
			if err := t.readWord(word); err != nil {
				return err
			}
		}
	}
}

// readWord reads a number, or a name of what has some.
func (t *evidenceTokens) readWord(word string) error {
	value, err := strconv.Atoi(word)
	if len(t.values) == 0 {
		t.named = t.n.Names != nil && (err != nil || slices.Contains(t.n.Names, word))
	}
	if t.named {
		names, of := t.n.Names, "a variable"
		if at := len(t.values) - 1; at%2 == 0 {
			names, of = t.n.States[t.values[at]], "a state of "+t.n.Names[t.values[at]]
		}
		if named := slices.Index(names, word); named >= 0 {
			value, err = named, nil
		}
		if err != nil || value < 0 || value >= len(names) {
			return t.fail("evidence has %q, want %s; %s", word, of, option.Suggestion(word, names, ""))
		}
	}
	if err != nil || value < 0 || value > math.MaxInt32 {
		return t.fail("evidence has %q, want an integer from 0 to %d", word, math.MaxInt32)
	}
	t.values, t.lines = append(t.values, value), append(t.lines, t.at)
	return nil
}

// samples decides between the two forms and returns where each sample's number of observations stands.
func (t *evidenceTokens) samples() ([]int, error) {
	count := t.values[0]
	t.at = t.lines[len(t.lines)-1]
	if count == 0 && len(t.values) == 1 {
		return []int{0}, nil
	}
	starts, complete := t.chain(1, count)
	if complete && t.onePerLine(starts) {
		return starts, nil
	}
	if len(t.values) == 1+2*count {
		return []int{0}, nil
	}
	if complete {
		return starts, nil
	}
	return nil, t.fail("evidence is %d numbers beginning with %d: neither that many pairs of variable and state nor "+
		"that many samples", len(t.values), count)
}

// chain follows count samples from position at. complete is false unless they end where the file ends.
func (t *evidenceTokens) chain(at, count int) (starts []int, complete bool) {
	for range count {
		if at >= len(t.values) {
			return nil, false
		}
		starts = append(starts, at)
		at += 1 + 2*t.values[at]
	}
	return starts, at == len(t.values)
}

// onePerLine reports whether the first number and every sample have a line of their own.
func (t *evidenceTokens) onePerLine(starts []int) bool {
	previous := t.lines[0]
	for i, start := range starts {
		end := len(t.lines)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		if t.lines[start] == previous || t.lines[end-1] != t.lines[start] {
			return false
		}
		previous = t.lines[start]
	}
	return true
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

// sample reads the sample whose number of observations stands at start.
func (t *evidenceTokens) sample(start int, n *mrf.Network) (map[int]int, error) {
	sample := make(map[int]int)
	for i := range t.values[start] {
		at := start + 1 + 2*i
		v, state := t.values[at], t.values[at+1]
		t.at = t.lines[at]
		_, known := sample[v]
		switch {
		case v >= len(n.Card):
			return nil, t.fail("variable %d does not exist: the network has %d variables", v, len(n.Card))
		case state >= n.Card[v]:
			return nil, t.fail("variable %s has state %d, want 0 to %d", Named(n.Names, v), state, n.Card[v]-1)
		case known:
			return nil, t.fail("variable %s is observed twice in one sample", Named(n.Names, v))
		}
		sample[v] = state
	}
	return sample, nil
}
