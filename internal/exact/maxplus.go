package exact

import "math"

// Maxima are taken without branches, whose outcome would be random, and of four
// rows at a time, so that one need not wait for another.

// maxPlusRows sets dst[j] = max_i own[i] + table[i][j].
func maxPlusRows(dst, own, table []float64) {
	k := len(dst)
	for j := range dst {
		dst[j] = math.Inf(-1)
	}
	i := 0
	for ; i+4 <= len(own); i += 4 {
		a, b, c, d := table[i*k:][:k], table[(i+1)*k:][:k], table[(i+2)*k:][:k], table[(i+3)*k:][:k]
		p, q, r, s := own[i], own[i+1], own[i+2], own[i+3]
		for j := range dst {
			dst[j] = max(dst[j], max(max(p+a[j], q+b[j]), max(r+c[j], s+d[j])))
		}
	}
	for ; i < len(own); i++ {
		row, x := table[i*k:][:k], own[i]
		for j := range dst {
			dst[j] = max(dst[j], x+row[j])
		}
	}
}

// maxPlusColumns sets dst[i] = max_j own[j] + table[i][j].
func maxPlusColumns(dst, own, table []float64) {
	k := len(own)
	i := 0
	for ; i+4 <= len(dst); i += 4 {
		a, b, c, d := table[i*k:][:k], table[(i+1)*k:][:k], table[(i+2)*k:][:k], table[(i+3)*k:][:k]
		p, q, r, s := math.Inf(-1), math.Inf(-1), math.Inf(-1), math.Inf(-1)
		for j, x := range own {
			p, q, r, s = max(p, x+a[j]), max(q, x+b[j]), max(r, x+c[j]), max(s, x+d[j])
		}
		dst[i], dst[i+1], dst[i+2], dst[i+3] = p, q, r, s
	}
	for ; i < len(dst); i++ {
		row, best := table[i*k:][:k], math.Inf(-1)
		for j, x := range own {
			best = max(best, x+row[j])
		}
		dst[i] = best
	}
}
