package linear

import "github.com/blockbp/blockbp/crf"

// Symmetric returns a function that makes (H + S H S)/2 of H, of whose lower triangle alone counts, S being the swap of
// the states of both ends of symmetric edge types: those have one weight for the states a, b and for b, a, and all
// vectors over weights have it in both places. On symmetric weights that is the Hessian, and it has no part that leads
// away from them. A gradient that belongs to H becomes symmetric too; it may be nil.
func Symmetric(layout *crf.Layout) func(h, gradient []float64) {
	n := layout.Size
	swap := make([]int, n)
	for i := range swap {
		swap[i] = i
	}
	for _, s := range layout.Edge {
		for i := s.At; s.Ends > 0 && i < s.At+s.Len; i++ {
			joint := (i - s.At) % s.States
			swap[i] += joint%s.Ends*s.Ends + joint/s.Ends - joint
		}
	}
	return func(dst, gradient []float64) {
		if gradient != nil {
			layout.Symmetrise(gradient)
		}
		for i := range n {
			for j := range i + 1 {
				row, column := max(swap[i], swap[j]), min(swap[i], swap[j])
				if row > i || row == i && column > j {
					mean := 0.5*dst[i*n+j] + 0.5*dst[row*n+column]
					dst[i*n+j], dst[row*n+column] = mean, mean
				}
			}
		}
	}
}
