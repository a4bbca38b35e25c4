package extract

import (
	"fmt"
	"math"
	"slices"
)

// Orders of the axes of a network's arrays.
const (
	NCHW = "nchw" // batch, channels, rows, columns
	NHWC = "nhwc" // batch, rows, columns, channels
)

// Layouts are the orders that an option can name.
var Layouts = []string{NCHW, NHWC}

// geometry is what a network's input says of photographs.
type geometry struct {
	kind          Type
	last          bool // channels are the last axis
	batch         int  // 0: any
	width, height int  // of all photographs; 0: each has its own
}

const colours = 3

// newGeometry reads the shape of an input.
func newGeometry(in Input, o *Options) (g geometry, err error) {
	g.kind = in.Type
	if in.Type != Float && in.Type != Float16 && in.Type != Uint8 {
		return g, fmt.Errorf("its input %s is of %v, want float32, float16 or uint8", in.Name, in.Type)
	}
	dims := in.Dims
	if len(dims) == 0 && o.Layout != "" {
		dims = []int64{-1, -1, -1, -1} // the file does not say
	}
	if len(dims) != 4 {
		return g, fmt.Errorf("its input %s has the shape %s, want photographs: [batch, 3, rows, columns] or [batch, "+
			"rows, columns, 3]", in.Name, shapeText(dims))
	}
	may := func(axis int) bool { return dims[axis] == colours || dims[axis] < 0 }
	sure := func(axis, other int) bool { return dims[axis] == colours && dims[other] != colours }
	switch {
	case !may(1) && !may(3), o.Layout == NCHW && !may(1), o.Layout == NHWC && !may(3):
		return g, fmt.Errorf("its input %s has the shape %s, want 3 channels, for photographs in colour",
			in.Name, shapeText(dims))
	case o.Layout != "":
		g.last = o.Layout == NHWC
	case sure(1, 3), !may(3):
	case sure(3, 1), !may(1):
		g.last = true
	default:
		return g, &OptionError{"layout", fmt.Sprintf("the shape of the input %s, %s, does not tell which axis has the 3 "+
			"channels: name %s or %s", in.Name, shapeText(dims), NCHW, NHWC)}
	}
	rows, columns := dims[2], dims[3]
	if g.last {
		rows, columns = dims[1], dims[2]
	}
	const most = 1 << 15 // as pictures that are read have fewer than 1<<26 pixels
	if dims[0] == 0 || rows == 0 || columns == 0 || max(dims[0], rows, columns) > most {
		return g, fmt.Errorf("its input %s has the shape %s, want sizes of 1 to %d", in.Name, shapeText(dims), most)
	}
	g.batch = int(max(dims[0], 0))
	return g, g.setSize(int(max(rows, 0)), int(max(columns, 0)), o)
}

// setSize takes the size that the input says, 0 for any, and that which is asked for.
func (g *geometry) setSize(rows, columns int, o *Options) error {
	g.width, g.height = o.Width, o.Height
	switch {
	case o.Width == 0 && (rows == 0) != (columns == 0):
		return &OptionError{"size", fmt.Sprintf("the network's input has %d rows and %d columns, 0 for any: name a size",
			rows, columns)}
	case o.Width == 0:
		g.width, g.height = columns, rows
	case rows != 0 && rows != o.Height, columns != 0 && columns != o.Width:
		return &OptionError{"size", fmt.Sprintf("the network's input has %d columns and %d rows, 0 for any, not %dx%d",
			columns, rows, o.Width, o.Height)}
	}
	return nil
}

// shapeText writes the shape of an input as NumPy would; ? is any size.
func shapeText(dims []int64) string {
	text := "["
	for i, n := range dims {
		if i > 0 {
			text += ", "
		}
		if n < 0 {
			text += "?"
		} else {
			text += fmt.Sprint(n)
		}
	}
	return text + "]"
}

// size is a number of columns and rows.
type size struct{ width, height int }

// frame is where a photograph lies: in the upper left corner of what the network is
// given, and of its map.
type frame struct {
	outer  size // of what the network is given
	inner  size // of the photograph in it
	mapped size // of the photograph in the map; 0: all of it
}

// frameOf returns that of a photograph of some size. Where all are of one size in the
// network, the photograph keeps its shape, and fills whole cells of the map: then the
// map's part is the photograph, to the edge.
func (g *geometry) frameOf(photo, cells size) frame {
	if g.width == 0 {
		return frame{outer: photo, inner: photo}
	}
	f := frame{outer: size{g.width, g.height}}
	scale := min(float64(g.width)/float64(photo.width), float64(g.height)/float64(photo.height))
	fit := func(pixels, outer, cells int) (mapped, inner int) {
		perCell := float64(outer) / float64(cells)
		mapped = max(1, min(cells, int(math.Round(float64(pixels)*scale/perCell))))
		return mapped, max(1, min(outer, int(math.Round(float64(mapped)*perCell))))
	}
	f.mapped.width, f.inner.width = fit(photo.width, g.width, cells.width)
	f.mapped.height, f.inner.height = fit(photo.height, g.height, cells.height)
	return f
}

// dims is the shape of a batch.
func (g *geometry) dims(batch int, s size) []int64 {
	if g.last {
		return []int64{int64(batch), int64(s.height), int64(s.width), colours}
	}
	return []int64{int64(batch), colours, int64(s.height), int64(s.width)}
}

// mapShape is the shape of a layer.
type mapShape struct {
	cells size
	depth int
	last  bool // features are the last axis
}

// fits reports whether a map of some cells can be of a picture: some scale makes both
// sizes right but for one cell, by which networks round.
func fits(cells, of size) bool {
	w, h := float64(of.width), float64(of.height)
	least := max(float64(cells.width-1)/w, float64(cells.height-1)/h)
	most := min(float64(cells.width+1)/w, float64(cells.height+1)/h)
	return least <= most
}

// unsuitedError says why a layer makes no features.
type unsuitedError struct{ problem string }

func (e *unsuitedError) Error() string { return e.problem }

func unsuitedf(format string, arguments ...any) error {
	return &unsuitedError{fmt.Sprintf(format, arguments...)}
}

// shapeOf reads the shape of a layer, given that of the input.
func (g *geometry) shapeOf(out Tensor, batch int, outer size, o *Options) (m mapShape, err error) {
	dims := out.Dims
	if out.Type != Float && out.Type != Float16 && out.Type != Double {
		return m, unsuitedf("it has numbers of %v, want float32, float16 or float64: features, not labels", out.Type)
	}
	if len(dims) != 4 || dims[0] != int64(batch) || slices.Min(dims) < 1 {
		return m, unsuitedf("for %s of photographs it has the shape %s, want a map of features, [%d, features, rows, "+
			"columns] or [%d, rows, columns, features]",
			shapeText(g.dims(batch, outer)), shapeText(dims), batch, batch)
	}
	first := mapShape{size{int(dims[3]), int(dims[2])}, int(dims[1]), false}
	last := mapShape{size{int(dims[2]), int(dims[1])}, int(dims[3]), true}
	firstFits, lastFits := fits(first.cells, outer), fits(last.cells, outer)
	switch {
	case o.LayerLayout == NCHW && firstFits, o.LayerLayout == "" && firstFits && !lastFits:
		return first, nil
	case o.LayerLayout == NHWC && lastFits, o.LayerLayout == "" && lastFits && !firstFits:
		return last, nil
	case firstFits && lastFits && !g.last:
		return first, nil // steps of ONNX have channels first, unless the network was made with channels last
	case firstFits && lastFits:
		return m, &OptionError{"layer-layout", fmt.Sprintf("the shape %s of the layer does not tell which axis has the "+
			"features: name %s or %s", shapeText(dims), NCHW, NHWC)}
	}
	return m, unsuitedf("for %s of photographs it has the shape %s, in which no two axes have the shape of a photograph",
		shapeText(g.dims(batch, outer)), shapeText(dims))
}
