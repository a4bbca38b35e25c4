package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/oracle"
)

// classNames are those of the Stanford Background set.
var classNames = []string{"sky", "tree", "road", "grass", "water", "building", "mountain", "foreground"}

// svgOf draws a figure twice and checks that both are the same valid XML.
func svgOf(t *testing.T, f Figure) string {
	t.Helper()
	var first, second bytes.Buffer
	oracle.OK(t, errors.Join(f.SVG(&first), f.SVG(&second)))
	oracle.Equal(t, first.Bytes(), second.Bytes(), "a second drawing")
	text := first.String()
	if err := xml.Unmarshal(first.Bytes(), new(struct{})); err != nil || !strings.HasSuffix(text, "</svg>\n") {
		t.Fatalf("not XML: %v", err)
	}
	for _, bad := range []string{"NaN", "Inf"} {
		if strings.Contains(text, bad) {
			t.Errorf("the SVG contains %q", bad)
		}
	}
	return text
}

// convergence is three typical curves.
func convergence() Curves {
	f := Curves{Title: "Distance <to> the \"optimum\" & more", XLabel: "time in seconds", YLabel: "‖θ − θ*‖", LogY: true}
	for k, name := range []string{"BBPL", "inner-dual", "full BP"} {
		series := Series{Name: name, Dashed: k == 2}
		for i := range 500 {
			x := float64(i*(k+1)) / 10
			series.X = append(series.X, x)
			series.Y = append(series.Y, 80*math.Exp(-x/float64(k+1)/2)+1e-6)
		}
		f.Series = append(f.Series, series)
	}
	return f
}

func TestCurves(t *testing.T) {
	f := convergence()
	text := svgOf(t, f)
	oracle.Contains(t, text, "BBPL", "inner-dual", "full BP", "time in seconds", "1e-06", "<title>Distance &lt;to&gt;",
		"Arial", `stroke-linejoin="round"`)
	f.Height = 300
	oracle.Contains(t, svgOf(t, f), `width="380pt" height="300pt"`)
}

func TestCurvesEdgeCases(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	long := Series{Name: strings.Repeat("very long name ", 50)}
	for i := range 100_000 {
		long.X = append(long.X, float64(i))
		long.Y = append(long.Y, float64(i%17))
	}
	cases := map[string][]Series{
		"none":         nil,
		"empty":        {{Name: "a"}},
		"one":          {{Name: "a", X: []float64{3}, Y: []float64{2}}},
		"constant":     {{Name: "a", X: []float64{1, 2}, Y: []float64{7, 7}}},
		"same place":   {{Name: "a", X: []float64{1, 1}, Y: []float64{7, 7}}},
		"zero":         {{Name: "a", X: []float64{0, 0}, Y: []float64{0, 0}}},
		"negative":     {{Name: "a", X: []float64{-1, -2}, Y: []float64{-5, -7}}},
		"not finite":   {{Name: "a", X: []float64{1, nan, 2, inf}, Y: []float64{nan, 1, -inf, 4}}},
		"mixed":        {{Name: "a", X: []float64{1, 2, 3, 4}, Y: []float64{1, nan, 0, 1e-5}}},
		"huge":         {{Name: "a", X: []float64{-1e308, 1e308, 1e300}, Y: []float64{-1e300, 1e300, 1}}},
		"tiny":         {{Name: "a", X: []float64{5e-324, 1e-310, 1e-300}, Y: []float64{1e-300, 5e-324, 2e-300}}},
		"nearly equal": {{Name: "a", X: []float64{1, 2}, Y: []float64{1, math.Nextafter(1, 2)}}},
		"odd text":     {{Name: "a\x00b\n<&>\xff\ufffe𝛉", X: []float64{1, 2}, Y: []float64{1, 2}}},
		"no name":      {{X: []float64{1, 2}, Y: []float64{1, 2}}},
		"long":         {long},
		"many":         make([]Series, 40),
	}
	for i := range cases["many"] {
		cases["many"][i] = Series{Name: fmt.Sprint("series ", i), X: []float64{0, 1}, Y: []float64{0, float64(i)}}
	}
	for name, series := range cases {
		for scale := range 4 {
			t.Run(fmt.Sprint(name, scale), func(t *testing.T) {
				f := Curves{Title: name, XLabel: "x", YLabel: "y", LogX: scale&1 > 0, LogY: scale&2 > 0, Series: series}
				text := svgOf(t, f)
				if len(text) > 400_000 {
					t.Errorf("%d bytes: the curves were not thinned", len(text))
				}
				if scale == 3 && (name == "negative" || name == "not finite") && !strings.Contains(text, ">no data<") {
					t.Error("an empty figure does not say so")
				}
			})
		}
	}
}

func TestThin(t *testing.T) {
	const n = 1_000_000
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = math.Log(float64(i + 1))
	}
	y[n/3], y[n/2] = 5, -5 // peaks of one point each
	kept := thin(x, y, thinColumns)
	if len(kept) > thinColumns*pointsPerColumn {
		t.Errorf("%d points are left", len(kept))
	}
	found := map[int]bool{}
	for k, i := range kept {
		found[i] = true
		if k > 0 && kept[k-1] >= i {
			t.Fatal("the order changed")
		}
	}
	for _, i := range []int{0, 1, 2, n / 3, n / 2, n - 1} {
		if !found[i] {
			t.Errorf("point %d was lost", i)
		}
	}
	if kept := thin(make([]float64, n), y, thinColumns); len(kept) > pointsPerColumn {
		t.Errorf("%d points above one place are left", len(kept))
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		log       bool
		count     int
		low, high float64
		want      string
	}{
		{true, 8, 1e-6, 100, "1e-06 0.0001 0.01 1 100"},
		{true, 9, 1e-6, 100, "1e-06 1e-05 0.0001 0.001 0.01 0.1 1 10 100"}, {true, 6, 0.5, 20, "1 10"},
		{true, 6, 0.0031, 0.0034, "0.0031 0.0032 0.0033 0.0034"},
		{true, 9, 1e-2, 1e251, "1 1e+30 1e+60 1e+90 1e+120 1e+150 1e+180 1e+210 1e+240"}, {true, 1, 0.5, 20, "1"},
		{false, 6, 0, 1, "0.0 0.2 0.4 0.6 0.8 1.0"}, {false, 5, -3, 450, "0 100 200 300 400"},
		{false, 5, 7, 7 + 1e-7, "7.00000000 7.00000005 7.00000010"},
		{false, 5, -1e300, 1e300, "-1e+300 -5e+299 0 5e+299 1e+300"}, {false, 1, 0.3, 0.6, "0.5"},
	} {
		a := newAxis(c.log)
		a.include(c.low)
		a.include(c.high)
		all := numeric.Map(a.ticks(c.count), func(x tick) string { return x.label })
		oracle.Equal(t, strings.Join(all, " "), c.want, "%d from %g to %g", c.count, c.low, c.high)
	}
}

// TestElement: a figure in a page has the page's colours and no others, no paper, and none of a text's markup.
func TestElement(t *testing.T) {
	f := convergence()
	f.Columns = []Column{{From: 0, To: 10, Height: 1, Label: "12k"}}
	text := f.Element()
	if !strings.HasPrefix(text, "<svg ") {
		t.Fatalf("%.80s", text)
	}
	oracle.Contains(t, text, "var(--text)", "var(--quiet)", "var(--axis)", "fill:var(--grid)", "stroke:var(--one)",
		"stroke:var(--three)", ">12k<", "Distance &lt;to&gt;")
	if other := regexp.MustCompile("#[0-9A-Fa-f]{6}").FindString(text); other != "" {
		t.Errorf("the colour %s is not the page's", other)
	}
}

// TestRangesKeepTheColour: dashed series without a name look like the series before
// them, and take no colour from those behind.
func TestRangesKeepTheColour(t *testing.T) {
	line := func(name string, dashed bool, y float64) Series {
		return Series{Name: name, X: []float64{0, 1}, Y: []float64{y, y + 1}, Dashed: dashed}
	}
	colours := func(series ...Series) map[string]bool {
		var svg bytes.Buffer
		oracle.OK(t, (Curves{Series: series}).SVG(&svg))
		found := map[string]bool{}
		for _, match := range regexp.MustCompile(`stroke:(#[0-9A-Fa-f]{6})`).FindAllStringSubmatch(svg.String(), -1) {
			found[match[1]] = true
		}
		return found
	}
	plain := colours(line("a", false, 0), line("b", false, 1))
	ranges := colours(line("a", false, 0), line("", true, 1), line("", true, 2), line("b", false, 1), line("", true, 2))
	if !maps.Equal(plain, ranges) || len(plain) < 2 {
		t.Errorf("colours %v, with ranges %v", plain, ranges)
	}
}
