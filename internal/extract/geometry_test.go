package extract

import (
	"strings"
	"testing"
)

// TestGeometry: what shapes of inputs say, and what is said of those that do not.
func TestGeometry(t *testing.T) {
	for _, test := range []struct {
		dims []int64
		o    Options
		want geometry
		err  string
	}{
		{dims: []int64{-1, 3, -1, -1}, want: geometry{kind: Float}},
		{dims: []int64{4, 3, 48, 64}, want: geometry{kind: Float, batch: 4, width: 64, height: 48}},
		{dims: []int64{1, 48, 64, 3}, want: geometry{kind: Float, batch: 1, width: 64, height: 48, last: true}},
		{dims: []int64{-1, -1, -1, 3}, o: Options{Width: 5, Height: 6}, want: geometry{kind: Float, width: 5, height: 6, last: true}},
		{o: Options{Layout: NHWC}, want: geometry{kind: Float, last: true}},
		{dims: []int64{1, 3, 7, 3}, err: "{layout}: "},
		{dims: []int64{-1, -1, -1, -1}, err: "{layout}: "},
		{dims: []int64{1, 3, 7, 3}, o: Options{Layout: NHWC}, want: geometry{kind: Float, batch: 1, width: 7, height: 3, last: true}},
		{dims: []int64{1, 1, 48, 64}, err: "[1, 1, 48, 64], want 3 channels"},
		{dims: []int64{1, 3, 48, 64}, o: Options{Layout: NHWC}, err: "want 3 channels"},
		{dims: []int64{-1, 128}, err: "[?, 128], want photographs"},
		{dims: []int64{1, 3, 48, -1}, err: "{size}: "},
		{dims: []int64{1, 3, 48, 64}, o: Options{Width: 48, Height: 64}, err: "{size}: "},
		{dims: []int64{1, 3, 48, 1 << 40}, err: "want sizes"},
	} {
		got, err := newGeometry(Input{Name: "x", Type: Float, Dims: test.dims}, &test.o)
		switch {
		case test.err == "" && (err != nil || got != test.want):
			t.Errorf("%v: got %+v, %v, want %+v", test.dims, got, err, test.want)
		case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
			t.Errorf("%v: error is %v, want %q", test.dims, err, test.err)
		}
	}
	if _, err := newGeometry(Input{Name: "ids", Type: 7, Dims: []int64{1, 3, 4, 4}}, &Options{}); err == nil || !strings.Contains(err.Error(), "int64") {
		t.Errorf("error is %v", err)
	}
}

// TestFrames: a photograph in a network of one size keeps its shape but for less than
// half a cell, fills one axis, and whole cells of the map.
func TestFrames(t *testing.T) {
	g := geometry{width: 224, height: 224}
	cells := size{28, 28}
	for _, test := range []struct{ photo, inner, mapped size }{
		{size{320, 240}, size{224, 168}, size{28, 21}},
		{size{240, 320}, size{168, 224}, size{21, 28}},
		{size{320, 213}, size{224, 152}, size{28, 19}}, // 149.1 rows are 18.6 cells
		{size{100, 100}, size{224, 224}, size{28, 28}},
		{size{5000, 10}, size{224, 8}, size{28, 1}},
	} {
		f := g.frameOf(test.photo, cells)
		if f.inner != test.inner || f.mapped != test.mapped || f.outer != (size{224, 224}) {
			t.Errorf("%v: got %+v, want %+v", test.photo, f, test)
		}
		if test.photo.width < 1000 && !fits(f.mapped, test.photo) {
			t.Errorf("%v: the map of %v cells is of another shape", test.photo, f.mapped)
		}
	}
}

// TestShapeOf: which axis has the features follows from the photograph's shape, or is
// asked for.
func TestShapeOf(t *testing.T) {
	outer := size{320, 200}
	for _, test := range []struct {
		dims []int64
		last bool // channels of the input
		o    Options
		want mapShape
		err  string
	}{
		{dims: []int64{1, 7, 50, 80}, want: mapShape{size{80, 50}, 7, false}},
		{dims: []int64{1, 50, 80, 7}, want: mapShape{size{80, 50}, 7, true}},
		{dims: []int64{1, 32, 50, 80}, want: mapShape{size{80, 50}, 32, false}}, // 32×50 would do too
		{dims: []int64{1, 32, 50, 80}, last: true, err: "{layer-layout}"},
		{dims: []int64{1, 32, 50, 80}, last: true, o: Options{LayerLayout: NHWC}, want: mapShape{size{50, 32}, 80, true}},
		{dims: []int64{1, 1000}, err: "want a map"},
		{dims: []int64{1, 7, 80, 50}, err: "no two axes"},
		{dims: []int64{2, 7, 50, 80}, err: "want a map"},
	} {
		g := geometry{last: test.last}
		got, err := g.shapeOf(Tensor{Type: Float, Dims: test.dims}, 1, outer, &test.o)
		switch {
		case test.err == "" && (err != nil || got != test.want):
			t.Errorf("%v: got %+v, %v, want %+v", test.dims, got, err, test.want)
		case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
			t.Errorf("%v: error is %v, want %q", test.dims, err, test.err)
		}
	}
	g := geometry{}
	if _, err := g.shapeOf(Tensor{Type: 7, Dims: []int64{1, 7, 50, 80}}, 1, outer, &Options{}); err == nil || !strings.Contains(err.Error(), "int64") {
		t.Errorf("error is %v", err)
	}
}
