package uai

import (
	"bufio"
	"io"
	"strconv"

	"github.com/blockbp/blockbp/mrf"
)

// Write writes a network as a MARKOV file. Reading it back gives the same
// scopes and states, and log values exact to the last bit where a float64 has
// that logarithm: for practically all values of 1 or more in absolute value;
// others return within 2e-16 absolute. Values beyond float64's range are written as decimals such as
// 1.5e1200, which this package reads back but other programs may take for
// infinity or zero. A network that is not valid is an error.
func Write(w io.Writer, n *mrf.Network) error {
	if err := n.Validate(); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	line := append([]byte("MARKOV\n"), strconv.Itoa(len(n.Card))...)
	line = appendInts(append(line, '\n'), n.Card)
	line = append(strconv.AppendInt(append(line, '\n'), int64(len(n.Factors)), 10), '\n')
	for f := range n.Factors {
		scope := n.Factors[f].Scope
		line = strconv.AppendInt(line, int64(len(scope)), 10)
		if len(scope) > 0 {
			line = appendInts(append(line, ' '), scope)
		}
		line = append(line, '\n')
	}
	if _, err := out.Write(line); err != nil {
		return err
	}
	for f := range n.Factors {
		line = append(line[:0], '\n')
		line = append(strconv.AppendInt(line, int64(len(n.Factors[f].LogTable)), 10), '\n')
		for _, value := range n.Factors[f].LogTable {
			line = append(appendValue(append(line, ' '), value), '\n')
			if _, err := out.Write(line); err != nil {
				return err
			}
			line = line[:0]
		}
	}
	return out.Flush()
}

// appendInts appends the values separated by one space.
func appendInts(dst []byte, values []int) []byte {
	for i, value := range values {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = strconv.AppendInt(dst, int64(value), 10)
	}
	return dst
}
