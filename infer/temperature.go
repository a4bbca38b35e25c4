package infer

import "math"

// temper raises the beliefs of every node to the power 1/temperature, and normalises them. Order
// within a node stays, and so do beliefs of 0 and 1.
func (b *Beliefs) temper(temperature float64) {
	if temperature == 0 || temperature == 1 {
		return
	}
	for s := range b.Labels {
		belief := b.Of(s)
		largest, sum := 0.0, 0.0
		for _, p := range belief {
			largest = max(largest, p)
		}
		for i, p := range belief {
			belief[i] = math.Exp(math.Log(p/largest) / temperature)
			sum += belief[i]
		}
		for i := range belief {
			belief[i] /= sum
		}
	}
}
