package upsample

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// pictures are maps and pictures of which neither divides the other, smaller and larger maps, and lines.
var pictures = []struct{ of, over Size }{
	{Size{3, 4}, Size{7, 10}}, {Size{3, 4}, Size{3, 4}}, {Size{1, 1}, Size{5, 6}}, {Size{2, 5}, Size{9, 21}}, {Size{9, 8}, Size{4, 3}},
	{Size{1, 6}, Size{1, 17}}, {Size{6, 1}, Size{11, 1}}, {Size{4, 6}, Size{16, 24}},
}

func draw(rng *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return x
}

// drawn returns a map of random values.
func drawn(rng *rand.Rand, of, over Size, depth int, bias bool) (*Map, Values) {
	v := make(Values, of.Count()*depth)
	for i := range v {
		v[i] = float32(rng.NormFloat64() + 3)
	}
	return New(v, of, depth, over, bias), v
}

// bilinear is the definition: the weights of all cells for a pixel, from distances of centres.
func bilinear(of, over Size, pixel int) (weights []float64) {
	tent := func(i, n, cell, cells int) float64 {
		at := (float64(i)+0.5)*float64(cells)/float64(n) - 0.5
		at = max(0, min(at, float64(cells-1)))
		return max(0, 1-math.Abs(at-float64(cell)))
	}
	for cell := range of.Count() {
		weights = append(weights, tent(pixel/over.Cols, over.Rows, cell/of.Cols, of.Rows)*tent(pixel%over.Cols, over.Cols, cell%of.Cols, of.Cols))
	}
	return weights
}

func near(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	oracle.MustEqual(t, len(got), len(want), "%s: numbers", what)
	for i := range got {
		oracle.MustNear(t, got[i], want[i], tolerance*(1+math.Abs(want[i])), "%s: number %d", what, i)
	}
}

// TestRows holds rows, scaled or not, picked or not, against the definition. Weights are kept in single precision.
func TestRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, p := range pictures {
		const depth = 3
		m, values := drawn(rng, p.of, p.over, depth, true)
		mean, deviation := []float64{1, -2, 0, 0}, []float64{0.5, 3, 1, 1}
		scaled := m.Scaled(mean, deviation)
		twice := scaled.Scaled([]float64{-1, 1, 0, 0}, []float64{2, 0.25, 1, 1})
		picked := make([]int32, 0, m.Rows())
		for r := range int32(m.Rows()) {
			picked = append(picked, int32(m.Rows())-1-r)
		}
		some := scaled.Pick(picked[:len(picked)/2+1])
		read, readTwice := scaled.Reader(), twice.Reader()
		for r := range m.Rows() {
			want := make([]float64, depth+1)
			for cell, w := range bilinear(p.of, p.over, r) {
				for j := range depth {
					want[j] += w * float64(values[cell*depth+j])
				}
			}
			want[depth] = 1
			got := make([]float64, depth+1)
			m.Row(got, r)
			near(t, fmt.Sprint(p, " row ", r), got, want, 1e-6)
			for j := range depth {
				want[j] = (want[j] - mean[j]) / deviation[j]
			}
			read(got, r)
			near(t, fmt.Sprint(p, " scaled row ", r), got, want, 1e-6)
			if i := slices.Index(picked, int32(r)); i < some.Rows() {
				again := make([]float64, depth+1)
				some.Row(again, i)
				near(t, fmt.Sprint(p, " picked row ", r), again, got, 0)
			}
			want[0], want[1] = (want[0]+1)/2, (want[1]-1)/0.25
			readTwice(got, r)
			near(t, fmt.Sprint(p, " row scaled twice ", r), got, want, 1e-6)
		}
	}
}

// TestPatch: what is interpolated are products with rows, and spreading is the adjoint, for rows in any order.
func TestPatch(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var p Patch // is used again for maps of other sizes
	for _, c := range pictures {
		const depth, numbers = 3, 5
		m, _ := drawn(rng, c.of, c.over, depth, true)
		m = m.Scaled([]float64{1, 2, 3, 0}, []float64{2, 1, 0.5, 1})
		rows := make([]int32, 0, m.Rows())
		for r := range int32(m.Rows()) {
			if rng.IntN(4) > 0 {
				rows = append(rows, r)
			}
		}
		if len(rows) == 0 {
			rows = append(rows, 0)
		}
		for _, order := range []string{"rising", "shuffled"} {
			if order == "shuffled" {
				rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			}
			weights := draw(rng, m.Dim()*numbers)
			want := make([]float64, len(rows)*numbers)
			row := make([]float64, m.Dim())
			for i, r := range rows {
				m.Row(row, int(r))
				for j, x := range row {
					for k := range numbers {
						want[i*numbers+k] += x * weights[j*numbers+k]
					}
				}
			}
			p.Begin(m, numbers)
			p.Add(rows)
			var scratch []float32
			for i, cell := range p.Cells {
				oracle.MustEqual(t, slices.Index(p.Cells, cell), i, "%v: the place of cell %d", c, cell)
				m.Read(row, []int32{cell}, &scratch)
				for j, x := range row {
					for k := range numbers {
						p.Values[i*numbers+k] += x * weights[j*numbers+k]
					}
				}
			}
			got := make([]float64, len(want))
			p.Interpolate(got, rows)
			near(t, fmt.Sprint(c, " ", order), got, want, 1e-12)

			sums, direct := make([]float64, len(weights)), make([]float64, len(weights))
			beliefs := draw(rng, len(want))
			for i, r := range rows {
				m.Row(row, int(r))
				for j, x := range row {
					for k := range numbers {
						direct[j*numbers+k] += x * beliefs[i*numbers+k]
					}
				}
			}
			if order == "shuffled" {
				p = Patch{} // which has to grow
			}
			p.Begin(m, numbers)
			half := len(rows) / 2
			p.Spread(rows[:half], beliefs[:half*numbers])
			p.Spread(rows[half:], beliefs[half*numbers:])
			for i, cell := range p.Cells {
				m.Read(row, []int32{cell}, &scratch)
				for j, x := range row {
					for k := range numbers {
						sums[j*numbers+k] += x * p.Values[i*numbers+k]
					}
				}
			}
			near(t, fmt.Sprint(c, " spread ", order), sums, direct, 1e-11)
		}
	}
}
