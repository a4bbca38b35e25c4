package simd

import "math"

// place is where the i-th part of an array begins: as at says, or behind i parts of n numbers where that is nil.
func place(i int32, at []int, n int) int {
	if at == nil {
		return int(i) * n
	}
	return at[i]
}

func plainCavities(weights, beliefs, messages []float64, source, directed []int32, beliefAt, messageAt []int, n int,
	sizes []int32) {
	for i, s := range source {
		n = sizeOf(sizes, i, n)
		switch {
		case len(messages) == 0 && n > 0:
			copy(weights[:n], beliefs[place(s, beliefAt, n):])
		case n > 0:
			plainCavity(weights[:n], beliefs[place(s, beliefAt, n):][:n], messages[place(directed[i]^1, messageAt, n):][:n])
		}
		weights = weights[n:]
	}
}

// sizeOf is that of the i-th part, all of which may have the same.
func sizeOf(sizes []int32, i, same int) int {
	if len(sizes) > 0 {
		return int(sizes[i])
	}
	return same
}

func plainProducts(out, weights, tables []float64, directed, edge []int32, at []int, source, target int,
	sources, targets []int32) {
	for i, d := range directed {
		source, target = sizeOf(sources, i, source), sizeOf(targets, i, target)
		compute := plainVectorTable
		if d&1 != 0 {
			compute = plainTableVector
		}
		compute(out[:target], weights[:source], tables[at[edge[i]]:][:source*target])
		out, weights = out[target:], weights[source:]
	}
}

func plainAbsorb(messages, sums, potentials, out []float64, directed []int32, messageAt []int, rho []float64,
	same float64, list []Node, damping float64) (residual float64) {
	for _, node := range list {
		n := int(node.States)
		sum := sums[node.Sum:][:n]
		copy(sum, potentials[node.Potential:][:n])
		for _, d := range directed[:node.Messages] {
			if rho != nil {
				same = rho[d>>1]
			}
			subtract(out[:n], Max(out[:n]))
			residual = largerOrNaN(residual, absorbOne(messages[place(d, messageAt, n):][:n], out, sum, same, damping))
			out = out[n:]
		}
		directed = directed[node.Messages:]
		if node.Inverse != 0 {
			subtract(sum, max(Max(sum), -math.MaxFloat64))
			for x := range sum {
				sum[x] *= node.Inverse
			}
		}
	}
	return residual
}

// absorbOne is Absorb of one message.
func absorbOne(old, message, sum []float64, rho, damping float64) (residual float64) {
	for i, before := range old {
		after := message[i]
		if (damping < 0 || damping > 0) && after != before {
			after = (1-damping)*after + damping*before
		}
		if after != before {
			residual = largerOrNaN(residual, math.Abs(after-before))
		}
		old[i] = after
		sum[i] += rho * after
	}
	return residual
}

func plainTotals(totals, weights []float64, list []Node) {
	for i := range list {
		total := 0.0
		for _, w := range weights[list[i].Sum:][:list[i].States] {
			total += w
		}
		totals[i] = total
	}
}

func plainSettle(beliefs, sums, logTotals []float64, list []Node) (residual float64) {
	for i := range list {
		n := int(list[i].States)
		belief, sum := beliefs[list[i].Belief:][:n], sums[list[i].Sum:][:n]
		for x, before := range belief {
			after := sum[x] - logTotals[i]
			if after != before {
				residual = largerOrNaN(residual, math.Abs(after-before))
			}
			belief[x] = after
		}
	}
	return residual
}

// largerOrNaN is the larger of two residuals, or a NaN where there is one.
func largerOrNaN(a, b float64) float64 {
	if b > a || b != b {
		return b
	}
	return a
}

func plainExponentials(x []float64, a float64) (done bool) {
	for _, v := range x {
		if !(math.Abs(v*a) <= moderate) {
			return false
		}
	}
	for i, v := range x {
		x[i] = math.Exp(v * a)
	}
	return true
}
