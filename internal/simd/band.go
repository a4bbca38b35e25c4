package simd

// Band says that a table of k × k states is the same, rest, at all (x, y) with |x − y| ≥ width, as Potts tables are,
// and truncated linear and quadratic ones; of width 0 that nothing of the kind is known. A message across it takes k
// times the width, and not k² (Felzenszwalb and Huttenlocher 2006).
type Band struct {
	width int
	rest  float64
}

// LeastBanded is from how many states on bands are looked for: with fewer Products is as fast (results/README.md).
const LeastBanded = 192

// BandOf returns the narrowest band of a table, or none if that is wider than an eighth of the k states, as a few
// entries tell of most tables.
func BandOf(table []float64, k int) Band {
	b := Band{1, table[k-1]}
	for i := range k {
		for j, x := range table[i*k:][:k] {
			if far := max(i-j, j-i); far >= b.width && x != b.rest {
				if b.width = far + 1; 8*b.width > k {
					return Band{}
				}
			}
		}
	}
	return b
}

// Product computes out[x] = Σ_y weights[y] table[y,x], or of table[x,y] if turned, from sums that run from both ends to
// the band: nothing is subtracted. It does nothing and reports false where there is no band.
func (b Band) Product(out, weights, table []float64, turned bool) bool {
	if b.width == 0 {
		return false
	}
	k, below, above := len(out), 0.0, 0.0
	clear(out)
	for y := range k - b.width {
		below, above = below+weights[y], above+weights[k-1-y]
		out[y+b.width] += b.rest * below
		out[k-1-y-b.width] += b.rest * above
	}
	for i := 0; b.width == 1 && i < k; i++ {
		out[i] += table[i*(k+1)] * weights[i]
	}
	for i := 0; b.width > 1 && i < k; i++ {
		lo, hi := max(0, i-b.width+1), min(k, i+b.width)
		if row := table[i*k+lo : i*k+hi]; turned {
			out[i] += Dot(row, weights[lo:hi])
		} else {
			AddScaled(out[lo:hi], row, weights[i])
		}
	}
	return true
}
