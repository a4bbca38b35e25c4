package study

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/blockbp/blockbp/internal/figure"
	"github.com/blockbp/blockbp/internal/machine"
)

// median returns the middle of some numbers, NaN of none.
func median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	return machine.Summarise(slices.Clone(x)).Median
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
	switch {
	case len(x) == 0:
		return "–"
	case least == most:
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

// number formats a number that may be missing.
func number(format string, x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	return fmt.Sprintf(format, x)
}

// band is a curve of medians with the range of what they are of.
type band struct {
	middle, low, high figure.Series
	several           bool // a median is of more than one value
}

// newBand is an empty band, of whose curves the medians have a name.
func newBand(name string) *band {
	return &band{middle: figure.Series{Name: name}, low: figure.Series{Dashed: true}, high: figure.Series{Dashed: true}}
}

// add adds values at a place of the horizontal axis; none are no point.
func (b *band) add(place float64, values []float64) {
	if len(values) == 0 {
		return
	}
	least, most := span(values)
	b.several = b.several || len(values) > 1
	for curve, y := range map[*figure.Series]float64{&b.middle: median(values), &b.low: least, &b.high: most} {
		curve.X, curve.Y = append(curve.X, place), append(curve.Y, y)
	}
}

// series are the curves: the range only where there is one.
func (b *band) series() []figure.Series {
	if !b.several {
		return []figure.Series{b.middle}
	}
	return []figure.Series{b.middle, b.low, b.high}
}

// sideways are the curves with values along the horizontal axis.
func (b *band) sideways() []figure.Series {
	all := b.series()
	for i := range all {
		all[i].X, all[i].Y = all[i].Y, all[i].X
	}
	return all
}

// slope is that of the least-squares line through points.
func slope(x, y []float64) float64 {
	_, beta := stat.LinearRegression(x, y, nil, false)
	return beta
}

// levelTimes is the ratio up to which two times count as level: equal runs differ by as
// much, and more, by what machine and system do meanwhile. Work, which is exact, decides
// then.
const levelTimes = 1.5

// comparedTimes is how much more another method takes than BBPL: medians over the seeds.
type comparedTimes struct {
	time, work float64
}

// timesOf compares another method with BBPL.
func timesOf(n network, other, suffix string) comparedTimes {
	return comparedTimes{median(n.ratios(other, suffix, tolerance, secondsAxis)), median(n.ratios(other, suffix, tolerance, workAxis))}
}

// level reports whether times differ by no more than equal runs do.
func (v comparedTimes) level() bool { return v.time <= levelTimes && v.time >= 1/levelTimes }

// slower reports whether the other method is: by time, or by work where times are level.
// Where nothing was measured it is not.
func (v comparedTimes) slower() bool {
	if v.level() {
		return v.work > 1
	}
	return v.time > 1
}

// notBelow reports whether the ratios of one network are not below those of another: by
// time, or by work where times are level.
func (v comparedTimes) notBelow(other comparedTimes) bool {
	if q := (comparedTimes{time: v.time / other.time}); !q.level() {
		return q.time > 1
	}
	return v.work >= other.work
}
