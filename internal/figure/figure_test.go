package figure

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/blockbp/blockbp/internal/oracle"
)

// classNames are those of the Stanford Background set.
var classNames = []string{"sky", "tree", "road", "grass", "water", "building", "mountain", "foreground"}

// svgOf draws a figure twice and checks that both are the same valid XML.
func svgOf(t *testing.T, f Curves) string {
	t.Helper()
	var first, second bytes.Buffer
	oracle.OK(t, errors.Join(f.SVG(&first), f.SVG(&second)))
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two drawings differ")
	}
	decoder := xml.NewDecoder(bytes.NewReader(first.Bytes()))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not XML: %v", err)
		}
	}
	text := first.String()
	for _, bad := range []string{"NaN", "Inf", "font-family:Liberation Sans;"} {
		if strings.Contains(text, bad) {
			t.Errorf("the SVG contains %q", bad)
		}
	}
	return text
}

// pngOf draws a figure twice and checks that both are the same PNG.
func pngOf(t *testing.T, f interface{ PNG(io.Writer) error }) (width, height int) {
	t.Helper()
	var first, second bytes.Buffer
	oracle.OK(t, errors.Join(f.PNG(&first), f.PNG(&second)))
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two drawings differ")
	}
	img := oracle.Must(png.Decode(&first))(t)
	return img.Bounds().Dx(), img.Bounds().Dy()
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
	for _, want := range []string{"BBPL", "inner-dual", "full BP", "time in seconds", "1e-6", "1e0", "<title>Distance &lt;to&gt;", "Arial", `stroke-linejoin="round">`} {
		if !strings.Contains(text, want) {
			t.Errorf("the figure lacks %q", want)
		}
	}
	if w, h := pngOf(t, f); w != 2*defaultWidth || h != 2*defaultHeight {
		t.Errorf("the image is %d × %d", w, h)
	}
	f.Width, f.Height = 160, 300
	if w, h := pngOf(t, f); w != 2*160 || h < 600 {
		t.Errorf("the small image is %d × %d", w, h)
	}
}

// TestFromZero: the vertical axis begins at zero where that is asked for.
func TestFromZero(t *testing.T) {
	f := Curves{Title: "T", Series: []Series{{Name: "a", X: []float64{1, 2}, Y: []float64{70, 80}}}}
	if text := svgOf(t, f); strings.Contains(text, ">0<") {
		t.Error("there is a zero without being asked for")
	}
	f.FromZero = true
	if text := svgOf(t, f); !strings.Contains(text, ">0<") {
		t.Error("there is no zero")
	}
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

func TestCurvesLengths(t *testing.T) {
	f := Curves{Title: "T", Series: []Series{{Name: "short", X: []float64{1, 2}, Y: []float64{1}}}}
	for _, err := range []error{f.SVG(io.Discard), f.PNG(io.Discard)} {
		if err == nil || !strings.Contains(err.Error(), `series[0] "short" has 2 x but 1 y`) {
			t.Errorf("got %v", err)
		}
	}
}

func TestCurvesNote(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		y    []float64
		logY bool
		want string
	}{
		{[]float64{1, 2, 3, 4}, true, ""},
		{[]float64{1, nan, nan, 4}, false, ""}, // not known, and not wrong
		{[]float64{1, inf, nan, 4}, false, "1 point is not shown: infinite, or beyond 1e300"},
		{[]float64{1, inf, 0, -1}, true, "3 points are not shown: not positive, or infinite, on a logarithmic axis"},
		{[]float64{1, 0, -1, 2}, false, ""},
		{[]float64{0, 0, 0, 0}, true, ""}, // the figure says that there is nothing
	} {
		f := Curves{Title: "T", LogY: c.logY, Series: []Series{{Name: "a", X: []float64{1, 2, 3, 4}, Y: c.y}}}
		text := svgOf(t, f)
		if c.want == "" && strings.Contains(text, "not shown") || !strings.Contains(text, c.want) {
			t.Errorf("%v, logarithmic %v: the note is not %q", c.y, c.logY, c.want)
		}
	}
}

func TestLabelsDoNotTouch(t *testing.T) {
	x := axis{min: 1234567890, max: 1234567897}
	var p plot.Axis
	const width = 280
	x.fitAcross(&p, width)
	shown := strings.Fields(labels(p.Tick.Marker.Ticks(p.Min, p.Max)))
	letters := sans(sizeTick, inkQuiet)
	taken := letters.width(strings.Join(shown, "")) + labelGapX*vg.Length(len(shown))
	if len(shown) < 2 || taken > width {
		t.Errorf("%v are %g points wide on an axis of %d", shown, taken, width)
	}
}

// TestGivenTicks: the values that were asked for are marked, those that are drawn, and
// labels that would touch the one before are left out.
func TestGivenTicks(t *testing.T) {
	x := axis{log: true, min: 4, max: 100, marks: []float64{1, 4, 9, 20, 25, 26, 100, 1000}}
	var p plot.Axis
	x.fitAcross(&p, 500)
	ticks := p.Tick.Marker.Ticks(p.Min, p.Max)
	if got := labels(ticks); got != "4 9 20 25 100" || len(ticks) != 6 {
		t.Errorf("the labels of %d marks are %q", len(ticks), got)
	}
	x.fitAcross(&p, 120)
	if got := labels(p.Tick.Marker.Ticks(p.Min, p.Max)); got != "4 9 20 100" {
		t.Errorf("on a narrow axis the labels are %q", got)
	}
	text := svgOf(t, Curves{LogX: true, XTicks: []float64{30, 7}, Series: []Series{{X: []float64{1, 100}, Y: []float64{1, 2}}}})
	if !strings.Contains(text, ">7<") || !strings.Contains(text, ">30<") || strings.Contains(text, ">10<") {
		t.Error("the figure marks other values")
	}
}

func TestThin(t *testing.T) {
	const n = 1_000_000
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = math.Log(float64(i + 1))
	}
	y[n/3], y[n/2] = 5, -5 // peaks of one point each
	kept := Thin(x, y)
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
	for i := range x { // back and forth
		x[i] = float64(i % 2)
	}
	if kept := Thin(x, y); len(kept) > thinColumns*pointsPerColumn {
		t.Errorf("%d points of a zigzag are left", len(kept))
	}
	if kept := Thin(make([]float64, n), y); len(kept) > pointsPerColumn {
		t.Errorf("%d points above one place are left", len(kept))
	}
}

// labels joins the labels of ticks.
func labels(ticks []plot.Tick) string {
	var all []string
	for _, tick := range ticks {
		if tick.Label != "" {
			all = append(all, tick.Label)
		}
	}
	return strings.Join(all, " ")
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		ticker    plot.Ticker
		low, high float64
		want      string
	}{
		{linearTicks{count: 5}, 0, 10, "0 2 4 6 8 10"},
		{linearTicks{count: 5}, -0.31, 0.29, "-0.2 0 0.2"},
		{linearTicks{count: 4}, 0.9, 4.1, "1 2 3 4"},
		{linearTicks{count: 8}, 0.9, 4.1, "1.0 1.5 2.0 2.5 3.0 3.5 4.0"},
		{linearTicks{count: 8, whole: true}, 0.9, 4.1, "1 2 3 4"},
		{linearTicks{count: 4}, 0, 0.004, "0 0.001 0.002 0.003 0.004"},
		{linearTicks{count: 4}, 0, 2e7, "0 5e6 1e7 1.5e7 2e7"},
		{linearTicks{count: 4}, 0, 4e-6, "0 1e-6 2e-6 3e-6 4e-6"},
		{logTicks{count: 8}, 1e-6, 100, "1e-6 1e-4 1e-2 1e0 1e2"},
		{logTicks{count: 9}, 1e-6, 100, "1e-6 1e-5 1e-4 1e-3 1e-2 1e-1 1e0 1e1 1e2"},
		{logTicks{count: 6}, 0.5, 20, "1 10"},
		{logTicks{count: 6}, 0.4, 6, "0.5 1 2 5"},
		{logTicks{count: 6}, 0.0031, 0.0034, "0.0031 0.0032 0.0033 0.0034"},
		{logTicks{count: 9}, 9e-4, 1.1e5, "0.001 0.01 0.1 1 10 100 1000 10000 100000"},
		{logTicks{count: 6}, 2e-9, 3e-9, "2e-9 2.2e-9 2.4e-9 2.6e-9 2.8e-9 3e-9"},
		{logTicks{count: 9}, 1e-2, 1e251, "1e0 1e30 1e60 1e90 1e120 1e150 1e180 1e210 1e240"},
		{linearTicks{count: 5}, 0, 2.1e6, "0 5e5 1e6 1.5e6 2e6"},
		{linearTicks{count: 3}, 1 - 1.1e-5, 1 + 1.1e-5, "0.99999 1.00000 1.00001"},
	} {
		if got := labels(c.ticker.Ticks(c.low, c.high)); got != c.want {
			t.Errorf("%#v from %g to %g: %s, want %s", c.ticker, c.low, c.high, got, c.want)
		}
	}
}

func TestTicksLieInRange(t *testing.T) {
	for _, ticker := range []plot.Ticker{linearTicks{count: 6}, logTicks{count: 6}} {
		for low := -290.0; low < 260; low += 7.3 {
			for _, spread := range []float64{1e-6, 0.1, 1, 3.3, 30} {
				from, to := math.Pow(10, low), math.Pow(10, low+spread)
				ticks := ticker.Ticks(from, to)
				if n := len(strings.Fields(labels(ticks))); n < 2 || n > 14 {
					t.Errorf("%T from %g to %g: labels %s", ticker, from, to, labels(ticks))
				}
				for _, tick := range ticks {
					if tick.Value < from*(1-1e-6) || tick.Value > to*(1+1e-6) {
						t.Errorf("%T from %g to %g: a tick at %g", ticker, from, to, tick.Value)
					}
				}
			}
		}
	}
}

// TestElement: a figure in a page has the page's colours and no others, no paper, and none of a text's markup.
func TestElement(t *testing.T) {
	f := convergence()
	f.Columns = []Column{{From: 0, To: 10, Height: 1, Label: "12k"}}
	text, err := f.Element()
	if err != nil || !strings.HasPrefix(text, "<svg ") {
		t.Fatalf("%v: %.80s", err, text)
	}
	for _, want := range []string{"var(--text)", "var(--quiet)", "var(--axis)", "fill:var(--grid)", "stroke:var(--one)", "stroke:var(--three)", ">12k<", "Distance &lt;to&gt;"} {
		if !strings.Contains(text, want) {
			t.Errorf("the figure lacks %q", want)
		}
	}
	if other := regexp.MustCompile("#[0-9A-Fa-f]{6}").FindString(text); other != "" {
		t.Errorf("the colour %s is not the page's", other)
	}
}

func TestBlend(t *testing.T) {
	stops := viridisStops
	if blend(stops, 0) != stops[0] || blend(stops, 1) != stops[len(stops)-1] || blend(stops, 2) != stops[len(stops)-1] {
		t.Error("the ends are wrong")
	}
	for i := 1; i <= 100; i++ {
		if oklab(blend(stops, float64(i)/100))[0] <= oklab(blend(stops, float64(i-1)/100))[0] {
			t.Errorf("the lightness falls at %d %%", i)
		}
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

// noisy is one curve of n points that falls under strong noise, as the running
// objective of learning by blocks may.
func noisy(n int) Curves {
	random := rand.New(rand.NewPCG(1, 2))
	series := Series{Name: "objective"}
	for i := range n {
		series.X = append(series.X, float64(i))
		series.Y = append(series.Y, 100*math.Exp(-float64(i)/2000)+20*random.NormFloat64())
	}
	return Curves{Title: "Objective", XLabel: "iteration", YLabel: "L", Series: []Series{series}}
}

// strokes are the paths that drawing f strokes.
func strokes(t *testing.T, f Curves) []vg.Path {
	t.Helper()
	d := oracle.Must(f.drawing())(t)
	var canvas recorder.Canvas
	d.paint(draw.NewCanvas(&canvas, d.width, d.height))
	var paths []vg.Path
	for _, action := range canvas.Actions {
		if stroke, ok := action.(*recorder.Stroke); ok {
			paths = append(paths, stroke.Path)
		}
	}
	return paths
}

func TestLongCurvesAreStrokedInPieces(t *testing.T) {
	const most = 70 // points of one stroke
	long := 0
	for _, path := range strokes(t, noisy(20_000)) {
		if len(path) > most {
			t.Fatalf("a stroke of %d points: the rasteriser would take seconds", len(path))
		}
		if len(path) == pieceSegments+2 {
			long++
		}
	}
	if long < 20 {
		t.Errorf("only %d pieces of a long curve", long)
	}
}

// zigzag is n points up and down in steps of unequal length.
func zigzag(n int) []vg.Point {
	line := make([]vg.Point, n)
	for i := range line {
		line[i] = vg.Point{X: 10 + 0.7*vg.Length(i), Y: 30 + 15*vg.Length(i%2) + 7*vg.Length(math.Sin(float64(i)))}
	}
	return line
}

// inkAt is the darkness of the image pixel by pixel.
func inkAt(t *testing.T, paint func(c draw.Canvas)) []uint8 {
	t.Helper()
	canvas := vgimg.NewWith(vgimg.UseWH(150, 60), vgimg.UseDPI(pngResolution))
	paint(draw.New(canvas))
	img, ok := canvas.Image().(*image.RGBA)
	if !ok {
		t.Fatalf("the canvas is a %T", canvas.Image())
	}
	ink := make([]uint8, len(img.Pix)/4)
	for i := range ink {
		ink[i] = 0xff - img.Pix[4*i]
	}
	return ink
}

func TestPiecesLookLikeOneStroke(t *testing.T) {
	line := zigzag(180)
	for name, dashes := range map[string][]vg.Length{"solid": nil, "dashed": dashPatterns[3]} {
		style := draw.LineStyle{Color: inkText, Width: curveWidth, Dashes: dashes}
		pieces := inkAt(t, func(c draw.Canvas) { strokeLine(c, style, line) })
		whole := inkAt(t, func(c draw.Canvas) { c.StrokeLines(style, line) })
		differ := 0
		for i := range pieces {
			if d := int(pieces[i]) - int(whole[i]); d > 80 || d < -80 {
				differ++
			}
		}
		// The segments between two pieces are drawn twice, and so somewhat darker
		// at their soft edges.
		if differ > len(pieces)/1000 {
			t.Errorf("%s: %d of %d pixels differ", name, differ, len(pieces))
		}
	}
}
