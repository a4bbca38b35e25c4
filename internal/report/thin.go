package report

import "slices"

// pointsPerColumn is what thinning keeps: the first, lowest, highest and last.
const pointsPerColumn = 4

// Thin keeps of many points only those that show: runs of neighbouring points in the same one of so many columns of
// the figure are reduced to their first, lowest, highest and last (the M4 aggregation of Jugel et al., VLDB 2014). x
// holds places on the axis. A curve that runs back and forth too often is cut into equal runs instead. The result are
// indices, increasing.
func Thin(x, y []float64, columns int) []int {
	limit := columns * pointsPerColumn
	if len(x) <= limit {
		all := make([]int, len(x))
		for i := range all {
			all[i] = i
		}
		return all
	}
	low, high, scale := slices.Min(x), slices.Max(x), 0.0
	if high > low {
		scale = float64(columns-1) / (high - low)
	}
	kept := thinRuns(y, func(i int) int { return int((x[i] - low) * scale) })
	if len(kept) > limit {
		kept = thinRuns(y, func(i int) int { return i * (columns - 1) / len(y) })
	}
	return kept
}

// thinRuns keeps the four points of each run of equal columns.
func thinRuns(y []float64, column func(int) int) []int {
	var kept []int
	for start := 0; start < len(y); {
		end := start + 1
		for end < len(y) && column(end) == column(start) {
			end++
		}
		lowest, highest := start, start
		for i := start; i < end; i++ {
			if y[i] < y[lowest] {
				lowest = i
			}
			if y[i] > y[highest] {
				highest = i
			}
		}
		kept = append(kept, start, min(lowest, highest), max(lowest, highest), end-1)
		start = end
	}
	return slices.Compact(kept)
}
