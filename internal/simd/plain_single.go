package simd

import "math"

var plain32 = implementation32{
	cavities:       plainCavities32,
	exp:            plainExp32,
	log:            plainLog32,
	products:       plainProducts32,
	allSafe:        plainAllSafe32,
	absorbAll:      plainAbsorbAll32,
	exponentials:   plainExponentials32,
	multiplyMatrix: plainMultiplyMatrix32,
	scatterMatrix:  plainScatterMatrix32,
	narrow:         plainNarrow,
	edgeBeliefs:    plainEdgeBeliefs32,
}

func plainCavities32(weights []float32, beliefs, messages []float64, list []Message) {
	for i := range list {
		m := &list[i]
		n := int(m.Source)
		belief, message, weight := beliefs[m.Belief:][:n], messages[m.Reverse:][:n], weights[m.Weight:][:n]
		for x := range weight {
			weight[x] = float32(cavity(belief[x], message[x]))
		}
	}
}

func plainExp32(dst, x []float32) {
	for i, v := range x {
		dst[i] = exponential32(v)
	}
}

func exponential32(x float32) float32 {
	if x < flushed32 {
		return 0
	}
	return float32(math.Exp(float64(x)))
}

// plainLog32 has no trouble with denormals: as float64 they are normal.
func plainLog32(dst, x []float32) {
	for i, v := range x {
		dst[i] = float32(math.Log(float64(v)))
	}
}

func plainVectorTable32(out, weight, values []float32) {
	clear(out)
	k := len(out)
	for i, a := range weight {
		row := values[i*k:][:k]
		for j := range out {
			out[j] += a * row[j]
		}
	}
}

func plainTableVector32(out, weight, values []float32) {
	k := len(weight)
	for i := range out {
		row := values[i*k:][:k]
		sum := float32(0)
		for j, a := range weight {
			sum += row[j] * a
		}
		out[i] = sum
	}
}

func plainProducts32(out, weights, tables []float32, list []Message) {
	for i := range list {
		out, weight, values := list[i].slices32(out, weights, tables)
		if list[i].Backward != 0 {
			plainTableVector32(out, weight, values)
			continue
		}
		plainVectorTable32(out, weight, values)
	}
}

// slices32 returns the slices of one message of Products32.
func (m *Message) slices32(out, weights, tables []float32) (sums, weight, values []float32) {
	source, target := int(m.Source), int(m.Target)
	return out[m.Out:][:target], weights[m.Weight:][:source], tables[m.Table:][:source*target]
}

func plainAllSafe32(x []float32) bool {
	for _, v := range x {
		if !(v >= TooSmall32 && v <= math.MaxFloat32) {
			return false
		}
	}
	return true
}

func plainAbsorbAll32(messages, sums []float64, out []float32, list []Message, damping float64) (residual float64) {
	var scratch [cavityScratch]float64
	for i := range list {
		m := &list[i]
		n := int(m.Target)
		message, old, sum := out[m.Out:][:n], messages[m.Old:][:n], sums[m.Sum:][:n]
		largest := plainMax32(message)
		for len(message) > 0 {
			part := widen(scratch[:], message, largest)
			n := len(part)
			residual = largerOrNaN(residual, plainAbsorb(old[:n], part, sum[:n], m.Rho, damping))
			message, old, sum = message[n:], old[n:], sum[n:]
		}
	}
	return residual
}

func plainNarrow(dst []float32, x []float64) {
	for i, v := range x {
		dst[i] = float32(v)
	}
}

// widen returns x − shift, as far as it fits into the scratch, which it is put into.
func widen(scratch []float64, x []float32, shift float64) []float64 {
	n := min(len(x), len(scratch))
	for i, v := range x[:n] {
		scratch[i] = float64(v) - shift
	}
	return scratch[:n]
}

// plainMax32 is plainMax.
func plainMax32(x []float32) float64 {
	largest := negativeInfinity
	for _, v := range x {
		if v := float64(v); v > largest || v != v {
			largest = v
		}
	}
	return largest
}

func plainExponentials32(tables []float32, size int, inverse []float64) (done int) {
	for i, a := range inverse {
		table, a := tables[i*size:][:size], float32(a)
		if !allModerate32(table, a) {
			return i
		}
		for x, theta := range table {
			table[x] = exponential32(theta * a)
		}
	}
	return len(inverse)
}

// allModerate32 reports whether all exponents θ·a have a moderate magnitude.
func allModerate32(table []float32, a float32) bool {
	for _, theta := range table {
		if x := theta * a; !(x >= -moderate32 && x <= moderate32) {
			return false
		}
	}
	return true
}

func plainMultiplyMatrix32(dst, f, w []float32, rows, d, k int) {
	for r := range rows {
		plainVectorTable32(dst[r*k:][:k], f[r*d:][:d], w)
	}
}

func plainScatterMatrix32(w []float64, f, t []float32, rows, d, k int) {
	var scratch [cavityScratch]float32
	for j := range d {
		for at := 0; at < k; at += len(scratch) {
			sum := scratch[:min(len(scratch), k-at)]
			clear(sum)
			for r := range rows {
				a := f[r*d+j]
				for x, v := range t[r*k+at:][:len(sum)] {
					sum[x] += a * v
				}
			}
			for x, v := range sum {
				w[j*k+at+x] += float64(v)
			}
		}
	}
}

func plainEdgeBeliefs32(dst []float32, logZ, product, beliefs, messages []float64, tables []float32, edges []Edge, ku, kv int) (done int) {
	for q := range edges {
		z, p, safe := plainEdgeBelief32(dst[q*ku*kv:][:ku*kv], beliefs, messages, tables, &edges[q], ku, kv)
		if !safe {
			return q
		}
		logZ[q], product[q] = z, p
	}
	return len(edges)
}

// plainEdgeBelief32 sums as plainEdgeBelief does.
func plainEdgeBelief32(dst []float32, beliefs, messages []float64, tables []float32, e *Edge, ku, kv int) (logZ, product float64, safe bool) {
	var scratch [4 * cavityScratch]float32
	a, left, shiftLeft := plainSide32(scratch[:2*cavityScratch], beliefs[e.BeliefU:][:ku], messages[e.MessageU:][:ku])
	c, right, shiftRight := plainSide32(scratch[2*cavityScratch:], beliefs[e.BeliefV:][:kv], messages[e.MessageV:][:kv])
	total, weighted := plainPair32(a, left, c, right, tables[e.Table:][:ku*kv])
	if !(total >= TooSmall32 && total <= math.MaxFloat32) {
		return 0, 0, false
	}
	scale := 1 / total
	for i, x := range a {
		row, out := tables[e.Table+i*kv:][:kv], dst[i*kv:][:kv]
		for j, v := range row {
			out[j] = v * x * (c[j] * scale)
		}
	}
	shift := shiftLeft + shiftRight
	return math.Log(float64(total)) + shift, float64(weighted)/float64(total) + shift, true
}

// plainPair32 returns Σ a c values and Σ (left c + a right) values.
func plainPair32(a, left, c, right, values []float32) (total, weighted float32) {
	k := len(c)
	for i, x := range a {
		sum, other := float32(0), float32(0)
		for j, v := range values[i*k:][:k] {
			sum += v * c[j]
			other += v * right[j]
		}
		total += x * sum
		weighted += left[i]*sum + x*other
	}
	return total, weighted
}

// plainSide32 returns the weights e^l of a cavity l, shifted to a largest entry of
// 0, the products l e^l, 0 for forbidden states, and the shift. Both are in the
// scratch where they fit.
func plainSide32(scratch []float32, belief, message []float64) (weight, product []float32, shift float64) {
	n := len(belief)
	if 2*n > len(scratch) {
		scratch = make([]float32, 2*n)
	}
	weight, product = scratch[:n], scratch[n:][:n]
	shift = negativeInfinity
	for i, b := range belief {
		if l := cavity(b, message[i]); l > shift || l != l {
			shift = l
		}
	}
	for i, b := range belief {
		l := float32(cavity(b, message[i]) - shift)
		weight[i] = exponential32(l)
		if product[i] = weight[i] * l; l < flushed32 {
			product[i] = 0
		}
	}
	return weight, product, shift
}
