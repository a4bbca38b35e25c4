package simd

import (
	"math/rand/v2"
	"testing"
)

func BenchmarkExponentiate(b *testing.B) {
	eachSize(b, states, func(b *testing.B, with implementation, k int) {
		dst, theta := make([]float64, k*k), random(k*k, 3)
		for b.Loop() {
			with.exponentiate(dst, theta, 0.8, -600)
		}
		perElement(b, k*k)
	})
}

func BenchmarkAbsorb(b *testing.B) {
	eachSize(b, states, func(b *testing.B, with implementation, k int) {
		old, message, sum := random(k, 1), random(k*distinctMessages, 2), make([]float64, k)
		i := 0
		for b.Loop() {
			with.absorb(old, message[i*k:][:k], sum, 0.8, 0)
			i = (i + 1) % distinctMessages
		}
	})
}

func BenchmarkEdgeBelief(b *testing.B) {
	eachSize(b, states, func(b *testing.B, with implementation, k int) {
		dst, values := make([]float64, k*k), uniform(k*k*distinctMessages)
		belief, message := random(k*(distinctMessages+1), 2), random(k*(distinctMessages+1), 1)
		i := 0
		for b.Loop() {
			u, v := i*k, (i+1)*k
			with.edgeBelief(dst, belief[u:][:k], message[u:][:k], belief[v:][:k], message[v:][:k], values[i*k*k:][:k*k])
			i = (i + 1) % distinctMessages
		}
	})
}

// matrixRows is how many rows of features the matrix kernels get: the edges of a
// part of a block, small enough for their tables to stay in cache.
const matrixRows = 48

// Ten features and the square of the number of states, as in BenchmarkMultiplyRows.
func benchmarkMatrix(b *testing.B, k, d int, call func(f, w, x []float64)) {
	f, w, x := uniform(matrixRows*d), uniform(d*k), uniform(matrixRows*k)
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

// Twenty features and as many columns as states: the nodes.
func BenchmarkMultiplyMatrixNodes(b *testing.B) {
	eachSize(b, states, func(b *testing.B, with implementation, k int) {
		benchmarkMatrix(b, k, 20, func(f, w, x []float64) { with.multiplyMatrix(x, f, w, matrixRows, 20, k) })
	})
}

func BenchmarkScatterMatrixNodes(b *testing.B) {
	eachSize(b, states, func(b *testing.B, with implementation, k int) {
		benchmarkMatrix(b, k, 20, func(f, w, x []float64) { with.scatterMatrix(w, f, x, matrixRows, 20, k) })
	})
}

// nodeDegree is how many messages a node gets, as on a grid.
const nodeDegree = 4

// benchmarkNode lays a node out as networks do: everything one after the other.
func benchmarkNode(k, seed int) nodeCase {
	r := rand.New(rand.NewPCG(uint64(seed), 1))
	c := nodeCase{normalise: true, belief: make([]float64, k), sum: make([]float64, k), beliefs: make([]float64, nodeDegree*k), messages: make([]float64, 2*nodeDegree*k), tables: make([]float64, nodeDegree*k*k)}
	for _, x := range [][]float64{c.sum, c.beliefs, c.messages} {
		fill(x, r, 2)
	}
	fillUniform(c.tables, r)
	for i := range nodeDegree {
		c.in = append(c.in, Incoming{Belief: i * k, Reverse: 2 * i * k, Message: (2*i + 1) * k, Table: i * k * k, States: k, Rho: 0.9, Backward: i%2 == 1})
	}
	return c
}

// BenchmarkNodeUpdate goes round several nodes; ns/message includes a message's
// part of the belief.
func BenchmarkNodeUpdate(b *testing.B) { benchmarkNodeUpdate(b, true) }

// BenchmarkNodeUpdateRaw leaves the beliefs without normalisation.
func BenchmarkNodeUpdateRaw(b *testing.B) { benchmarkNodeUpdate(b, false) }

func benchmarkNodeUpdate(b *testing.B, normalise bool) {
	eachSize(b, states, func(b *testing.B, with implementation, k int) {
		var nodes [distinctMessages / nodeDegree]nodeCase
		for i := range nodes {
			nodes[i] = benchmarkNode(k, i)
			nodes[i].normalise = normalise
		}
		i := 0
		for b.Loop() {
			clear(nodes[i].sum)
			nodes[i].update(with, 0)
			i = (i + 1) % len(nodes)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/nodeDegree, "ns/message")
	})
}

// BenchmarkNodeUpdateRow goes along a row of nodes of which each needs the belief
// of the one before, as in a sweep over a grid row by row: what counts then is how
// long a node takes, not how many can be under way.
func BenchmarkNodeUpdateRow(b *testing.B) { benchmarkNodeRow(b, true) }

// BenchmarkNodeUpdateRowRaw leaves the beliefs without normalisation.
func BenchmarkNodeUpdateRowRaw(b *testing.B) { benchmarkNodeRow(b, false) }

func benchmarkNodeRow(b *testing.B, normalise bool) {
	eachSize(b, states, func(b *testing.B, with implementation, k int) {
		var nodes [distinctMessages]nodeCase
		beliefs := random((len(nodes)+nodeDegree)*k, 1)
		for i := range nodes {
			nodes[i] = benchmarkNode(k, i)
			nodes[i].normalise = normalise
			nodes[i].beliefs, nodes[i].belief = beliefs[i*k:], beliefs[(i+nodeDegree)*k:][:k]
		}
		for b.Loop() {
			for i := range nodes {
				clear(nodes[i].sum)
				nodes[i].update(with, 0)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(nodes)*nodeDegree), "ns/message")
	})
}

func BenchmarkEdgeBeliefs(b *testing.B) {
	eachSize(b, states, func(b *testing.B, with implementation, k int) {
		n := distinctMessages
		c := edgesCase{
			dst: make([]float64, n*k*k), logZ: make([]float64, n), product: make([]float64, n), ku: k, kv: k,
			beliefs: random((n+1)*k, 2), messages: random(2*n*k, 1), tables: uniform(n * k * k),
		}
		for q := range n {
			c.edges = append(c.edges, Edge{q * k, 2 * q * k, (q + 1) * k, (2*q + 1) * k, q * k * k})
		}
		for b.Loop() {
			c.compute(with)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/edge")
	})
}
