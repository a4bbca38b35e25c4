package study

import (
	"fmt"
	"math"
	"slices"
)

// median returns the middle of some numbers, NaN of none.
func median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	sorted := slices.Clone(x)
	slices.Sort(sorted)
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// span returns the least and the largest of some numbers, NaN of none.
func span(x []float64) (least, most float64) {
	if len(x) == 0 {
		return math.NaN(), math.NaN()
	}
	return slices.Min(x), slices.Max(x)
}

// ranged writes a median and its range.
func ranged(x []float64) string {
	least, most := span(x)
	if least == most {
		return fmt.Sprintf("%.1f", least)
	}
	return fmt.Sprintf("%.1f (%.1f to %.1f)", median(x), least, most)
}

// times writes a ratio and its range.
func times(x []float64) string {
	if len(x) == 0 {
		return "not measured"
	}
	least, most := span(x)
	if len(x) == 1 {
		return fmt.Sprintf("×%.2f", x[0])
	}
	return fmt.Sprintf("×%.2f (%.2f to %.2f)", median(x), least, most)
}

// slope is that of the least-squares line through points.
func slope(x, y []float64) float64 {
	meanX, meanY := 0.0, 0.0
	for i := range x {
		meanX += x[i] / float64(len(x))
		meanY += y[i] / float64(len(x))
	}
	product, square := 0.0, 0.0
	for i := range x {
		product += (x[i] - meanX) * (y[i] - meanY)
		square += (x[i] - meanX) * (x[i] - meanX)
	}
	return product / square
}
