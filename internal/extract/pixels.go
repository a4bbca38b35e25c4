package extract

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/draw"
	_ "image/jpeg" // photographs
	_ "image/png"
	"math"

	xdraw "golang.org/x/image/draw"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/infile"
	"github.com/blockbp/blockbp/internal/npy"
)

// grey fills what no photograph fills, in bytes. In other numbers the mean does, which
// networks take for nothing.
const grey = 128

// pixels decodes a photograph in the size that it has in the network.
func pixels(photo dataset.ImageSource, to size) (*image.RGBA, error) {
	data, err := infile.Read(photo.Path, "a picture", math.MaxInt64)
	if err != nil {
		return nil, err
	}
	picture, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, &dataset.Error{File: photo.Path, Problem: "the picture cannot be read: " + err.Error(),
			Remedy: "save it again as jpg or png", Cause: err}
	}
	if b := picture.Bounds(); b.Dx() != photo.Width || b.Dy() != photo.Height {
		return nil, &dataset.Error{File: photo.Path, Problem: "it has changed while the command ran",
			Remedy: "run the command again"}
	}
	flat := image.NewRGBA(image.Rect(0, 0, to.width, to.height))
	if (size{photo.Width, photo.Height}) == to {
		draw.Draw(flat, flat.Bounds(), picture, picture.Bounds().Min, draw.Src)
	} else {
		// It is bilinear when it enlarges, and takes means when it reduces.
		xdraw.BiLinear.Scale(flat, flat.Bounds(), picture, picture.Bounds(), xdraw.Src, nil)
	}
	return flat, nil
}

// tables return the number of a channel for every byte.
func (o *Options) tables() (tables [colours][256]float32) {
	for c := range tables {
		for v := range tables[c] {
			tables[c][v] = float32((float64(v)/math.MaxUint8 - o.Mean[c]) / o.Deviation[c])
		}
	}
	return tables
}

// fill writes a photograph into its place in a batch.
func (g *geometry) fill(
	batch []byte, at int, outer size, picture *image.RGBA, bgr bool, tables *[colours][256]float32,
) {
	area := outer.width * outer.height
	bytes := g.kind.Size()
	b := picture.Bounds()
	for row := range b.Dy() {
		for column := range b.Dx() {
			pixel := picture.Pix[picture.PixOffset(column, row):]
			for c := range colours {
				from := c
				if bgr {
					from = colours - 1 - c
				}
				place := at*colours*area + c*area + row*outer.width + column
				if g.last {
					place = (at*area+row*outer.width+column)*colours + c
				}
				to := batch[place*bytes:]
				switch x := tables[c][pixel[from]]; g.kind {
				case Float:
					binary.LittleEndian.PutUint32(to, math.Float32bits(x))
				case Float16:
					h, _ := npy.HalfOf(x) // finite, as newOptions checked
					binary.LittleEndian.PutUint16(to, uint16(h))
				default:
					to[0] = pixel[from]
				}
			}
		}
	}
}

// number reads a number of a layer.
func number(kind Type, data []byte, at int) float64 {
	switch kind {
	case Float:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(data[4*at:])))
	case Double:
		return math.Float64frombits(binary.LittleEndian.Uint64(data[8*at:]))
	}
	return float64(npy.Half(binary.LittleEndian.Uint16(data[2*at:])).Float32())
}

// cut returns the map of one photograph of a batch, [rows, columns, features].
func (m *mapShape) cut(out Tensor, at int, part size) ([]float32, error) {
	values := make([]float32, 0, part.width*part.height*m.depth)
	area := m.cells.width * m.cells.height
	for row := range part.height {
		for column := range part.width {
			cell := row*m.cells.width + column
			for f := range m.depth {
				place := (at*m.depth+f)*area + cell
				if m.last {
					place = (at*area+cell)*m.depth + f
				}
				x := float32(number(out.Type, out.Data, place))
				if x != x || math.IsInf(float64(x), 0) {
					return nil, fmt.Errorf("feature %d of row %d, column %d is %v, want a finite number", f, row, column, x)
				}
				values = append(values, x)
			}
		}
	}
	return values, nil
}
