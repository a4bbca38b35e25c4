package uai

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/internal/numeric"
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

// MaxLogValue is the largest absolute value of a logarithm that is read or written.
const MaxLogValue = 1e15

// smallestNormal is the smallest positive float64 of full precision.
const smallestNormal = 0x1p-1022

var (
	errNumber = errors.New("want a finite decimal number of at least 0")
	errRange  = errors.New("want 0 or a number whose logarithm is from -1e15 to 1e15")
)

// parseLog returns the natural logarithm of a number in text, -Inf for 0: that of the nearest float64, or beyond
// float64's normal range that of mantissa and exponent. A negative number and whatever is not decimal is an error.
func parseLog(text string) (float64, error) {
	value, err := numeric.ParseDecimal(text)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange), value < 0:
		return 0, errNumber
	case value >= smallestNormal && err == nil:
		return math.Log(value), nil
	}
	digits, exponent, scaled := strings.Cut(strings.ToLower(text), "e")
	mantissa, _, err := big.ParseFloat(digits, 10, 64, big.ToNearestEven)
	switch {
	case err != nil || mantissa.Sign() < 0:
		return 0, errNumber
	case mantissa.Sign() == 0:
		return math.Inf(-1), nil
	}
	tens := 0.0
	if scaled {
		tens, _ = strconv.ParseFloat(exponent, 64) // digits, of which too many make an infinity
	}
	fraction := new(big.Float)
	twos := mantissa.MantExp(fraction)
	part, _ := fraction.Float64()
	log := math.Log(part) + float64(twos)*math.Ln2 + tens*math.Ln10
	if math.Abs(log) > MaxLogValue {
		return 0, errRange
	}
	return log, nil
}

// appendValue appends exp(logValue) in at most 17 digits: where float64 have that very logarithm, the shortest of
// their decimals, so that log 3 is written as 3. Beyond float64's normal range it is a mantissa and a decimal
// exponent. The logarithm must be -Inf or within MaxLogValue.
func appendValue(dst []byte, logValue float64) []byte {
	if math.IsInf(logValue, -1) {
		return append(dst, '0')
	}
	value := numeric.Exp(logValue)
	if value < smallestNormal || math.IsInf(value, 1) {
		tens := math.Round(logValue / math.Ln10)
		dst = strconv.AppendFloat(dst, math.Exp(logValue-tens*math.Ln10), 'f', -1, 64)
		return strconv.AppendInt(append(dst, 'e'), int64(tens), 10)
	}
	start, exact := len(dst), false
	dst = strconv.AppendFloat(dst, value, 'g', -1, 64)
	for _, near := range [...]float64{value, math.Nextafter(value, 0), math.Nextafter(value, math.Inf(1))} {
		text := strconv.AppendFloat(nil, near, 'g', -1, 64)
		if math.Log(near) == logValue && (!exact || len(text) < len(dst)-start) {
			dst, exact = append(dst[:start], text...), true
		}
	}
	return dst
}
