package figure

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"io"
	"slices"

	xdraw "golang.org/x/image/draw"
)

// PanelRow is one image of a panel: the photograph and what is said of its
// pixels. Labels and confidences are row by row from the top, W·H of them; what is
// nil is left blank.
type PanelRow struct {
	Title      string
	Photo      image.Image // of any size
	Truth      []int       // classes, −1 unknown
	Prediction []int       // classes, −1 unknown
	Confidence []float64   // of the prediction, 0 to 1; NaN unknown
	// Models are predictions to set side by side; those of the first row name the
	// columns of all rows.
	Models []ModelLabels
	W, H   int // size of labels and confidences, in pixels
}

// ModelLabels are what one of several models says of an image.
type ModelLabels struct {
	Name   string // heading of the column
	Labels []int  // classes, −1 unknown
}

// Panel is a picture of images side by side: for each row the photograph, the
// truth, the prediction and its confidence, or the predictions of several models;
// below them what the colours mean. A column that is nil in every row is left out.
type Panel struct {
	Title     string
	Rows      []PanelRow
	Names     []string     // of the classes
	Palette   []color.RGBA // of the classes; nil: ClassPalette
	TileWidth int          // width of each image, in pixels; 0: 280
}

// defaultTileWidth is wide enough to see a pixel of the usual 320 × 240 images.
const defaultTileWidth = 280

// smallestTile leaves room for the headings.
const smallestTile = 90

// Measures of a panel, in pixels.
const (
	panelPadding  = 16
	tileGap       = 8
	panelTitle    = 22.0 // sizes of text: readable also when a page shrinks the panel
	panelHeading  = 17.0
	panelText     = 16.0
	panelLine     = 25 // height of a line of text
	swatchSide    = 18
	swatchGap     = 6  // between a swatch and its name
	legendColumns = 20 // between two entries of the legend
	barHeight     = 14 // of the colour bar
	hatchWidth    = 3  // of the stripes for unknown
)

// panelColumn is one kind of image.
type panelColumn struct {
	heading string
	given   func(row *PanelRow) bool
	paint   func(s *panelSheet, dst *image.RGBA, tile image.Rectangle, row *PanelRow)
}

// panelColumns are the kinds of images, from left to right.
var panelColumns = []panelColumn{
	{"photograph", func(row *PanelRow) bool { return row.Photo != nil }, (*panelSheet).paintPhoto},
	{"truth", func(row *PanelRow) bool { return row.Truth != nil }, (*panelSheet).paintTruth},
	{"prediction", func(row *PanelRow) bool { return row.Prediction != nil }, (*panelSheet).paintPrediction},
	{confidenceHeading, func(row *PanelRow) bool { return row.Confidence != nil }, (*panelSheet).paintConfidence},
}

// confidenceHeading is the column the colour bar belongs to.
const confidenceHeading = "confidence"

// PNG writes the panel as an image. It fails if there is nothing to draw, a
// length does not fit W and H, a label has no name or a confidence is not within 0
// and 1; the error names the row.
func (p Panel) PNG(w io.Writer) error {
	img, err := p.Image()
	if err != nil {
		return err
	}
	return encodeFast(w, img)
}

// Image draws the panel. It fails as PNG does.
func (p Panel) Image() (*image.RGBA, error) {
	s, err := p.prepare()
	if err != nil {
		return nil, fmt.Errorf("panel %q: %w", p.Title, err)
	}
	dst := image.NewRGBA(image.Rect(0, 0, s.width, s.height))
	draw.Draw(dst, dst.Bounds(), image.NewUniform(inkPaper), image.Point{}, draw.Src)
	s.paint(dst)
	return dst, nil
}

// panelSheet is a panel laid out for painting.
type panelSheet struct {
	panel         Panel
	columns       []panelColumn
	tile          int // width of an image
	heights       []int
	legend        panelLegend
	width, height int
}

// prepare checks the panel and settles its size.
func (p Panel) prepare() (*panelSheet, error) {
	if p.Palette == nil {
		p.Palette = ClassPalette(len(p.Names))
	}
	if len(p.Palette) < len(p.Names) {
		return nil, fmt.Errorf("%d colours for %d classes", len(p.Palette), len(p.Names))
	}
	if p.TileWidth <= 0 {
		p.TileWidth = defaultTileWidth
	}
	s := &panelSheet{panel: p, tile: max(p.TileWidth, smallestTile)}
	for i := range p.Rows {
		if err := p.checkRow(&p.Rows[i]); err != nil {
			return nil, fmt.Errorf("rows[%d] %q: %w", i, p.Rows[i].Title, err)
		}
		s.heights = append(s.heights, p.Rows[i].tileHeight(s.tile))
	}
	if s.chooseColumns(); len(s.columns) == 0 {
		return nil, fmt.Errorf("no image in it")
	}
	s.settleSize()
	return s, nil
}

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
	if row.Confidence == nil {
		return nil
	}
	if len(row.Confidence) != row.W*row.H {
		return fmt.Errorf("%d confidences for %d × %d pixels", len(row.Confidence), row.W, row.H)
	}
	for i, v := range row.Confidence {
		if v < -confidenceSlack || v > 1+confidenceSlack {
			return fmt.Errorf("confidence[%d] is %g, want 0 to 1", i, v)
		}
	}
	return nil
}

// confidenceSlack forgives rounding in confidences that were summed up.
const confidenceSlack = 1e-6

// tileHeight is the height of the images of a row that are width wide.
func (row *PanelRow) tileHeight(width int) int {
	w, h := row.W, row.H
	if w <= 0 || h <= 0 {
		if row.Photo == nil {
			return panelLine
		}
		w, h = row.Photo.Bounds().Dx(), row.Photo.Bounds().Dy()
	}
	return max(1, (width*h+w/2)/max(w, 1))
}

// chooseColumns keeps the columns that some row has an image for.
func (s *panelSheet) chooseColumns() {
	for _, column := range append(slices.Clone(panelColumns), s.panel.modelColumns()...) {
		for i := range s.panel.Rows {
			if column.given(&s.panel.Rows[i]) {
				s.columns = append(s.columns, column)
				break
			}
		}
	}
}

// settleSize lays out the legend and adds up width and height.
func (s *panelSheet) settleSize() {
	s.width = 2*panelPadding + len(s.columns)*(s.tile+tileGap) - tileGap
	s.height = 2*panelPadding + panelLine
	if s.panel.Title != "" {
		s.height += panelLine + tileGap
	}
	for i := range s.panel.Rows {
		s.height += s.heights[i] + tileGap + s.titleHeight(i)
	}
	s.layLegend()
	s.height += s.legend.height()
}

// modelColumns are the columns of the models that are set side by side.
func (p *Panel) modelColumns() (columns []panelColumn) {
	if len(p.Rows) == 0 {
		return nil
	}
	for j, model := range p.Rows[0].Models {
		columns = append(columns, panelColumn{
			heading: model.Name,
			given:   func(row *PanelRow) bool { return j < len(row.Models) && row.Models[j].Labels != nil },
			paint: func(s *panelSheet, dst *image.RGBA, tile image.Rectangle, row *PanelRow) {
				s.paintLabels(dst, tile, row, row.Models[j].Labels)
			},
		})
	}
	return columns
}

// titleHeight is the height of the title of row i.
func (s *panelSheet) titleHeight(i int) int {
	if s.panel.Rows[i].Title == "" {
		return 0
	}
	return panelLine
}

// left is where column j begins.
func (s *panelSheet) left(j int) int { return panelPadding + j*(s.tile+tileGap) }

// paint draws the whole panel.
func (s *panelSheet) paint(dst *image.RGBA) {
	y := panelPadding
	if s.panel.Title != "" {
		title := inscribe(panelTitle, true, inkText)
		title.put(dst, title.fit(Printable(s.panel.Title), s.width-2*panelPadding), panelPadding, y+int(panelTitle))
		y += panelLine + tileGap
	}
	heading := inscribe(panelHeading, true, inkText)
	for j, column := range s.columns {
		heading.putCentered(dst, heading.fit(Printable(column.heading), s.tile), s.left(j)+s.tile/2, y+int(panelHeading))
	}
	y += panelLine
	for i := range s.panel.Rows {
		y = s.paintRow(dst, i, y)
	}
	s.legend.paint(dst, y)
}

// paintRow draws row i from the height y on and returns where the next begins.
func (s *panelSheet) paintRow(dst *image.RGBA, i, y int) int {
	row := &s.panel.Rows[i]
	if row.Title != "" {
		text := inscribe(panelText, false, inkQuiet)
		text.put(dst, text.fit(Printable(row.Title), s.width-2*panelPadding), panelPadding, y+int(panelText)+2)
		y += panelLine
	}
	for j, column := range s.columns {
		tile := image.Rect(s.left(j), y, s.left(j)+s.tile, y+s.heights[i])
		if column.given(row) {
			column.paint(s, dst, tile, row)
			continue
		}
		draw.Draw(dst, tile, image.NewUniform(inkGrid), image.Point{}, draw.Src)
		text := inscribe(panelText, false, inkQuiet)
		text.putCentered(dst, "not given", (tile.Min.X+tile.Max.X)/2, (tile.Min.Y+tile.Max.Y)/2+int(panelText)/3)
	}
	return y + s.heights[i] + tileGap
}

// blockyFactor is the enlargement from which on the pixels of a photograph are
// shown as squares, as those of the labels are.
const blockyFactor = 4

// paintPhoto draws the photograph into tile.
func (s *panelSheet) paintPhoto(dst *image.RGBA, tile image.Rectangle, row *PanelRow) {
	var scaler xdraw.Scaler = xdraw.CatmullRom
	if tile.Dx() >= blockyFactor*row.Photo.Bounds().Dx() {
		scaler = xdraw.NearestNeighbor
	}
	scaler.Scale(dst, tile, row.Photo, row.Photo.Bounds(), xdraw.Over, nil)
}

// paintTruth draws the true classes into tile.
func (s *panelSheet) paintTruth(dst *image.RGBA, tile image.Rectangle, row *PanelRow) {
	s.paintLabels(dst, tile, row, row.Truth)
}

// paintPrediction draws the predicted classes into tile.
func (s *panelSheet) paintPrediction(dst *image.RGBA, tile image.Rectangle, row *PanelRow) {
	s.paintLabels(dst, tile, row, row.Prediction)
}

// paintLabels draws classes into tile.
func (s *panelSheet) paintLabels(dst *image.RGBA, tile image.Rectangle, row *PanelRow, labels []int) {
	row.eachPixel(tile, func(x, y, i int) {
		if labels[i] == unknownLabel {
			dst.SetRGBA(x, y, hatch(x, y))
			return
		}
		dst.SetRGBA(x, y, s.panel.Palette[labels[i]])
	})
}

// paintConfidence draws the confidences into tile.
func (s *panelSheet) paintConfidence(dst *image.RGBA, tile image.Rectangle, row *PanelRow) {
	row.eachPixel(tile, func(x, y, i int) {
		if v := row.Confidence[i]; v == v {
			dst.SetRGBA(x, y, blend(viridisStops, v))
			return
		}
		dst.SetRGBA(x, y, hatch(x, y))
	})
}

// eachPixel visits the pixels of tile with the index i of the label under each.
func (row *PanelRow) eachPixel(tile image.Rectangle, visit func(x, y, i int)) {
	for y := tile.Min.Y; y < tile.Max.Y; y++ {
		source := (y - tile.Min.Y) * row.H / tile.Dy() * row.W
		for x := tile.Min.X; x < tile.Max.X; x++ {
			visit(x, y, source+(x-tile.Min.X)*row.W/tile.Dx())
		}
	}
}

// hatch is the colour of an unknown pixel: slanted stripes of two greys.
func hatch(x, y int) color.RGBA {
	return unknownColors[(x+y)/hatchWidth%2]
}
