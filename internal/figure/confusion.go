package figure

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"strconv"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// ConfusionMatrix is a figure of what a classifier confuses. Each row is a true
// class and shows, in percent of the row, what was predicted; the shading says
// the same. Beside it stand the recall and the number of samples of each row,
// below it the precision of each column. Rows and columns without samples have no
// percentages. It is readable for 2 to about 21 classes.
type ConfusionMatrix struct {
	Title  string
	Names  []string  // of the classes
	Counts [][]int64 // [truth][predicted], square, none negative
}

// SVG implements Figure. It fails if the counts are no square matrix of the names,
// one is negative, or w fails.
func (f ConfusionMatrix) SVG(w io.Writer) error { return writeSVG(w, f.drawing) }

// PNG implements Figure. It fails as SVG does.
func (f ConfusionMatrix) PNG(w io.Writer) error { return writePNG(w, f.drawing) }

// Measures of a confusion matrix, in points.
const (
	nameRoom    vg.Length = 120 // longest class name; what is longer is cut
	marginGap   vg.Length = 6   // between the matrix and its margins
	marginWidth vg.Length = 62  // of the columns for recall and samples
	nameGap     vg.Length = 6   // between a class name and its row or column
)

// precisionHead stands before the row of precisions.
const precisionHead = "precision"

// columnAngle is the slope of the names above the columns, in radians.
const columnAngle = math.Pi / 4

// cellSizes are the side of a cell and the size of its number, in points, by the
// largest number of classes they are used for.
var cellSizes = []struct {
	classes      int
	side, number vg.Length
}{
	{3, 72, 12},
	{6, 52, 11},
	{10, 44, 10},
	{16, 34, 9},
	{math.MaxInt, 29, 8},
}

// decimalClasses is the largest number of classes whose cells have room for a
// decimal.
const decimalClasses = 10

// confusionSheet is a confusion matrix laid out for painting.
type confusionSheet struct {
	heading  heading
	names    []string
	counts   [][]int64
	rows     []int64 // samples of each true class
	columns  []int64 // samples predicted as each class
	side     vg.Length
	number   vg.Length // size of the numbers
	slanted  bool      // the names above the columns, which are wider than these
	nameSide vg.Length // room for the names left of the rows
	nameTop  vg.Length // room for the names above the columns
}

// drawing checks the counts and settles the size of the figure.
func (f ConfusionMatrix) drawing() (drawing, error) {
	if err := f.check(); err != nil {
		return drawing{}, fmt.Errorf("confusion matrix %q: %w", f.Title, err)
	}
	s := newConfusionSheet(f)
	n := vg.Length(len(f.Names))
	width := 2*pagePadding + max(s.left()+n*s.side+marginGap+2*marginWidth, sans(sizeNote, inkQuiet).width(s.summary()))
	s.heading = newHeading(f.Title, nil, width)
	height := 2*pagePadding + s.heading.height() + s.above() + n*s.side + s.below()
	return drawing{title: f.Title, width: width, height: height, paint: s.paint}, nil
}

// check tells what is wrong with the counts.
func (f ConfusionMatrix) check() error {
	if len(f.Names) == 0 {
		return fmt.Errorf("no classes")
	}
	if len(f.Counts) != len(f.Names) {
		return fmt.Errorf("%d rows of counts for %d classes", len(f.Counts), len(f.Names))
	}
	for i, row := range f.Counts {
		if len(row) != len(f.Names) {
			return fmt.Errorf("counts[%d] has %d columns for %d classes", i, len(row), len(f.Names))
		}
		for j, v := range row {
			if v < 0 {
				return fmt.Errorf("counts[%d][%d] is %d, want at least 0", i, j, v)
			}
		}
	}
	return nil
}

// newConfusionSheet sums up the counts and measures the names.
func newConfusionSheet(f ConfusionMatrix) *confusionSheet {
	n := len(f.Names)
	s := &confusionSheet{counts: f.Counts, rows: make([]int64, n), columns: make([]int64, n)}
	for _, size := range cellSizes {
		if n <= size.classes {
			s.side, s.number = size.side, size.number
			break
		}
	}
	letters := s.nameLetters()
	var longest vg.Length
	for i, row := range f.Counts {
		name := letters.fit(Printable(f.Names[i]), nameRoom)
		s.names = append(s.names, name)
		longest = max(longest, letters.width(name))
		for j, v := range row {
			s.rows[i] += v
			s.columns[j] += v
		}
	}
	s.nameSide = max(longest, sans(s.number, inkQuiet).bold().width(precisionHead))
	s.nameTop = letters.font.Size
	if s.slanted = longest+nameGap > s.side; s.slanted {
		s.nameTop += longest * vg.Length(math.Sin(columnAngle))
	}
	return s
}

// nameLetters is how the class names are set.
func (s *confusionSheet) nameLetters() lettering {
	return sans(min(sizeTick, s.number+1), inkText)
}

// axisLine is the height of the line that says "truth" or "predicted".
const axisLine = sizeLabel * 1.6

// left is the room left of the matrix, above the room over it (with the note
// below the title), below the room under it.
func (s *confusionSheet) left() vg.Length  { return axisLine + s.nameSide + nameGap }
func (s *confusionSheet) above() vg.Length { return 2*axisLine + s.nameTop + nameGap }
func (s *confusionSheet) below() vg.Length { return marginGap + s.side*0.7 }

// paint draws the whole figure.
func (s *confusionSheet) paint(c draw.Canvas) {
	c = s.heading.draw(draw.Crop(c, pagePadding, -pagePadding, pagePadding, -pagePadding))
	sans(sizeNote, inkQuiet).put(c, s.summary(), vg.Point{X: c.Min.X, Y: c.Max.Y - sizeNote}, atLeft)
	corner := vg.Point{X: c.Min.X + s.left(), Y: c.Max.Y - s.above()} // upper left of the matrix
	s.paintNames(c, corner)
	for i := range s.counts {
		for j := range s.counts[i] {
			s.paintCell(c, corner, i, j)
		}
		s.paintRowEnd(c, corner, i)
		s.paintColumnEnd(c, corner, i)
	}
	s.paintFrame(c, corner)
}

// middle is the centre of cell i, j.
func (s *confusionSheet) middle(corner vg.Point, i, j int) vg.Point {
	return vg.Point{X: corner.X + (vg.Length(j)+0.5)*s.side, Y: corner.Y - (vg.Length(i)+0.5)*s.side}
}

// paintNames writes the class names and the words "truth" and "predicted".
func (s *confusionSheet) paintNames(c draw.Canvas, corner vg.Point) {
	letters, words := s.nameLetters(), sans(sizeLabel, inkText).bold()
	half := vg.Length(len(s.names)) * s.side / 2
	for i, name := range s.names {
		row, column := s.middle(corner, i, 0), s.middle(corner, 0, i)
		letters.putCentered(c, name, vg.Point{X: corner.X - nameGap, Y: row.Y}, atRight)
		s.paintColumnName(c, name, vg.Point{X: column.X, Y: corner.Y + nameGap})
	}
	words.put(c, "predicted", vg.Point{X: corner.X + half, Y: corner.Y + nameGap + s.nameTop + axisLine/4}, atCenter)
	words.putTurned(c, "truth", vg.Point{X: c.Min.X + words.capHeight(), Y: corner.Y - half}, atCenter, math.Pi/2)
	heads := sans(min(s.number, sizeTick), inkQuiet).bold()
	for k, head := range []string{"recall", "samples"} {
		heads.put(c, head, vg.Point{X: s.marginX(corner, k), Y: corner.Y + nameGap}, atRight)
	}
}

// paintColumnName writes the name of a column above its foot, the middle of the
// column's upper end.
func (s *confusionSheet) paintColumnName(c draw.Canvas, name string, foot vg.Point) {
	letters := s.nameLetters()
	if !s.slanted {
		letters.put(c, name, foot, atCenter)
		return
	}
	foot.X += letters.capHeight() / 2
	letters.putTurned(c, name, foot, atLeft, columnAngle)
}

// marginX is where the numbers of column k right of the matrix end.
func (s *confusionSheet) marginX(corner vg.Point, k int) vg.Length {
	return corner.X + vg.Length(len(s.names))*s.side + marginGap + vg.Length(k+1)*marginWidth - 2
}

// paintCell shades cell i, j and writes its percentage.
func (s *confusionSheet) paintCell(c draw.Canvas, corner vg.Point, i, j int) {
	middle, half := s.middle(corner, i, j), s.side/2
	part := 0.0
	if s.rows[i] > 0 {
		part = float64(s.counts[i][j]) / float64(s.rows[i])
	}
	shade := blend(shadeStops, part)
	fillRectangle(c, middle.X-half, middle.Y-half, middle.X+half, middle.Y+half, shade)
	if s.rows[i] == 0 {
		return
	}
	var ink color.Color = inkOn(shade)
	if s.counts[i][j] == 0 {
		ink = inkAxis
	}
	letters := sans(s.number, ink)
	if i == j {
		letters = letters.bold()
	}
	letters.putCentered(c, s.percent(s.counts[i][j], s.rows[i]), middle, atCenter)
}

// percent is part of whole as a number of percent, "–" if whole is 0.
func (s *confusionSheet) percent(part, whole int64) string {
	switch {
	case whole == 0:
		return "–"
	case part == 0:
		return "0"
	case part == whole:
		return "100"
	}
	digits := 0
	if len(s.names) <= decimalClasses {
		digits = 1
	}
	return strconv.FormatFloat(100*float64(part)/float64(whole), 'f', digits, 64)
}

// paintRowEnd writes recall and samples of class i.
func (s *confusionSheet) paintRowEnd(c draw.Canvas, corner vg.Point, i int) {
	y := s.middle(corner, i, 0).Y
	recall := s.percent(s.counts[i][i], s.rows[i])
	sans(s.number, inkText).bold().putCentered(c, recall, vg.Point{X: s.marginX(corner, 0), Y: y}, atRight)
	sans(s.number, inkQuiet).putCentered(c, strconv.FormatInt(s.rows[i], 10), vg.Point{X: s.marginX(corner, 1), Y: y},
		atRight)
}

// paintColumnEnd writes the precision of class j.
func (s *confusionSheet) paintColumnEnd(c draw.Canvas, corner vg.Point, j int) {
	letters := sans(s.number, inkText)
	y := corner.Y - vg.Length(len(s.names))*s.side - marginGap - s.side*0.35
	letters.putCentered(c, s.percent(s.counts[j][j], s.columns[j]), vg.Point{X: s.middle(corner, 0, j).X, Y: y}, atCenter)
	if j == 0 {
		sans(s.number, inkQuiet).bold().putCentered(c, precisionHead, vg.Point{X: corner.X - nameGap, Y: y}, atRight)
	}
}

// paintFrame draws thin lines between the cells and around the matrix.
func (s *confusionSheet) paintFrame(c draw.Canvas, corner vg.Point) {
	n := len(s.names)
	long := vg.Length(n) * s.side
	for k := 0; k <= n; k++ {
		line := draw.LineStyle{Color: inkGrid, Width: 0.7}
		if k == 0 || k == n {
			line = draw.LineStyle{Color: inkAxis, Width: 0.8}
		}
		offset := vg.Length(k) * s.side
		c.StrokeLine2(line, corner.X+offset, corner.Y, corner.X+offset, corner.Y-long)
		c.StrokeLine2(line, corner.X, corner.Y-offset, corner.X+long, corner.Y-offset)
	}
}

// summary is the line below the title.
func (s *confusionSheet) summary() string {
	var right, all int64
	var recalls float64
	classes := 0
	for i := range s.counts {
		right += s.counts[i][i]
		all += s.rows[i]
		if s.rows[i] > 0 {
			recalls += float64(s.counts[i][i]) / float64(s.rows[i])
			classes++
		}
	}
	if all == 0 {
		return "no samples"
	}
	return fmt.Sprintf("percent of each row · accuracy %.1f %% · mean recall %.1f %% · %d samples",
		100*float64(right)/float64(all), 100*recalls/float64(classes), all)
}
