package report

import (
	"bytes"
	_ "embed" // for the style and the template of the report
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"image/png"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/blockbp/blockbp/internal/figure"
	"github.com/blockbp/blockbp/internal/printable"
)

// ReportFile is the usual name of a report in a run folder.
const ReportFile = "report.html"

//go:embed report.css
var reportStyle string

//go:embed report.html.tmpl
var reportText string

// reportTemplate lays out a report.
var reportTemplate = template.Must(template.New(ReportFile).Parse(reportText))

// CalloutKind is the weight of a Callout.
type CalloutKind string

// The kinds of callouts.
const (
	CalloutOK    CalloutKind = "ok"    // all is well
	CalloutWarn  CalloutKind = "warn"  // something to know
	CalloutError CalloutKind = "error" // something went wrong
)

// calloutLabels begin a callout, so that its kind does not rest on colour alone.
var calloutLabels = map[CalloutKind]string{CalloutOK: "✓", CalloutWarn: "Note", CalloutError: "Error"}

// KeyValue is one line of a list of names and values.
type KeyValue struct {
	Key, Value string
}

// Report collects the parts of one HTML page, in order. The page is
// self-contained: style and images are inside, and it has no script. All texts are
// taken as plain text. A part that cannot be made is reported by Write. The zero
// Report is empty and ready to use.
type Report struct {
	Title, Subtitle string

	blocks []reportBlock
	err    error // the first part that failed
}

// reportBlock is one part of a report; which fields count depends on Kind.
type reportBlock struct {
	Kind    string
	Text    string
	Anchor  string // of a section
	Class   string // of a callout
	Label   string // of a callout
	Source  template.URL
	Headers []reportCell
	Rows    [][]reportCell
	Wide    bool // of a table: many columns, set small
}

// wideTable is the number of columns from which a table is set small, and all but its
// numbers broken into lines, so that it fits on a page of paper.
const wideTable = 7

// reportCell is one cell of a table.
type reportCell struct {
	Text   string
	Number bool // aligned on the right
	Long   bool // broken into lines
}

// longCell is the number of characters from which a cell is broken into lines: a
// table of sentences would be wider than any page.
const longCell = 32

// Section begins a section. A page of several sections lists them at its top.
func (r *Report) Section(heading string) {
	anchor := "section-" + strconv.Itoa(len(r.contents())+1)
	r.blocks = append(r.blocks, reportBlock{Kind: "section", Text: heading, Anchor: anchor})
}

// Paragraph adds text.
func (r *Report) Paragraph(text string) {
	r.blocks = append(r.blocks, reportBlock{Kind: "paragraph", Text: text})
}

// Callout adds a coloured box with one message; other kinds than those defined
// here look like CalloutWarn.
func (r *Report) Callout(kind CalloutKind, text string) {
	if calloutLabels[kind] == "" {
		kind = CalloutWarn
	}
	r.blocks = append(r.blocks, reportBlock{Kind: "callout", Class: string(kind), Label: calloutLabels[kind], Text: text})
}

// Code adds text to copy as it is, such as a command.
func (r *Report) Code(text string) {
	r.blocks = append(r.blocks, reportBlock{Kind: "code", Text: text})
}

// Fold hides the parts that follow, up to Unfold, behind a summary that a click opens.
// Folds do not nest, and hold no sections.
func (r *Report) Fold(summary string) {
	r.blocks = append(r.blocks, reportBlock{Kind: "fold", Text: summary})
}

// Unfold ends a Fold.
func (r *Report) Unfold() { r.blocks = append(r.blocks, reportBlock{Kind: "unfold"}) }

// KeyValues adds a list of names and values, in the order given.
func (r *Report) KeyValues(pairs []KeyValue) {
	block := reportBlock{Kind: "pairs"}
	for _, pair := range pairs {
		block.Rows = append(block.Rows, []reportCell{{Text: pair.Key}, {Text: pair.Value}})
	}
	r.blocks = append(r.blocks, block)
}

// Table adds a table; columns of numbers are aligned on the right, as in Table.
func (r *Report) Table(headers []string, rows [][]string) {
	numeric := Table{Headers: headers, Rows: rows}.numeric()
	block := reportBlock{Kind: "table", Headers: reportCells(headers, numeric), Wide: len(headers) >= wideTable}
	for _, row := range rows {
		block.Rows = append(block.Rows, reportCells(row, numeric))
	}
	r.blocks = append(r.blocks, block)
}

// reportCells is one row of a table.
func reportCells(texts []string, numeric []bool) []reportCell {
	cells := make([]reportCell, len(texts))
	for j, text := range texts {
		cells[j] = reportCell{Text: text, Number: numeric[j], Long: utf8.RuneCountInString(text) >= longCell}
	}
	return cells
}

// Figure adds a figure as a vector graphic with a caption.
func (r *Report) Figure(drawn figure.Figure, caption string) {
	var svg bytes.Buffer
	if err := drawn.SVG(&svg); err != nil {
		r.fail(fmt.Errorf("figure %q: %w", caption, err))
		return
	}
	r.addImage("image/svg+xml", svg.Bytes(), caption)
}

// Image adds a PNG image with a caption. It is shown pixel by pixel, or smaller if
// the page is not wide enough.
func (r *Report) Image(image []byte, caption string) {
	if _, err := png.DecodeConfig(bytes.NewReader(image)); err != nil {
		r.fail(fmt.Errorf("image %q: %w", caption, err))
		return
	}
	r.addImage("image/png", image, caption)
}

// addImage adds an image as a data URI. Unlike a vector graphic put straight into
// the page, it can neither clash with another one nor run anything.
func (r *Report) addImage(mediaType string, data []byte, caption string) {
	source := "data:" + mediaType + ";base64," + base64.StdEncoding.EncodeToString(data)
	r.blocks = append(r.blocks, reportBlock{Kind: "figure", Text: caption, Source: template.URL(source)})
}

// fail notes that a part could not be made.
func (r *Report) fail(err error) {
	r.err = errors.Join(r.err, err)
}

// contents are the sections.
func (r *Report) contents() []reportBlock {
	var sections []reportBlock
	for _, block := range r.blocks {
		if block.Kind == "section" {
			sections = append(sections, block)
		}
	}
	return sections
}

// Write writes the page. It fails, and writes nothing, if a part could not be
// made.
func (r *Report) Write(w io.Writer) error {
	if r.err != nil {
		return fmt.Errorf("report %q: %w", r.Title, r.err)
	}
	contents := r.contents()
	if len(contents) < 2 {
		contents = nil
	}
	var page bytes.Buffer
	if err := reportTemplate.Execute(&page, map[string]any{
		"Title":    r.Title,
		"Subtitle": r.Subtitle,
		"Style":    template.CSS(reportStyle),
		"Contents": contents,
		"Blocks":   r.blocks,
	}); err != nil {
		return err
	}
	// The page may be shown in a terminal too, and a browser obeys some characters.
	_, err := io.WriteString(w, printable.Text(page.String()))
	return err
}
