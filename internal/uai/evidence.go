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

// ReadEvidenceFile reads a .uai.evid file. See ReadEvidence.
func ReadEvidenceFile(path string, n *mrf.Network) (map[int]int, error) {
	return fromFile(path, func(r io.Reader, name string) (map[int]int, error) { return ReadEvidence(r, name, n) })
}

// ReadEvidence reads the states of observed variables of network n. name stands for the file in errors, which are
// *Error where the content is at fault.
//
// A file is n var val var val …, or the same behind the number of samples, which must be 1, over any number of lines.
// Variables and states of a network with names may be called by these.
func ReadEvidence(r io.Reader, name string, n *mrf.Network) (map[int]int, error) {
	s := newScanner(r, name)
	var words []string
	var lines []int
	for {
		err := s.next()
		if err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		words, lines = append(words, string(s.token)), append(lines, s.at)
	}
	if len(words) == 0 {
		return nil, s.fail("the file is empty, want the number of observations (0 for none)")
	}
	before := 1 // words before the pairs: an odd number of all, or with that of samples an even one
	if len(words)%2 == 0 && words[0] == "1" {
		before = 2
	}
	if pairs := len(words) - before; pairs%2 > 0 || words[before-1] != strconv.Itoa(pairs/2) {
		s.at = lines[len(lines)-1]
		return nil, s.fail("evidence is %d words beginning with %s, want so many pairs of variable and state; of several "+
			"samples give one", len(words), words[0])
	}
	return s.observed(n, words[before:], lines[before:])
}

// ParseEvidence reads observed states of a command line, VAR=STATE,VAR=STATE, by numbers or by names.
func ParseEvidence(text string, n *mrf.Network) (map[int]int, error) {
	var words []string
	for pair := range strings.SplitSeq(strings.Trim(text, ","), ",") {
		variable, state, _ := strings.Cut(pair, "=")
		words = append(words, strings.TrimSpace(variable), strings.TrimSpace(state))
	}
	return (&scanner{file: text}).observed(n, words, slices.Repeat([]int{1}, len(words)))
}

// observed makes evidence of pairs of words, which stand on these lines.
func (s *scanner) observed(n *mrf.Network, words []string, lines []int) (map[int]int, error) {
	sample := make(map[int]int)
	number := func(word string, names []string, of string) int {
		x := slices.Index(names, word)
		if x < 0 {
			var err error
			if x, err = strconv.Atoi(word); (err != nil || x < 0) && names != nil {
				s.fail("evidence has %q, want %s; %s", word, of, option.Suggestion(word, names, ""))
			} else if err != nil || x < 0 || x > math.MaxInt32 {
				s.fail("evidence has %q, want an integer from 0 to %d", word, math.MaxInt32)
			}
		}
		return x
	}
	for i := 0; i < len(words) && s.err == nil; i += 2 {
		s.at = lines[i]
		v := number(words[i], n.Names, "a variable")
		if _, known := sample[v]; v >= len(n.Card) {
			s.fail("variable %d does not exist: the network has %d variables", v, len(n.Card))
		} else if known {
			s.fail("variable %s is observed twice", Named(n.Names, v))
		}
		if s.err != nil {
			break
		}
		var states []string
		if v < len(n.States) {
			states = n.States[v]
		}
		state := number(words[i+1], states, "a state of "+Named(n.Names, v))
		if s.err == nil && state >= n.Card[v] {
			s.fail("variable %s has state %d, want 0 to %d", Named(n.Names, v), state, n.Card[v]-1)
		}
		sample[v] = state
	}
	return sample, s.err
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
