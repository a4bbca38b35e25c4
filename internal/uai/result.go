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

// WriteMAR writes a .MAR file: the task's name, then in one line the number of variables and for each its number of
// states and marginal probabilities, marginals[variable][state], in as many digits as give them back exactly.
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

// WriteMPE writes a .MPE file: the task's name, then in one line the number of variables and the state of each.
func WriteMPE(w io.Writer, states []int) error {
	line := strconv.AppendInt([]byte("MPE\n"), int64(len(states)), 10)
	if len(states) > 0 {
		line = appendInts(append(line, ' '), states)
	}
	_, err := w.Write(append(line, '\n'))
	return err
}
