package learn

import (
	"fmt"
	"testing"

	"github.com/blockbp/blockbp/internal/linear"
)

// BenchmarkHessian renews the Hessian of grids of 8 states: its measurement and its factor.
func BenchmarkHessian(b *testing.B) {
	for _, bins := range []int{2, 12} {
		p := randomProblem(b, 1, problemOptions{rows: 60, cols: 60, states: 8, nodeDim: 20, edgeDim: bins, bins: true, instances: 4, l2: 1})
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("weights=%d/threads=%d", p.Model.Layout.Size, threads), func(b *testing.B) {
				e := must(NewEvaluator(p, threads))
				defer e.Close()
				must(e.At(p.randomWeights(1, 0.3)))
				m, n := newHessian(e.l), p.Model.Layout.Size
				dst, squares := make([]float64, n*n), squaresOf(e.l)
				for b.Loop() {
					if err := m.measure(dst, squares); err != nil {
						b.Fatal(err)
					}
					linear.Stiffen(dst, n, stiffness)
					if !linear.Factorise(dst, n, e.l.each) {
						b.Fatal("no factor")
					}
				}
			})
		}
	}
}
