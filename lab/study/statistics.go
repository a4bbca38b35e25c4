package study

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/blockbp/blockbp/lab/ceilings"
)

// median returns the middle of some numbers, NaN of none.
func median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	return ceilings.Summarise(slices.Clone(x)).Median
}

// ranged writes a median with its range, by the format of each.
func ranged(format string, x []float64) string {
	if len(x) == 0 {
		return "–"
	}
	text := fmt.Sprintf(format, median(x))
	if least, most := slices.Min(x), slices.Max(x); least < most {
		text += fmt.Sprintf(" ("+format+" to "+format+")", least, most)
	}
	return text
}

// number formats a number that may be missing.
func number(format string, x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	return fmt.Sprintf(format, x)
}

// slope is that of the least-squares line through points.
func slope(x, y []float64) float64 {
	_, beta := stat.LinearRegression(x, y, nil, false)
	return beta
}

// levelTimes is the ratio up to which two times count as level: equal runs differ by as much, and
// more, by what machine and system do meanwhile. Work, which is exact, decides then.
const levelTimes = 1.5

// comparedTimes is how much more another method takes than BBPL: medians over the seeds.
type comparedTimes struct {
	time, work float64
}

// timesOf compares another method with BBPL.
func timesOf(n network, other, suffix string) comparedTimes {
	return comparedTimes{
		median(n.ratios(other, suffix, tolerance, secondsAxis)),
		median(n.ratios(other, suffix, tolerance, workAxis)),
	}
}

// level reports whether times differ by no more than equal runs do.
func (v comparedTimes) level() bool { return v.time <= levelTimes && v.time >= 1/levelTimes }

// slower reports whether the other method is: by time, or by work where times are level. Where
// nothing was measured it is not.
func (v comparedTimes) slower() bool {
	if v.level() {
		return v.work > 1
	}
	return v.time > 1
}

// notBelow reports whether the ratios of one network are not below those of another: by time, or by
// work where times are level.
func (v comparedTimes) notBelow(other comparedTimes) bool {
	if q := (comparedTimes{time: v.time / other.time}); !q.level() {
		return q.time > 1
	}
	return v.work >= other.work
}
