package simd

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// benchmarkUniform returns a Uniform of nodes with four messages each.
func benchmarkUniform(k, nodes int) *Uniform {
	r := rand.New(rand.NewPCG(5, 6))
	messages := 4 * nodes
	u := &Uniform{States: k, Rho: []float64{1},
		Beliefs: make([]float64, nodes*k), Messages: make([]float64, 2*messages*k), Tables: make([]float64, messages*k*k), Potentials: make([]float64, nodes*k),
		Rows: make([]float64, UniformRow(k)*(messages+UniformPadding)), Sums: make([]float64, UniformRow(k)*(nodes+UniformPadding)), Totals: make([]float64, nodes+UniformPadding),
		InStart: []int32{0},
	}
	fillUniform(u.Tables, r)
	for s := range int32(nodes) {
		u.Nodes, u.Order, u.InStart = append(u.Nodes, s), append(u.Order, s), append(u.InStart, 4*(s+1))
		u.RhoNode, u.Count = append(u.RhoNode, 5), append(u.Count, 1)
		for j := range int32(4) {
			e := 4*s + j
			u.In, u.InEdge, u.InSource = append(u.In, 2*e+j%2), append(u.InEdge, e), append(u.InSource, int32(r.IntN(nodes)))
			u.At = append(u.At, int(e)*k*k)
			u.Edges, u.U, u.V = append(u.Edges, e), append(u.U, s), append(u.V, int32(r.IntN(nodes)))
		}
	}
	return u
}

// BenchmarkUniform is BenchmarkSteps for a network whose nodes all have as many
// states.
func BenchmarkUniform(b *testing.B) {
	for _, k := range []int{2, 3, 4, 8, 13, 16} {
		const nodes = 32
		dst, sum := make([]float64, 32*16*16+Padding), make([]float64, 16*16)
		for _, step := range []struct {
			name string
			do   func(u *Uniform)
		}{
			{"Products", func(u *Uniform) { u.Products(0, 4*nodes) }},
			{"Absorb", func(u *Uniform) {
				copy(u.Rows, u.Tables)
				u.Absorb(0, 4*nodes)
			}},
			{"Shift", func(u *Uniform) { u.Shift(0, nodes) }},
			{"Settle", func(u *Uniform) { u.Settle(0, nodes) }},
			{"WriteNodes", func(u *Uniform) { u.WriteNodes(dst, sum, 0, nodes) }},
			{"WriteEdges", func(u *Uniform) {
				for q := 0; q < 4*nodes; q += 32 {
					u.WriteEdges(dst, sum, q, q+32)
				}
			}},
		} {
			b.Run(fmt.Sprintf("k=%d/%s", k, step.name), func(b *testing.B) {
				if UniformStates() < k || step.name == "WriteEdges" && UniformEdgeStates() < k {
					b.Skip("no kernel for so many states on this processor")
				}
				u := benchmarkUniform(k, nodes)
				for b.Loop() {
					step.do(u)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(4*nodes*b.N), "ns/message")
			})
		}
	}
}
