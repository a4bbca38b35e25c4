package dataset

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/formats"
	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
)

// voidLabel is the value of unlabelled pixels in label maps saved as pictures.
const voidLabel = 255

// What the numbers of a map are.
const (
	numbersText    = iota // read from a text, negative ones as −1
	numbersIndices        // indices of a palette
	numbersWide           // of an array, or greys of 16 bits
	numbersGreys          // 0xrrggbb, all of which are greys
	numbersColours        // 0xrrggbb
)

// numberMap has a number for each pixel of a picture: labels, of which −1 is unobserved, or superpixels.
type numberMap struct {
	path       string
	form       int // numbersText and others
	rows, cols int
	numbers    []int32 // [rows*cols]
	palette    []int32 // the colours of numbers, 0xrrggbb; nil: of no palette
}

// place sets where the number of node s stands in the file.
func (m *numberMap) place(e *option.Error, s int) *option.Error {
	e.File, e.Place = m.path, fmt.Sprintf("[%d,%d]", s/m.cols, s%m.cols)
	if m.form == numbersText {
		e.Line, e.Place = s/m.cols+1, ""
		e.Problem = fmt.Sprintf("number %d ", s%m.cols+1) + e.Problem
	}
	return e
}

// parseNumbers reads a map as its suffix says: a text, an array or a picture.
func parseNumbers(path string, data []byte, allowed int64) (m *numberMap, list []error) {
	var err error
	switch filepath.Ext(path) {
	case ".txt":
		return parseRegions(path, data)
	case ".npy":
		m, err = parseNumberArray(path, data)
	default:
		m, err = parseNumberPicture(path, data, allowed)
	}
	if err != nil {
		return nil, []error{err}
	}
	return m, nil
}

// parseRegions reads a matrix of integers, one line per row, separated by blanks.
func parseRegions(path string, data []byte) (*numberMap, []error) {
	m, p := &numberMap{path: path, numbers: make([]int32, 0, len(data)/2+1)}, &option.Problems{File: path}
	data = bytes.TrimRight(fileio.Lines(data), " \t\r\n")
	for row := range bytes.Lines(data) {
		m.rows++
		texts := strings.Fields(string(row))
		if m.cols = cmp.Or(m.cols, len(texts)); len(texts) != m.cols || m.cols == 0 {
			p.Add(m.rows, "", "", "there are %d numbers, want %d as on the lines before", len(texts), m.cols)
			continue
		}
		for _, text := range texts {
			label, err := strconv.ParseInt(text, 10, 32)
			if err != nil || label >= mostStates {
				p.Add(m.rows, "", "", "%q is no number of a label or region: want a whole one below %d, negative for unknown",
					option.Short(text), mostStates)
				break
			}
			m.numbers = append(m.numbers, int32(label))
		}
	}
	if m.rows == 0 {
		p.Add(0, "", "", "there are no labels")
	}
	if list := p.Errors(); len(list) > 0 {
		return nil, list
	}
	return m, nil
}

// parseNumberArray reads an array [h, w] of integers.
func parseNumberArray(path string, data []byte) (*numberMap, error) {
	h, raw, err := npy.Open(data)
	if err != nil {
		return nil, arrayError(path, err)
	}
	if len(h.Shape) < 2 || h.Count == 0 || h.Count != h.Shape[0]*h.Shape[1] {
		return nil, option.At(path, 0, "", "of one-hot labels write labels.argmax(-1)",
			"shape is %s, want [h, w], none of them 0", npy.ShapeText(h.Shape))
	}
	values, err := h.Integers(raw)
	if err != nil {
		return nil, arrayError(path, err)
	}
	return &numberMap{path: path, form: numbersWide, rows: h.Shape[0], cols: h.Shape[1], numbers: values.Ints}, nil
}

// parseNumberPicture reads a png with a palette, grey, or in colours: indices of a palette, but for a ramp of greys;
// greys of 16 bits; or colours, 0xrrggbb.
func parseNumberPicture(path string, data []byte, allowed int64) (*numberMap, error) {
	picture, format, err := decodePicture(path, data, allowed)
	if err != nil {
		return nil, err
	}
	if format == "jpeg" {
		return nil, option.At(path, 0, "", softRemedy, "it is a jpg, which changes labels")
	}
	at := picture.Bounds()
	m := &numberMap{path: path, rows: at.Dy(), cols: at.Dx(), numbers: make([]int32, at.Dx()*at.Dy()), form: numbersGreys}
	paletted, _ := picture.(*image.Paletted)
	wide, isWide := picture.(*image.Gray16)
	if isWide {
		m.form = numbersWide
	} else if paletted != nil {
		if colours := numeric.Map(paletted.Palette, numberOf); !isRamp(colours) {
			m.form, m.palette = numbersIndices, colours
		}
	}
	for s := range m.numbers {
		x, y := at.Min.X+s%m.cols, at.Min.Y+s/m.cols
		switch m.form {
		case numbersIndices:
			m.numbers[s] = int32(paletted.ColorIndexAt(x, y))
			continue
		case numbersWide:
			m.numbers[s] = int32(wide.Gray16At(x, y).Y)
			continue
		}
		c := picture.At(x, y)
		if _, _, _, alpha := c.RGBA(); alpha != math.MaxUint16 {
			return nil, m.place(option.At("", 0, "", formats.Look(path).Advise("a transparent picture of labels"),
				"is transparent, which says nothing of a label"), s)
		}
		if m.numbers[s] = numberOf(c); m.numbers[s]%grey != 0 {
			m.form = numbersColours
		}
	}
	return m, nil
}

// isRamp reports whether a palette is that of greys in their order, which programs write where nobody chose colours.
func isRamp(colours []int32) bool {
	for i, c := range colours {
		if c != int32(i)*grey {
			return false
		}
	}
	return true
}

// grey is the darkest grey but black, as 0xrrggbb: all greys are multiples of it.
const grey = 0x010101

// colourNumber is 0xrrggbb, and partsOf takes it apart.
func colourNumber(c [3]uint8) int32 { return int32(c[0])<<16 | int32(c[1])<<8 | int32(c[2]) }
func partsOf(c int32) [3]uint8      { return [3]uint8{uint8(c >> 16), uint8(c >> 8), uint8(c)} }

// numberOf is 0xrrggbb of a colour, whatever its transparency.
func numberOf(c color.Color) int32 {
	x := color.NRGBAModel.Convert(c).(color.NRGBA)
	return colourNumber([3]uint8{x.R, x.G, x.B})
}

// asLabels makes −1 of negative numbers in texts, and greys of wide ones, as other pictures have: sets may have both.
func (m *numberMap) asLabels() error {
	if m.form != numbersWide {
		for s := range m.numbers {
			m.numbers[s] = max(m.numbers[s], -1)
		}
		return nil
	}
	m.form = numbersGreys
	for s, v := range m.numbers {
		if v == math.MaxUint16 {
			v = voidLabel
		}
		if v > math.MaxUint8 {
			return m.place(option.At("", 0, "", "number the classes from 0; numbers of single objects are no labels",
				"is %d, want a label of 0 to 254, or a negative number, 255 or 65535 where none is known", v), s)
		}
		if m.numbers[s] = -1; v >= 0 {
			m.numbers[s] = v * grey
		}
	}
	return nil
}
