package uai

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
)

// WritePR writes a .PR file: the task's name and log10 Z, for logZ the natural
// logarithm of the partition function. -Inf is written as "-inf".
func WritePR(w io.Writer, logZ float64) error {
	text := "-inf"
	if !math.IsInf(logZ, -1) {
		text = strconv.FormatFloat(logZ/math.Ln10, 'g', -1, 64)
	}
	_, err := fmt.Fprintf(w, "PR\n%s\n", text)
	return err
}

// WriteMAR writes a .MAR file: the task's name, then in one line the number of
// variables and for each its number of states and marginal probabilities,
// marginals[variable][state], in as many digits as give them back exactly.
func WriteMAR(w io.Writer, marginals [][]float64) error {
	out := bufio.NewWriter(w)
	line := strconv.AppendInt([]byte("MAR\n"), int64(len(marginals)), 10)
	for _, marginal := range marginals {
		line = strconv.AppendInt(append(line, ' '), int64(len(marginal)), 10)
		for _, p := range marginal {
			line = strconv.AppendFloat(append(line, ' '), p, 'g', -1, 64)
		}
		out.Write(line) // Flush returns the error
		line = line[:0]
	}
	out.Write(append(line, '\n'))
	return out.Flush()
}

// WriteMPE writes a .MPE file: the task's name, then in one line the number of
// variables and the state of each.
func WriteMPE(w io.Writer, states []int) error {
	line := strconv.AppendInt([]byte("MPE\n"), int64(len(states)), 10)
	if len(states) > 0 {
		line = appendInts(append(line, ' '), states)
	}
	_, err := w.Write(append(line, '\n'))
	return err
}

// probabilitySlack is by how much a probability in a file may exceed 1: other
// programs print rounded and not quite normalised numbers.
const probabilitySlack = 1e-6

// ReadMARFile reads a .MAR file. See ReadMAR.
func ReadMARFile(path string) ([][]float64, error) { return fromFile(path, ReadMAR) }

// ReadMAR reads marginals[variable][state] in the form that WriteMAR writes, or in
// the older one with the number of evidence samples, which must be 1, on a line of
// its own before them. name stands for the file in errors, which are *Error where
// the content is at fault. Marginals are not checked to sum to 1.
func ReadMAR(r io.Reader, name string) ([][]float64, error) {
	s := newScanner(r, name)
	if s.word("MAR") && string(s.token) != "MAR" {
		return nil, s.fail("marginals start with %q, want MAR", s.token)
	}
	count := s.integer("the number of variables", 0, math.MaxInt32)
	known := 0 // number of states of variable 0 if it is read already
	if count == 1 {
		line := s.at
		next := s.integer("the number of states of variable %d", 1, math.MaxInt32)
		switch {
		case s.err != nil:
		case s.at != line:
			count = next
		case next > MaxCardinality:
			return nil, s.fail("the number of states of variable 0 is %d, want 1 to %d", next, MaxCardinality)
		default:
			known = next
		}
	}
	marginals := make([][]float64, 0, min(count, firstAllocation))
	for v := 0; v < count && s.err == nil; v++ {
		s.index = v
		card := known
		if card == 0 {
			card = s.integer("the number of states of variable %d", 1, MaxCardinality)
		}
		marginals = append(marginals, readMarginal(s, v, card))
	}
	if err := s.finish("the last marginal"); err != nil {
		return nil, err
	}
	return marginals, nil
}

// readMarginal reads the probabilities of the states of variable v.
func readMarginal(s *scanner, v, card int) []float64 {
	marginal := make([]float64, 0, min(card, firstAllocation))
	for len(marginal) < card && s.err == nil {
		p := s.number("a probability of variable %d")
		if p < 0 || p > 1+probabilitySlack {
			s.err = s.fail("a probability of variable %d is %v, want 0 to 1", v, p)
		}
		marginal = append(marginal, p)
	}
	return marginal
}
