package simd

import (
	"math/rand/v2"
	"testing"
)

func random32(n int, scale float64) []float32 {
	x := make([]float32, n)
	fill32(x, rand.New(rand.NewPCG(5, 6)), scale)
	return x
}

func uniform32(n int) []float32 {
	x := make([]float32, n)
	fillUniform32(x, rand.New(rand.NewPCG(7, 8)))
	return x
}

func BenchmarkExp32(b *testing.B) {
	eachSize(b, []int{1024}, func(b *testing.B, with implementation, k int) {
		x, y := random32(k, 3), make([]float32, k)
		for b.Loop() {
			with.single.exp(y, x)
		}
		perElement(b, k)
	})
}

func BenchmarkLog32(b *testing.B) {
	eachSize(b, []int{1024}, func(b *testing.B, with implementation, k int) {
		x, y := uniform32(k), make([]float32, k)
		for b.Loop() {
			with.single.log(y, x)
		}
		perElement(b, k)
	})
}

// batchEntries32 is how many entries of messages the benchmarks of a batch have.
const batchEntries32 = 512

// messages32 is a batch of messages between nodes of k states.
type messages32 struct {
	list              []Message
	weights, out      []float32
	tables            []float32
	beliefs, messages []float64
	sums              []float64
}

func newMessages32(k int) messages32 {
	n := batchEntries32 / k
	m := messages32{
		weights: uniform32(n*k + Padding32), out: uniform32(n*k + Padding32), tables: uniform32(n * k * k),
		beliefs: random(n*k, 1), messages: random(n*k, 1), sums: random(n*k+Padding, 1),
	}
	for i := range n {
		m.list = append(m.list, Message{
			Belief: i * k, Reverse: i * k, Old: i * k, Table: i * k * k, Rho: 0.5,
			Weight: int32(i * k), Out: int32(i * k), Sum: int32(i * k), Source: int32(k), Target: int32(k), Backward: int32(i % 2),
		})
	}
	return m
}

func benchmarkMessages32(b *testing.B, run func(m messages32, with implementation)) {
	eachSize(b, states, func(b *testing.B, with implementation, k int) {
		m := newMessages32(k)
		for b.Loop() {
			run(m, with)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(m.list)), "ns/message")
	})
}

func BenchmarkCavities32(b *testing.B) {
	benchmarkMessages32(b, func(m messages32, with implementation) {
		with.single.cavities(m.weights, m.beliefs, m.messages, m.list)
	})
}

func BenchmarkProducts32(b *testing.B) {
	benchmarkMessages32(b, func(m messages32, with implementation) {
		with.single.products(m.out, m.weights, m.tables, m.list)
	})
}

func BenchmarkAbsorbAll32(b *testing.B) {
	benchmarkMessages32(b, func(m messages32, with implementation) {
		with.single.absorbAll(m.messages, m.sums, m.out, m.list, 0)
	})
}

func BenchmarkAllSafe32(b *testing.B) {
	eachSize(b, []int{1024}, func(b *testing.B, with implementation, k int) {
		x := uniform32(k)
		for i := range x {
			x[i] += 1
		}
		for b.Loop() {
			if !with.single.allSafe(x) {
				b.Fatal("not safe")
			}
		}
		perElement(b, k)
	})
}

func BenchmarkExponentials32(b *testing.B) {
	eachSize(b, states, func(b *testing.B, with implementation, k int) {
		const tables = 32
		x, inverse := make([]float32, tables*k*k), make([]float64, tables)
		for i := range inverse {
			inverse[i] = 2
		}
		for b.Loop() {
			clear(x)
			if with.single.exponentials(x, k*k, inverse) != tables {
				b.Fatal("not done")
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/tables, "ns/table")
	})
}

func benchmarkMatrix32(b *testing.B, call func(with implementation, f, t []float32, w []float64, v []float32, rows, d, k int)) {
	eachSize(b, states, func(b *testing.B, with implementation, k int) {
		const rows, d = 48, 10
		f, t, v, w := random32(rows*d, 1), random32(rows*k*k, 1), random32(d*k*k, 1), random(d*k*k, 1)
		for b.Loop() {
			call(with, f, t, w, v, rows, d, k*k)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		b.ReportMetric(2*rows*d*float64(k*k)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
	})
}

func BenchmarkMultiplyMatrix32(b *testing.B) {
	benchmarkMatrix32(b, func(with implementation, f, t []float32, _ []float64, v []float32, rows, d, k int) {
		with.single.multiplyMatrix(t, f, v, rows, d, k)
	})
}

func BenchmarkScatterMatrix32(b *testing.B) {
	benchmarkMatrix32(b, func(with implementation, f, t []float32, w []float64, _ []float32, rows, d, k int) {
		with.single.scatterMatrix(w, f, t, rows, d, k)
	})
}

func BenchmarkEdgeBeliefs32(b *testing.B) {
	eachSize(b, states, func(b *testing.B, with implementation, k int) {
		const n = 32
		var edges []Edge
		for i := range n {
			edges = append(edges, Edge{2 * i * k, 2 * i * k, (2*i + 1) * k, (2*i + 1) * k, i * k * k})
		}
		dst, tables := make([]float32, n*k*k), uniform32(n*k*k)
		logZ, product, beliefs, messages := make([]float64, n), make([]float64, n), random(2*n*k, 1), random(2*n*k, 1)
		for b.Loop() {
			if with.single.edgeBeliefs(dst, logZ, product, beliefs, messages, tables, edges, k, k) != n {
				b.Fatal("not done")
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/edge")
	})
}

func BenchmarkNarrow(b *testing.B) {
	eachSize(b, []int{10, 240, 1024}, func(b *testing.B, with implementation, k int) {
		x, y := random(k, 1), make([]float32, k)
		for b.Loop() {
			with.single.narrow(y, x)
		}
		perElement(b, k)
	})
}
