package report

import (
	_ "embed" // for the style and the frame of the report
	"fmt"
	"html"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/printable"
)

// ReportFile is the usual name of a report in a run folder.
const ReportFile = "report.html"

//go:embed report.css
var reportStyle string

//go:embed page.html
var reportFrame string // with places for the title, the style, the heading and what follows it

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
// text. The zero Report is empty and ready to use.
type Report struct {
	Title, Subtitle string

	body     strings.Builder
	headings []string // of the sections
	figures  bool     // the last part is a figure, and the next one may stand beside it
}

// add begins a part on a line of its own, in which texts are escaped.
func (r *Report) add(format string, texts ...string) {
	if r.figures {
		r.figures = false
		r.add("</div>")
	}
	r.body.WriteString("\n")
	r.put(format, texts...)
}

// put writes more of a part. Nothing but its format is taken as HTML.
func (r *Report) put(format string, texts ...string) { r.body.WriteString(filled(format, texts...)) }

// filled is a format with texts that are escaped.
func filled(format string, texts ...string) string {
	escaped := make([]any, len(texts))
	for i, text := range texts {
		escaped[i] = html.EscapeString(text)
	}
	return fmt.Sprintf(format, escaped...)
}

// Date is how pages write a time.
func Date(t time.Time) string { return t.Format("2006-01-02 15:04") }

// Section begins a section. A page of several sections lists them at its top.
func (r *Report) Section(heading string) {
	r.headings = append(r.headings, heading)
	r.add(`<h2 id="section-%s">%s</h2>`, strconv.Itoa(len(r.headings)), heading)
}

// Paragraph adds text.
func (r *Report) Paragraph(text string) { r.add("<p>%s</p>", option.Command(text)) }

// Callout adds a coloured box with one message.
func (r *Report) Callout(kind CalloutKind, text string) {
	r.add(`<div class="callout %s"><b>%s</b>%s</div>`, string(kind), calloutLabels[kind], option.Command(text))
}

// Code adds text to copy as it is, such as a command.
func (r *Report) Code(text string) { r.add("<pre><code>%s</code></pre>", text) }

// Fold hides the parts that follow, up to Unfold, behind a summary that a click opens.
// Folds do not nest, and hold no sections.
func (r *Report) Fold(summary string) { r.add("<details><summary>%s</summary>", summary) }

// Unfold ends a Fold.
func (r *Report) Unfold() { r.add("</details>") }

// Table adds a table; columns of numbers are aligned on the right, as in Table, and so are those with percentages.
func (r *Report) Table(t Table) {
	numeric := t.numeric()
	for _, row := range t.Rows {
		for j, text := range row {
			numeric[j] = numeric[j] || strings.HasSuffix(text, " %")
		}
	}
	r.add(`<div class="scroll"><table>`)
	r.add("<thead><tr>")
	for j, text := range t.Headers {
		class := ""
		if numeric[j] {
			class = ` class="number"`
		}
		r.put(`<th scope="col"`+class+`>%s</th>`, text)
	}
	r.put("</tr></thead>\n<tbody>")
	for _, row := range t.Rows {
		r.add("<tr>")
		for j, text := range row {
			number, percent := strings.CutSuffix(text, " %")
			share, err := strconv.ParseFloat(number, 64)
			switch {
			case percent && err == nil && share <= 100:
				r.put(`<td class="number share" style="%s">%s</td>`, shareOf(share), text)
			case numeric[j]:
				r.put(`<td class="number">%s</td>`, text)
			default:
				r.put("<td>%s</td>", text)
			}
		}
		r.put("</tr>")
	}
	r.add("</tbody></table></div>")
}

// shareOf is a percentage as the style sheet knows it.
func shareOf(percent float64) string { return fmt.Sprintf("--share:%.2f", percent) }

// Figure adds a figure with a caption, beside the figures just before it; a panel has a line of its own. It is a part
// of the page, and has its colours: its texts are escaped.
func (r *Report) Figure(drawn Figure, caption string) {
	if !r.figures {
		r.add(`<div class="figures">`)
		r.figures = true
	}
	class := ""
	if _, wide := drawn.(Panel); wide {
		class = ` class="pictures"`
	}
	if caption != "" {
		caption = filled("<figcaption>%s</figcaption>", caption)
	}
	fmt.Fprintf(&r.body, "\n<figure%s>%s%s</figure>", class, drawn.Element(), caption)
}

// Confusion adds a table of what is taken for what: counts[truth][predicted] of named classes, in percent of each row.
func (r *Report) Confusion(names []string, counts [][]int64) {
	r.add(`<div class="scroll"><table class="confusion">`)
	r.add("<thead><tr><td>truth</td>")
	for i := range counts {
		r.put(`<th scope="col"><span>%s</span></th>`, names[i])
	}
	r.put("</tr></thead>\n<tbody>")
	for i, row := range counts {
		r.add(`<tr><th scope="row">%s</th>`, names[i])
		total := numeric.Sum(row)
		for _, n := range row {
			text, class, style := "–", "", ""
			if total > 0 {
				share := 100 * float64(n) / float64(total)
				text, style = strconv.FormatFloat(share, 'f', 1, 64), shareOf(share)
				if share >= 60 {
					class = ` class="much"`
				}
				if n == 0 {
					text = "0"
				}
			}
			r.put(`<td`+class+` style="%s">%s</td>`, style, text)
		}
		r.put("</tr>")
	}
	r.add("</tbody></table></div>")
}

// Write writes the page.
func (r *Report) Write(w io.Writer) error {
	title, top := html.EscapeString(r.Title), ""
	heading := title
	if r.Subtitle != "" {
		title += filled(" · %s", r.Subtitle)
		top = filled("\n<p class=\"subtitle\">%s</p>", r.Subtitle)
	}
	if len(r.headings) > 1 {
		top += "\n<nav>"
		for i, text := range r.headings {
			top += filled(`<a href="#section-%s">%s</a> `, strconv.Itoa(i+1), text)
		}
		top += "</nav>"
	}
	bottom := ""
	if r.figures {
		bottom = "\n</div>"
	}
	// The page may be shown in a terminal too, and a browser obeys some characters.
	_, err := io.WriteString(w, printable.Text(fmt.Sprintf(reportFrame, title, reportStyle, heading,
		top+r.body.String()+bottom)))
	return err
}
