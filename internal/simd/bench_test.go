package simd

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

var states = []int{2, 3, 4, 8, 12, 16, 21, 32, 64}

// eachSize runs a benchmark for every implementation and number of states.
func eachSize(b *testing.B, sizes []int, bench func(b *testing.B, with implementation, k int)) {
	for _, k := range sizes {
		for _, with := range supported() {
			b.Run(fmt.Sprintf("k=%d/%s", k, with.name), func(b *testing.B) {
				before := active
				active = with
				bench(b, with, k)
				active = before
			})
		}
	}
}

func random(n int, scale float64) []float64 {
	x := make([]float64, n)
	fill(x, rand.New(rand.NewPCG(uint64(n), 1)), scale)
	return x
}

func uniformVector(n int) []float64 {
	x := make([]float64, n)
	fillUniform(x, rand.New(rand.NewPCG(uint64(n), 2)))
	return x
}

func perElement(b *testing.B, k int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(k), "ns/element")
}

func BenchmarkExp(b *testing.B) {
	eachSize(b, append(states, 1024), func(b *testing.B, with implementation, k int) {
		dst, x := make([]float64, k), random(k, 3)
		for b.Loop() {
			with.exp(dst, x)
		}
		perElement(b, k)
	})
}

func BenchmarkLog(b *testing.B) {
	eachSize(b, append(states, 1024), func(b *testing.B, with implementation, k int) {
		dst, x := make([]float64, k), uniformVector(k)
		for b.Loop() {
			with.log(dst, x)
		}
		perElement(b, k)
	})
}

// distinctMessages is how many messages the benchmarks go round, so that one
// does not wait for the one before, as in a sweep.
const distinctMessages = 16
