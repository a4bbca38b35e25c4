package learn

// Symmetric edge types have one weight for the states a, b of the ends of an edge and for b, a
// (crf.EdgeType.Symmetric). All of a run's vectors over weights have it in both places:
// weights, gradients and steps lie in a subspace, onto which crf.Layout.Symmetrise projects,
// and L on that subspace has the projected gradient. Kernels know nothing of it.

// symmetricMatrix returns a function that makes (H + S H S)/2 of H, S being the swap of the
// states of both ends: on symmetric weights it is the Hessian, and it has no part that leads
// away from them. A gradient that belongs to H becomes symmetric too.
func (l *learner) symmetricMatrix() func(h, gradient []float64) {
	n := l.model.Layout.Size
	swap := make([]int, n)
	for i := range swap {
		swap[i] = i
	}
	for _, s := range l.model.Layout.Edge {
		for i := s.At; s.Ends > 0 && i < s.At+s.Len; i++ {
			joint := (i - s.At) % s.States
			swap[i] += joint%s.Ends*s.Ends + joint/s.Ends - joint
		}
	}
	return func(dst, gradient []float64) {
		if gradient != nil {
			l.model.Layout.Symmetrise(gradient)
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
