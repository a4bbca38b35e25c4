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
)

// WritePR writes a .PR file: the task's name and log10 Z, for logZ the natural
// logarithm of the partition function. -Inf is written as "-inf".
func WritePR(w io.Writer, logZ float64) error {
	_, err := fmt.Fprintf(w, "PR\n%s\n", strings.ToLower(strconv.FormatFloat(logZ/math.Ln10, 'g', -1, 64)))
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
	_, err := fmt.Fprintf(w, "MPE\n%s\n", strings.Trim(fmt.Sprint(append([]int{len(states)}, states...)), "[]"))
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
