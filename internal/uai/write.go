package uai

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/blockbp/blockbp/mrf"
)

// Write writes a network as a MARKOV file, values in at most 17 digits. Those beyond float64's range are decimals
// such as 1.5e1200, which this package reads back but other programs may take for infinity or zero. A network that is
// not valid and a logarithm beyond MaxLogValue are errors.
func Write(w io.Writer, n *mrf.Network) error {
	if err := CheckWrite(n); err != nil {
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
	out.Write(line) // Flush returns the first error
	for f := range n.Factors {
		line = append(line[:0], '\n')
		line = append(strconv.AppendInt(line, int64(len(n.Factors[f].LogTable)), 10), '\n')
		for _, value := range n.Factors[f].LogTable {
			line = append(appendValue(append(line, ' '), value), '\n')
			out.Write(line)
			line = line[:0]
		}
	}
	return out.Flush()
}

// CheckWrite reports why Write could not write a network, whatever the writer:
// it is not valid, or a logarithm is beyond MaxLogValue.
func CheckWrite(n *mrf.Network) error {
	if err := n.Validate(); err != nil {
		return err
	}
	for f := range n.Factors {
		for i, value := range n.Factors[f].LogTable {
			if math.Abs(value) > MaxLogValue && !math.IsInf(value, -1) {
				return fmt.Errorf("uai: factors[%d]: logTable[%d] = %v, want -Inf or %g to %g: subtract a constant from the "+
					"table, or write -Inf for values as good as 0",
					f, i, value, -MaxLogValue, MaxLogValue)
			}
		}
	}
	return nil
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
