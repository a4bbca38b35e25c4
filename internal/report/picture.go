package report

import (
	"fmt"
	"image"
	"image/color"
	idraw "image/draw"
	"image/png"
	"io"
	"math"
	"slices"

	xdraw "golang.org/x/image/draw"
)

// PanelRow is one image of a panel: the photograph and what is said of its pixels. Labels and confidences are row by
// row from the top, W·H of them; what is nil is left blank.
type PanelRow struct {
	Title      string
	Photo      image.Image // of any size
	Truth      []int32     // classes, −1 unknown
	Prediction []int32     // classes, −1 unknown
	Confidence []float64   // of the prediction, 0 to 1; NaN unknown
	// Models are predictions to set side by side; those of the first row name the columns of all rows.
	Models []ModelLabels
	W, H   int // size of labels and confidences, in pixels
}

// ModelLabels are what one of several models says of an image.
type ModelLabels struct {
	Name   string  // heading of the column
	Labels []int32 // classes, −1 unknown
}

// Panel is a picture of images side by side: above them what the colours mean, then for
// each row the photograph, the truth, the prediction and its confidence, or the
// predictions of several models. A column that is nil in every row is left out.
type Panel struct {
	Title string
	Rows  []PanelRow
	Names []string // of the classes, which have the colours of ClassPalette, unless all are called #rrggbb
}

// tileWidth of each image, in pixels, is enough to see a pixel of the usual 320 × 240 images.
const tileWidth = 280

// Measures of a panel, in points.
const (
	tileGap     = 4.0
	tileTitle   = 1.6 * 10.0 // height of the line above a row
	tileHeading = 1.6 * 11.0
	swatchSize  = 11.0 // height of a colour in the legend
)

// panelColumn is one kind of image.
type panelColumn struct {
	heading string
	given   func(row *PanelRow) bool
	// ink is the colour of pixel i of the labels, transparent where it is unknown; nil: the photograph.
	ink func(s *panelSheet, row *PanelRow, i int) color.RGBA
}

// confidenceHeading is the column without classes.
const confidenceHeading = "confidence: light is 1"

// columns are the kinds of images that some row has, from left to right.
func (p *Panel) columns() []panelColumn {
	all := []panelColumn{
		{"photograph", func(row *PanelRow) bool { return row.Photo != nil }, nil},
		ofClasses("truth", func(row *PanelRow) []int32 { return row.Truth }),
		ofClasses("prediction", func(row *PanelRow) []int32 { return row.Prediction }),
		{confidenceHeading, func(row *PanelRow) bool { return row.Confidence != nil }, confidenceInk},
	}
	for j := 0; len(p.Rows) > 0 && j < len(p.Rows[0].Models); j++ {
		all = append(all, ofClasses(p.Rows[0].Models[j].Name, func(row *PanelRow) []int32 {
			if j >= len(row.Models) {
				return nil
			}
			return row.Models[j].Labels
		}))
	}
	return slices.DeleteFunc(all, func(column panelColumn) bool {
		return !slices.ContainsFunc(p.Rows, func(row PanelRow) bool { return column.given(&row) })
	})
}

// ofClasses has labels in the colours of their classes.
func ofClasses(heading string, labels func(row *PanelRow) []int32) panelColumn {
	return panelColumn{heading, func(row *PanelRow) bool { return labels(row) != nil },
		func(s *panelSheet, row *PanelRow, i int) color.RGBA {
			if label := labels(row)[i]; label != unknownLabel {
				return s.palette[label]
			}
			return color.RGBA{}
		}}
}

// confidenceInk is lighter where a prediction is surer.
func confidenceInk(_ *panelSheet, row *PanelRow, i int) color.RGBA {
	if math.IsNaN(row.Confidence[i]) {
		return color.RGBA{}
	}
	light := uint8(40 + 200*min(max(row.Confidence[i], 0), 1))
	return color.RGBA{light, light, light, 0xff}
}

// PNG writes the panel as an image. It fails if there is nothing to draw, a length does not fit W and H, or a label has
// no name; the error names the row.
func (p Panel) PNG(w io.Writer) error {
	img, err := p.Image()
	if err != nil {
		return err
	}
	return fastPNG.Encode(w, img)
}

// fastPNG writes images with the least compression: more of it would take several
// times as long for about a tenth of the bytes.
var fastPNG = png.Encoder{CompressionLevel: png.BestSpeed}

// Image draws the panel. It fails as PNG does.
func (p Panel) Image() (*image.RGBA, error) {
	s, err := p.prepare()
	if err != nil {
		return nil, fmt.Errorf("panel %q: %w", p.Title, err)
	}
	return s.paint(), nil
}

// swatch is a colour and what it means.
type swatch struct {
	name string
	ink  []color.RGBA // more than one: stripes
}

// panelSheet is a panel laid out for painting.
type panelSheet struct {
	panel         Panel
	palette       []color.RGBA // of the classes
	columns       []panelColumn
	legend        []swatch
	heading       heading
	heights       []int // of the images of each row, in pixels
	width, height float64
}

// prepare checks the panel and settles its size.
func (p Panel) prepare() (*panelSheet, error) {
	s := &panelSheet{panel: p, palette: paletteOf(p.Names)}
	for i := range p.Rows {
		if err := p.checkRow(&p.Rows[i]); err != nil {
			return nil, fmt.Errorf("rows[%d] %q: %w", i, p.Rows[i].Title, err)
		}
	}
	if s.columns = p.columns(); len(s.columns) == 0 {
		return nil, fmt.Errorf("no image in it")
	}
	s.width = 2*pagePadding + points(tileWidth)*float64(len(s.columns)) + tileGap*float64(len(s.columns)-1)
	s.legend = s.swatches()
	var names []string
	for _, one := range s.legend {
		names = append(names, one.name)
	}
	s.heading = newHeading(p.Title, names, s.width)
	s.height = s.heading.bottom() + tileHeading + pagePadding
	for i := range p.Rows {
		row := &p.Rows[i]
		s.heights = append(s.heights, row.tileHeight())
		s.height += points(s.heights[i]) + tileGap + row.titleHeight()
	}
	return s, nil
}

// points is the length of so many pixels.
func points(pixels int) float64 { return float64(pixels) / pixelsPerPoint }

// pixels is how many a length in points has.
func pixels(points float64) int { return int(math.Round(pixelsPerPoint * points)) }

// checkRow tells what is wrong with a row.
func (p *Panel) checkRow(row *PanelRow) error {
	for _, m := range append([]ModelLabels{{"truth", row.Truth}, {"prediction", row.Prediction}}, row.Models...) {
		if m.Labels == nil {
			continue
		}
		if err := checkLabels(m.Name, m.Labels, row.W, row.H, len(p.Names)); err != nil {
			return err
		}
	}
	if row.Confidence != nil && len(row.Confidence) != row.W*row.H {
		return fmt.Errorf("%d confidences for %d × %d pixels", len(row.Confidence), row.W, row.H)
	}
	return nil
}

// tileHeight is the height of the images of a row, in pixels.
func (row *PanelRow) tileHeight() int {
	w, h := row.W, row.H
	if (w <= 0 || h <= 0) && row.Photo != nil {
		w, h = row.Photo.Bounds().Dx(), row.Photo.Bounds().Dy()
	}
	return max(1, (tileWidth*h+w/2)/max(w, 1))
}

// titleHeight is the height of the title of the row.
func (row *PanelRow) titleHeight() float64 {
	if row.Title == "" {
		return 0
	}
	return tileTitle
}

// swatches explain the colours: of the classes where classes are shown, and of unknown where it occurs.
func (s *panelSheet) swatches() (all []swatch) {
	classes, unknown := false, false
	for _, column := range s.columns {
		for i := range s.panel.Rows {
			row := &s.panel.Rows[i]
			if column.ink == nil || !column.given(row) {
				continue
			}
			classes = classes || column.heading != confidenceHeading
			for pixel := 0; pixel < row.W*row.H && !unknown; pixel++ {
				unknown = column.ink(s, row, pixel).A == 0
			}
		}
	}
	if classes {
		for k, name := range s.panel.Names {
			all = append(all, swatch{name, s.palette[k : k+1]})
		}
	}
	if unknown {
		all = append(all, swatch{"unknown", slices.Repeat(unknownColors[:], 3)})
	}
	return all
}

// paint draws the whole panel, without a background and in letters that are read on light and dark pages.
func (s *panelSheet) paint() *image.RGBA {
	dst := image.NewRGBA(image.Rect(0, 0, pixels(s.width), pixels(s.height)))
	text := inks["letters"]
	titleLetters.draw(dst, text, s.heading.title, pagePadding, pagePadding+titleLetters.size, atLeft)
	s.heading.place(func(i int, x, y float64) {
		width := legendSample / float64(len(s.legend[i].ink)) // of one of several colours beside each other
		for k, ink := range s.legend[i].ink {
			from, to := x+float64(k)*width, x+float64(k+1)*width
			fill(dst, image.Rect(pixels(from), pixels(y-swatchSize/2), pixels(to), pixels(y+swatchSize/2)), ink)
		}
		legendLetters.draw(dst, text, s.heading.names[i], x+legendSample+legendGap, y+0.36*legendLetters.size, atLeft)
	})
	tile, y := points(tileWidth), s.heading.bottom()
	left := func(column int) float64 { return pagePadding + float64(column)*(tile+tileGap) }
	for j, column := range s.columns {
		headLetters.draw(dst, text, headLetters.fit(column.heading, tile), left(j)+tile/2, y+headLetters.size, atCenter)
	}
	y += tileHeading
	for i := range s.panel.Rows {
		row := &s.panel.Rows[i]
		title := tickLetters.fit(row.Title, s.width-2*pagePadding)
		tickLetters.draw(dst, text, title, pagePadding, y+tickLetters.size, atLeft)
		y += row.titleHeight()
		for j, column := range s.columns {
			box := box(left(j), y, s.heights[i])
			if column.given(row) {
				s.paintTile(dst, box, &column, row)
				continue
			}
			tickLetters.draw(dst, text, "not given", left(j)+tile/2, y+points(s.heights[i])/2, atCenter)
		}
		y += points(s.heights[i]) + tileGap
	}
	return dst
}

func fill(dst *image.RGBA, box image.Rectangle, ink color.RGBA) {
	idraw.Draw(dst, box, image.NewUniform(ink), image.Point{}, idraw.Src)
}

// box is the rectangle, as wide as a tile, whose upper left corner lies at x, y.
func box(x, y float64, height int) image.Rectangle {
	corner := image.Pt(pixels(x), pixels(y))
	return image.Rectangle{Min: corner, Max: corner.Add(image.Pt(tileWidth, height))}
}

// blockyFactor is the enlargement from which on the pixels of a photograph are
// shown as squares, as those of the labels are.
const blockyFactor = 4

// paintTile draws an image of a row into tile.
func (s *panelSheet) paintTile(dst *image.RGBA, tile image.Rectangle, column *panelColumn, row *PanelRow) {
	if column.ink == nil {
		var scaler xdraw.Scaler = xdraw.CatmullRom
		if tile.Dx() >= blockyFactor*row.Photo.Bounds().Dx() {
			scaler = xdraw.NearestNeighbor
		}
		scaler.Scale(dst, tile, row.Photo, row.Photo.Bounds(), xdraw.Over, nil)
		return
	}
	const hatchWidth = 3 // of the stripes for unknown, in pixels
	for y := tile.Min.Y; y < tile.Max.Y; y++ {
		source := (y - tile.Min.Y) * row.H / tile.Dy() * row.W
		for x := tile.Min.X; x < tile.Max.X; x++ {
			ink := column.ink(s, row, source+(x-tile.Min.X)*row.W/tile.Dx())
			if ink.A == 0 {
				ink = unknownColors[(x+y)/hatchWidth%2]
			}
			dst.SetRGBA(x, y, ink)
		}
	}
}

// unknownIndex is the palette entry of unknown labels, as in the Pascal VOC data.
const unknownIndex = 255

// unknownLabel is the label of a pixel whose class is not known.
const unknownLabel = -1

// LabelImage is the w × h image of labels, row by row from the top: label k is palette entry k, and −1, unknown, is
// entry 255, dark grey: as an indexed PNG its pixel values are the labels. The palette may have at most MaxClasses
// colours. It fails if the number of labels is not w·h or a label has no colour.
func LabelImage(labels []int32, w, h int, palette []color.RGBA) (*image.Paletted, error) {
	if err := checkLabels("labels", labels, w, h, len(palette)); err != nil {
		return nil, err
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

// checkLabels tells whether the labels called name are those of a w × h image with this number of classes.
func checkLabels(name string, labels []int32, w, h, classes int) error {
	switch {
	case classes > MaxClasses:
		return fmt.Errorf("%d classes, at most %d can be drawn", classes, MaxClasses)
	case w <= 0 || h <= 0:
		return fmt.Errorf("an image of %d × %d pixels, want at least 1 × 1", w, h)
	case len(labels) != w*h:
		return fmt.Errorf("%d %s for %d × %d pixels", len(labels), name, w, h)
	}
	for i, label := range labels {
		if label < unknownLabel || int(label) >= classes {
			return fmt.Errorf("%s[%d] (row %d, column %d) is %d, want 0 to %d, or −1 for unknown", name, i, i/w, i%w, label,
				classes-1)
		}
	}
	return nil
}

// labelPalette is palette filled up to 256 entries with the grey of unknown.
func labelPalette(palette []color.RGBA) color.Palette {
	full := make(color.Palette, unknownIndex+1)
	for k := range full {
		full[k] = unknownColors[0]
		if k < len(palette) {
			full[k] = palette[k]
		}
	}
	return full
}
