package simd

import "math"

// productKernels are what the products of one message are made with.
type productKernels struct {
	vectorTable, tableVector func(out, weight, values []float64)
}

var plainTables = productKernels{plainVectorTable, plainTableVector}

func plainCavities(weights, beliefs, messages []float64, list []Message) {
	for i := range list {
		m := &list[i]
		k := int(m.Source)
		plainCavity(weights[m.Weight:][:k], beliefs[m.Belief:][:k], messages[m.Reverse:][:k])
	}
}

func plainProducts(out, weights, tables []float64, list []Message) {
	for i := range list {
		plainTables.product(out, weights, tables, &list[i])
	}
}

func (k productKernels) product(out, weights, tables []float64, m *Message) {
	source, target := int(m.Source), int(m.Target)
	compute := k.vectorTable
	if m.Backward != 0 {
		compute = k.tableVector
	}
	compute(out[m.Out:][:target], weights[m.Weight:][:source], tables[m.Table:][:source*target])
}

func plainAllSafe(x []float64) bool {
	for _, v := range x {
		if !(v >= TooSmall && v <= math.MaxFloat64) {
			return false
		}
	}
	return true
}

func plainAbsorbAll(messages, sums, out []float64, list []Message, damping float64) (residual float64) {
	for i := range list {
		m := &list[i]
		n := int(m.Target)
		message := out[m.Out:][:n]
		subtract(message, Max(message))
		residual = largerOrNaN(residual, Absorb(messages[m.Old:][:n], message, sums[m.Sum:][:n], m.Rho, damping))
	}
	return residual
}

func plainShift(sums []float64, list []Node) (done int) {
	for i := range list {
		sum := sums[list[i].Sum:][:list[i].States]
		largest := Max(sum)
		if !(math.Abs(largest) <= math.MaxFloat64) {
			return i
		}
		for x := range sum {
			sum[x] = (sum[x] - largest) * list[i].Inverse
		}
	}
	return len(list)
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

func plainExponentials(tables []float64, size int, inverse []float64) (done int) {
	for i, a := range inverse {
		table := tables[i*size:][:size]
		for _, theta := range table {
			if !(math.Abs(theta*a) <= moderate) {
				return i
			}
		}
		for x, theta := range table {
			table[x] = math.Exp(theta * a)
		}
	}
	return len(inverse)
}
