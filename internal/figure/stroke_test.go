package figure

import (
	"image"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
	"gonum.org/v1/plot/vg/vgimg"
)

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
	d, err := f.drawing()
	if err != nil {
		t.Fatal(err)
	}
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

func TestPiecesJoin(t *testing.T) {
	for n := range 3*pieceSegments + 3 {
		line := zigzag(n)
		var canvas recorder.Canvas
		strokeLine(draw.NewCanvas(&canvas, 100, 100), draw.LineStyle{Color: inkText, Width: 1}, line)
		next := 0 // segments before it were stroked
		for _, action := range canvas.Actions {
			stroke, ok := action.(*recorder.Stroke)
			if !ok {
				continue
			}
			for k, part := range stroke.Path {
				if part.Pos != line[next+k] {
					t.Fatalf("%d points: place %d of the piece from %d is another one", n, k, next)
				}
			}
			if next+len(stroke.Path) < n && len(stroke.Path) != pieceSegments+2 {
				t.Fatalf("%d points: the piece from %d ends without its corner", n, next)
			}
			next += pieceSegments
		}
		if n > 1 && next < n-1 {
			t.Errorf("%d points: only %d segments were stroked", n, next)
		}
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

func TestDashOffset(t *testing.T) {
	style := draw.LineStyle{Dashes: []vg.Length{3, 2}, DashOffs: 4}
	line := []vg.Point{{X: 1, Y: 1}, {X: 4, Y: 5}, {X: 4, Y: 8}} // 5 and 3 long
	if got := dashOffset(style, line); math.Abs(float64(got)-2) > 1e-12 {
		t.Errorf("12 in a pattern of 5 is at %g, want 2", got)
	}
	if got := dashOffset(draw.LineStyle{DashOffs: 4}, line); got != 0 {
		t.Errorf("a solid line is at %g, want 0", got)
	}
}
