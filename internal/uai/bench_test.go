package uai_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/uai"
)

// benchVariables of two states each make one table of about a million numbers.
const benchVariables = 20

// BenchmarkRead reads a table of 2^20 numbers. Numbers of up to 17 digits are
// what files hold; 20 digits take the way of numbers longer than a float64.
func BenchmarkRead(b *testing.B) {
	for _, digits := range []int{6, 12, 17, 20} {
		b.Run(fmt.Sprintf("digits=%d", digits), func(b *testing.B) {
			text := benchText(digits)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := uai.Read(bytes.NewReader(text), "bench.uai"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// benchText returns a network with one table over benchVariables variables.
func benchText(digits int) []byte {
	text := []byte(fmt.Sprintf("MARKOV\n%d\n%s\n1\n%d", benchVariables, strings.Repeat("2 ", benchVariables), benchVariables))
	for v := range benchVariables {
		text = strconv.AppendInt(append(text, ' '), int64(v), 10)
	}
	text = strconv.AppendInt(append(text, '\n'), 1<<benchVariables, 10)
	rng := rand.New(rand.NewPCG(1, 1))
	for range 1 << benchVariables {
		text = append(text, '\n')
		// One digit before the point; the first of 20 digits comes from one source
		// and the others from a second, since a float64 has no more than 17.
		if digits <= 17 {
			text = strconv.AppendFloat(text, 10*rng.Float64(), 'e', digits-1, 64)
			continue
		}
		text = append(text, fmt.Sprintf("%d.%0*d", rng.IntN(9)+1, digits-1, rng.Uint64()>>1)...)
	}
	return append(text, '\n')
}

// BenchmarkWrite writes a table of 2^20 logarithms drawn from N(0, scale²): the
// nearer to 0, the more of them need long decimals.
func BenchmarkWrite(b *testing.B) {
	n, err := uai.Read(bytes.NewReader(benchText(17)), "bench.uai")
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(2, 1))
	for _, scale := range []float64{0.01, 1, 100, 1e4} {
		b.Run(fmt.Sprintf("scale=%g", scale), func(b *testing.B) {
			for i := range n.Factors[0].LogTable {
				n.Factors[0].LogTable[i] = scale * rng.NormFloat64()
			}
			for b.Loop() {
				if err := uai.Write(io.Discard, n); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
