package report

import (
	"bytes"
	_ "embed" // for the style and the template of the report
	"errors"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/blockbp/blockbp/internal/option"
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

// Report collects the parts of one HTML page, in order. The page is self-contained: style and images are inside, and
// it has no script. It is for light and dark screens, from telephones on, and for paper. All texts are taken as plain
// text. A part that cannot be made is reported by Write. The zero Report is empty and ready to use.
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
	Headers []reportCell
	Rows    [][]reportCell
	Figures []reportFigure
}

// reportFigure is a figure of several that stand beside each other where there is room.
type reportFigure struct {
	Text  string
	Drawn template.HTML // an SVG element
	Wide  bool
}

// reportCell is one cell of a table.
type reportCell struct {
	Text   string
	Number bool         // aligned on the right
	Much   bool         // of confusions: a large share
	Share  template.CSS // of a percentage: how long a bar is
}

// Date is how pages write a time.
func Date(t time.Time) string { return t.Format("2006-01-02 15:04") }

// Section begins a section. A page of several sections lists them at its top.
func (r *Report) Section(heading string) {
	anchor := "section-" + strconv.Itoa(len(r.contents())+1)
	r.blocks = append(r.blocks, reportBlock{Kind: "section", Text: heading, Anchor: anchor})
}

// Paragraph adds text.
func (r *Report) Paragraph(text string) {
	r.blocks = append(r.blocks, reportBlock{Kind: "paragraph", Text: option.Command(text)})
}

// Callout adds a coloured box with one message.
func (r *Report) Callout(kind CalloutKind, text string) {
	r.blocks = append(r.blocks, reportBlock{Kind: "callout", Class: string(kind), Label: calloutLabels[kind],
		Text: option.Command(text)})
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

// Table adds a table; columns of numbers are aligned on the right, as in Table, and so are those with percentages.
func (r *Report) Table(headers []string, rows [][]string) {
	numeric := Table{Headers: headers, Rows: rows}.numeric()
	for _, row := range rows {
		for j, text := range row {
			numeric[j] = numeric[j] || strings.HasSuffix(text, " %")
		}
	}
	block := reportBlock{Kind: "table", Headers: reportCells(headers, numeric)}
	for _, row := range rows {
		block.Rows = append(block.Rows, reportCells(row, numeric))
	}
	r.blocks = append(r.blocks, block)
}

// reportCells is one row of a table.
func reportCells(texts []string, numeric []bool) []reportCell {
	cells := make([]reportCell, len(texts))
	for j, text := range texts {
		cells[j] = reportCell{Text: text, Number: numeric[j]}
		if number, ok := strings.CutSuffix(text, " %"); ok {
			if share, err := strconv.ParseFloat(number, 64); err == nil && share <= 100 {
				cells[j].Share = shareOf(share)
			}
		}
	}
	return cells
}

// shareOf is a percentage as the style sheet knows it.
func shareOf(percent float64) template.CSS {
	return template.CSS(fmt.Sprintf("--share:%.2f", percent))
}

// Figure adds a figure with a caption, beside the figures just before it; a panel has a line of its own. It is a part
// of the page, and has its colours: its texts are escaped.
func (r *Report) Figure(drawn Figure, caption string) {
	element, err := drawn.Element()
	if err != nil {
		r.err = errors.Join(r.err, fmt.Errorf("figure %q: %w", caption, err))
		return
	}
	if len(r.blocks) == 0 || r.blocks[len(r.blocks)-1].Kind != "figures" {
		r.blocks = append(r.blocks, reportBlock{Kind: "figures"})
	}
	last := &r.blocks[len(r.blocks)-1]
	_, wide := drawn.(Panel)
	last.Figures = append(last.Figures, reportFigure{Text: caption, Drawn: template.HTML(element), Wide: wide})
}

// Confusion adds a table of what is taken for what: counts[truth][predicted] of named classes, in percent of each row.
func (r *Report) Confusion(names []string, counts [][]int64) {
	block := reportBlock{Kind: "confusion"}
	for i, row := range counts {
		total := int64(0)
		for _, n := range row {
			total += n
		}
		block.Headers = append(block.Headers, reportCell{Text: names[i]})
		cells := []reportCell{{Text: names[i]}}
		for _, n := range row {
			cell := reportCell{Text: "–"}
			if total > 0 {
				share := 100 * float64(n) / float64(total)
				cell = reportCell{Text: strconv.FormatFloat(share, 'f', 1, 64), Share: shareOf(share), Much: share >= 60}
			}
			if n == 0 && total > 0 {
				cell.Text = "0"
			}
			cells = append(cells, cell)
		}
		block.Rows = append(block.Rows, cells)
	}
	r.blocks = append(r.blocks, block)
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

// Write writes the page. It fails, and writes nothing, if a part could not be made.
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
