package simd

import (
	"math/rand/v2"
	"testing"
)

// matrixRows is how many rows of features the matrix kernels get: the edges of a
// part of a block, small enough for their tables to stay in cache.
const matrixRows = 48

// Ten features and the square of the number of states.
func benchmarkMatrix(b *testing.B, k, d int, call func(f, w, x []float64)) {
	f, w, x := uniformVector(matrixRows*d), uniformVector(d*k), uniformVector(matrixRows*k)
	for b.Loop() {
		call(f, w, x)
	}
	row := float64(b.Elapsed().Nanoseconds()) / float64(b.N) / matrixRows
	b.ReportMetric(row, "ns/row")
	b.ReportMetric(2*float64(d*k)/row, "GFLOP/s")
}

func BenchmarkMultiplyMatrix(b *testing.B) {
	eachSize(b, states, func(b *testing.B, with implementation, k int) {
		benchmarkMatrix(b, k*k, 10, func(f, w, x []float64) { with.multiplyMatrix(x, f, w, matrixRows, 10, k*k) })
	})
}

func BenchmarkScatterMatrix(b *testing.B) {
	eachSize(b, states, func(b *testing.B, with implementation, k int) {
		benchmarkMatrix(b, k*k, 10, func(f, w, x []float64) { with.scatterMatrix(w, f, x, matrixRows, 10, k*k) })
	})
}

// nodeDegree is how many messages a node gets, as on a grid.
const nodeDegree = 4

// batchEntries is how many entries the messages of a batch have together, as in
// package bp.
const batchEntries = 1024

// benchmarkBatch makes a batch of nodes with k states, and twice as much room for
// weights.
func benchmarkBatch(b *testing.B, k int) *batchCase {
	n := max(1, batchEntries/k/nodeDegree)
	states, sources := make([]int, n), make([][]int, n)
	for i := range states {
		states[i] = k
		for range nodeDegree {
			sources[i] = append(sources[i], k)
		}
	}
	c := newBatch(b, rand.New(rand.NewPCG(uint64(k), 1)), states, sources)
	fillUniform(c.weights, rand.New(rand.NewPCG(1, 1)))
	return c
}

// BenchmarkSteps measures the steps of a batch one by one; ns/message includes, for
// those of nodes, a message's part of the node.
func BenchmarkSteps(b *testing.B) {
	for _, step := range []struct {
		name string
		run  func(c *batchCase, with implementation)
	}{
		{"cavities", func(c *batchCase, with implementation) { c.cavities(with) }},
		{"exp", func(c *batchCase, with implementation) { with.exp(c.out[:c.outUsed], c.weights[:c.outUsed]) }},
		{"products", func(c *batchCase, with implementation) { c.products(with) }},
		{"log", func(c *batchCase, with implementation) { with.log(c.out[:c.outUsed], c.weights[:c.outUsed]) }},
		{"absorb", func(c *batchCase, with implementation) { c.absorb(with, c.weights, 0) }},
		{"totals", func(c *batchCase, with implementation) { with.totals(c.totals, c.weights, c.nodes) }},
		{"settle", func(c *batchCase, with implementation) { with.settle(c.beliefs, c.weights, c.totals, c.nodes) }},
	} {
		b.Run(step.name, func(b *testing.B) {
			eachSize(b, states, func(b *testing.B, with implementation, k int) {
				c := benchmarkBatch(b, k)
				if step.name == "absorb" { // of logarithms, so that sums stay small
					plainLog(c.weights, c.weights)
					for i := range c.rho {
						c.rho[i] = 1e-9
					}
				}
				for b.Loop() {
					step.run(c, with)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(c.list)), "ns/message")
			})
		})
	}
}

func BenchmarkEdgeBeliefs(b *testing.B) {
	eachSize(b, states, func(b *testing.B, with implementation, k int) {
		n := distinctMessages
		c := edgesCase{
			dst: make([]float64, n*k*k), logZ: make([]float64, n), product: make([]float64, n), ku: k, kv: k,
			beliefs: random((n+1)*k, 2), messages: random(2*n*k, 1), tables: uniformVector(n * k * k),
		}
		var e Edges
		at := make([]int, n)
		for q := range at {
			at[q] = q * k * k
		}
		for b.Loop() {
			e.Begin(n, k, k, nil, nil)
			for q := range int32(n) {
				e.Add(q, q, q+1)
			}
			e.WriteBeliefs(c.dst, c.logZ, c.product, c.beliefs, c.messages, c.tables, at)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/edge")
	})
}
