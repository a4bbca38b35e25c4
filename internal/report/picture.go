package report

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"slices"

	xdraw "golang.org/x/image/draw"
)

// PanelRow is one image of a panel: the photograph and what is said of its pixels. Labels and confidences are row by
// row from the top, W·H of them; what is nil is left blank. Each label but −1 has a name and a colour in the panel.
type PanelRow struct {
	Title string
	Photo image.Image // of any size
	// Labels are the truth, and what models say; those of the first row name the columns of all rows.
	Labels     []PixelLabels
	Confidence []float64 // of a prediction, 0 to 1
	W, H       int       // size of labels and confidences, in pixels, as wide to high as the photograph
}

// PixelLabels are what is said of the pixels of an image.
type PixelLabels struct {
	Name   string  // heading of the column
	Labels []int32 // classes, −1 unknown
}

// labels are those of a column, nil where there are none.
func (row *PanelRow) labels(column int) []int32 {
	if column >= len(row.Labels) {
		return nil
	}
	return row.Labels[column].Labels
}

// Panel is a picture of images side by side: above them what the colours mean, then for
// each row the photograph, labels, and the confidence of a prediction. A column that is nil in every row is left out.
type Panel struct {
	Title string
	Rows  []PanelRow
	Names []string // of the classes, which have the colours of ClassPalette, unless all are called #rrggbb
}

// Measures of a panel, in points.
const (
	tileWidth   = 140.0
	tileGap     = 4.0
	tileTitle   = 1.6 * 10.0 // height of the line above a row
	tileHeading = 1.6 * 11.0
	swatchSize  = 11.0 // height of a colour in the legend
)

// mostPixels of an image are as many as a tile shows on a good screen; the usual 320 × 240 images have about as many.
const mostPixels = 280

// panelColumn is one kind of image.
type panelColumn struct {
	heading string
	given   func(row *PanelRow) bool
	// ink is the colour of pixel i of the labels; nil: the photograph.
	ink func(row *PanelRow, i int) color.RGBA
}

// columns are the kinds of images that some row has, from left to right.
func (p *Panel) columns() []panelColumn {
	palette := paletteOf(p.Names)
	all := []panelColumn{{"photograph", func(row *PanelRow) bool { return row.Photo != nil }, nil}}
	for j := 0; len(p.Rows) > 0 && j < len(p.Rows[0].Labels); j++ {
		all = append(all, panelColumn{p.Rows[0].Labels[j].Name, func(row *PanelRow) bool { return row.labels(j) != nil },
			func(row *PanelRow, i int) color.RGBA {
				if label := row.labels(j)[i]; label != unknownLabel {
					return palette[label]
				}
				return unknownColor
			}})
	}
	all = append(all, panelColumn{"confidence: light is 1", func(row *PanelRow) bool { return row.Confidence != nil },
		func(row *PanelRow, i int) color.RGBA {
			light := uint8(40 + 200*min(max(row.Confidence[i], 0), 1))
			return color.RGBA{light, light, light, 0xff}
		}})
	return slices.DeleteFunc(all, func(column panelColumn) bool {
		return !slices.ContainsFunc(p.Rows, func(row PanelRow) bool { return column.given(&row) })
	})
}

// SVG implements Figure.
func (p Panel) SVG(w io.Writer) error { return writeSVG(w, p.draw) }

// Element implements Figure.
func (p Panel) Element() string { return p.draw(true) }

// draw makes the figure, with the letters of a page or grey ones, which are read on light and dark pages.
func (p Panel) draw(page bool) string {
	columns, width := p.columns(), 2*pagePadding-tileGap
	s, text := svg{page: page}, "letters"
	if page {
		text = "text"
	}
	names, colours := p.legend()
	width += float64(len(columns)) * (tileWidth + tileGap)
	h := newHeading(p.Title, names, width)
	height := h.bottom + tileHeading + pagePadding
	for i := range p.Rows {
		height += tileTitle + p.Rows[i].height() + tileGap
	}
	s.begin(p.Title, width, height)
	h.draw(&s, text, func(i int, x, y float64) {
		s.rectangle(hex(colours[i]), x, y-swatchSize/2, x+legendSample, y+swatchSize/2)
	})
	left := func(column int) float64 { return pagePadding + float64(column)*(tileWidth+tileGap) }
	y := h.bottom
	for j, column := range columns {
		s.text(headLetters, text, headLetters.fit(column.heading, tileWidth), left(j)+tileWidth/2, y+headLetters.size,
			atCenter)
	}
	y += tileHeading
	for i := range p.Rows {
		row := &p.Rows[i]
		s.text(tickLetters, text, tickLetters.fit(row.Title, width-2*pagePadding), pagePadding, y+tickLetters.size, atLeft)
		y += tileTitle
		for j, column := range columns {
			if column.given(row) {
				s.tile(&column, row, left(j), y)
			} else {
				s.text(tickLetters, text, "not given", left(j)+tileWidth/2, y+row.height()/2, atCenter)
			}
		}
		y += row.height() + tileGap
	}
	return s.end()
}

// tile draws the image that a column has of a row. Pixels of labels, and of small photographs, are shown as squares.
func (s *svg) tile(column *panelColumn, row *PanelRow, x, y float64) {
	img, rendering := column.image(row), ""
	if column.ink != nil || 4*img.Bounds().Dx() <= mostPixels {
		rendering = ` style="image-rendering:pixelated"`
	}
	var file bytes.Buffer
	_ = fastPNG.Encode(&file, img) // into memory it does not fail
	fmt.Fprintf(s, `<image x="%s" y="%s" width="%s" height="%s" preserveAspectRatio="none"%s `+
		`href="data:image/png;base64,%s"/>`+"\n", append(numbers(x, y, tileWidth, row.height()), rendering,
		base64.StdEncoding.EncodeToString(file.Bytes()))...)
}

// fastPNG writes images with the least compression: more of it would take several
// times as long for about a tenth of the bytes.
var fastPNG = png.Encoder{CompressionLevel: png.BestSpeed}

// image is what the column has of a row, of at most mostPixels from left to right.
func (c *panelColumn) image(row *PanelRow) image.Image {
	w, h := row.W, row.H
	if c.ink == nil {
		w, h = row.Photo.Bounds().Dx(), row.Photo.Bounds().Dy()
	}
	scaled := image.NewRGBA(image.Rect(0, 0, min(w, mostPixels), max(1, h*min(w, mostPixels)/w)))
	box := scaled.Bounds()
	if c.ink == nil {
		xdraw.CatmullRom.Scale(scaled, box, row.Photo, row.Photo.Bounds(), xdraw.Over, nil)
		return scaled
	}
	for y := range box.Dy() {
		for x := range box.Dx() {
			scaled.SetRGBA(x, y, c.ink(row, y*row.H/box.Dy()*row.W+x*row.W/box.Dx()))
		}
	}
	return scaled
}

// height is that of the images of the row in points.
func (row *PanelRow) height() float64 { return tileWidth * float64(row.H) / float64(max(1, row.W)) }

// legend explains the colours: of the classes where labels are shown, and of unknown where it occurs.
func (p *Panel) legend() (names []string, colours []color.RGBA) {
	for _, row := range p.Rows {
		for _, m := range row.Labels {
			if m.Labels != nil && names == nil {
				names, colours = slices.Clone(p.Names), paletteOf(p.Names)
			}
			if slices.Contains(m.Labels, unknownLabel) {
				return append(slices.Clone(p.Names), "unknown"), append(paletteOf(p.Names), unknownColor)
			}
		}
	}
	return names, colours
}

// unknownIndex is the palette entry of unknown labels, as in the Pascal VOC data.
const unknownIndex = 255

// unknownLabel is the label of a pixel whose class is not known.
const unknownLabel = -1

// LabelImage is the w × h image of labels, row by row from the top: label k is palette entry k, and −1, unknown, is
// entry 255, dark grey unless that is a label: as an indexed PNG its pixel values are the labels. There are w·h labels,
// and a colour for each but −1. More colours than entries are an error.
func LabelImage(labels []int32, w, h int, palette []color.RGBA) (*image.Paletted, error) {
	if len(palette) > unknownIndex+1 {
		return nil, fmt.Errorf("%d classes, at most %d can be drawn", len(palette), unknownIndex+1)
	}
	img := image.NewPaletted(image.Rect(0, 0, w, h), labelPalette(palette))
	for i, label := range labels {
		if label == unknownLabel {
			label = unknownIndex
		}
		img.Pix[i] = uint8(label)
	}
	return img, nil
}

// labelPalette is palette filled up to 256 entries with the grey of unknown.
func labelPalette(palette []color.RGBA) color.Palette {
	full := make(color.Palette, unknownIndex+1)
	for k := range full {
		full[k] = unknownColor
		if k < len(palette) {
			full[k] = palette[k]
		}
	}
	return full
}
