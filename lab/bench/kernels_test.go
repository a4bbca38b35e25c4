package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/internal/simd"
)

// drawn are n numbers from 0 to 1, the same again for the same n.
func drawn(n int) []float64 {
	rng, x := rand.New(rand.NewPCG(uint64(n), 2)), make([]float64, n)
	for i := range x {
		x[i] = rng.Float64()
	}
	return x
}

// kernel is what BenchmarkKernels calls: some items at a time.
type kernel struct {
	name, item string
	items      int
	call       func()
}

// BenchmarkKernels measures the kernels of internal/simd one by one, with every implementation that this machine has.
func BenchmarkKernels(b *testing.B) {
	for _, name := range simd.Names() {
		for _, k := range []int{2, 3, 4, 8, 12, 16, 21, 32, 64} {
			restore := must(simd.Use(name))
			for _, x := range slices.Concat(matrixKernels(k), batchKernels(k)) {
				b.Run(fmt.Sprintf("%s/k=%d/%s", x.name, k, name), func(b *testing.B) {
					for b.Loop() {
						x.call()
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(x.items), "ns/"+x.item)
				})
			}
			restore()
		}
	}
}

// matrixKernels are those of ten features for each of 48 edges, of all their beliefs, and of lists of numbers.
func matrixKernels(k int) []kernel {
	const rows, features = 48, 10
	f, w, x := drawn(rows*features), drawn(features*k*k), drawn(rows*k*k)
	list, dst := drawn(k), make([]float64, k)
	tables, messages := make([]float64, rows*k*k), drawn(2*rows*k)
	entropy, sums, scratch := make([]float64, rows), make([]float64, 2*rows*k), make([]float64, simd.ConsistentRoom(k, k))
	total, at := 0.0, make([]int, rows)
	for i, y := range x {
		total += y
		at[i/(k*k)] = i / (k * k) * k * k
	}
	logZ, product, beliefs := make([]float64, rows), make([]float64, rows), drawn((rows+1)*k)
	var edges simd.Edges
	return []kernel{
		{"exp", "element", k, func() { simd.Exp(dst, list) }},
		{"log", "element", k, func() { simd.Log(dst, list) }},
		{"multiply", "row", rows, func() { simd.MultiplyMatrix(tables, f, w, rows, features, k*k) }},
		{"scatter", "row", rows, func() { simd.ScatterMatrix(w, f, x, rows, features, k*k) }},
		{"consistent", "edge", rows, func() {
			copy(tables, x)
			for i := range sums {
				sums[i] = total / float64(rows*k)
			}
			simd.Consistent(tables, entropy, sums[:rows*k], sums[rows*k:], scratch, k, k,
				simd.Scaling{Most: 10, Newton: simd.MaxNewton, Enough: simd.Finest.Enough})
		}},
		{"beliefs", "edge", rows, func() {
			edges.Begin(rows, k, k, nil, nil)
			for e := range int32(rows) {
				edges.Add(e, e, e+1)
			}
			edges.WriteBeliefs(tables, logZ, product, beliefs, messages, x, at)
		}},
	}
}

// batchKernels are the steps of a batch of nodes with four messages each, as on a grid.
func batchKernels(k int) []kernel {
	const degree, entries = 4, 1024
	n := max(1, entries/k/degree)
	count := n * degree
	nodes, source, edge, directed := make([]simd.Node, n), make([]int32, count), make([]int32, count), make([]int32, count)
	for i := range nodes {
		nodes[i] = simd.Node{Belief: i * k, Potential: i * k, Inverse: 1e-9, Sum: int32(i * k),
			States: int32(k), Messages: degree}
	}
	for i := range source {
		source[i], edge[i], directed[i] = int32(i/degree), int32(i), int32(2*i+i%2)
	}
	room := count*k + simd.Padding
	weights, out, sums, logs := drawn(room), drawn(room), drawn(n*k+simd.Padding), make([]float64, room)
	beliefs, potentials, messages, tables := drawn(n*k), drawn(n*k), drawn(2*room), drawn(count*k*k)
	totals := make([]float64, n)
	at := make([]int, count)
	for i := range at {
		at[i] = i * k * k
	}
	simd.Log(logs[:count*k], drawn(count*k))
	sizes, lists := simd.Sizes{Source: k, Target: k}, simd.ForRows(k)
	return []kernel{
		{"cavities", "message", count, func() {
			lists.Cavities(weights, beliefs, messages, source, directed, nil, nil, sizes)
		}},
		{"products", "message", count, func() { lists.Products(out, weights, tables, directed, edge, at, sizes) }},
		{"absorb", "message", count, func() {
			lists.Absorb(messages, sums, potentials, logs, directed, nil, nil, 1e-9, nodes, 0)
		}},
		{"totals", "node", n, func() { lists.Totals(totals, sums, nodes) }},
		{"settle", "node", n, func() { lists.Settle(beliefs, sums, totals, nodes) }},
	}
}
