package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/blockbp/blockbp/internal/printable"
)

// Table is a table of texts. Columns of numbers are aligned on the right. Rows
// may be shorter than the headers, or longer.
type Table struct {
	Headers []string
	Rows    [][]string
}

// Add adds a row with a cell for each value, by the formats, which blanks separate. NaN is a dash.
func (t *Table) Add(formats string, values ...any) {
	var row []string
	for i, format := range strings.Fields(formats) {
		cell := fmt.Sprintf(format, values[i])
		if cell == "NaN" {
			cell = "–"
		}
		row = append(row, cell)
	}
	t.Rows = append(t.Rows, row)
}

// columnGap separates the columns of a table in a terminal.
const columnGap = "  "

// Text is the table for a terminal: aligned columns, a line below the headers, no
// colours, no line end after the last row.
func (t Table) Text() string {
	numeric := t.numeric()
	widths, rows := make([]int, len(numeric)), make([][]string, 0, 1+len(t.Rows))
	for _, row := range append([][]string{t.Headers}, t.Rows...) {
		cells := make([]string, len(numeric)) // no row is short
		for j, text := range row {
			cells[j] = printable.Line(strings.TrimSpace(text))
			widths[j] = max(widths[j], uniseg.StringWidth(cells[j]))
		}
		rows = append(rows, cells)
	}
	var lines []string
	for i, row := range rows {
		rule := make([]string, len(row))
		for j, text := range row {
			blanks := strings.Repeat(" ", widths[j]-uniseg.StringWidth(text))
			if row[j] = text + blanks; numeric[j] {
				row[j] = blanks + text
			}
			rule[j] = strings.Repeat("─", widths[j])
		}
		lines = append(lines, strings.TrimRight(strings.Join(row, columnGap), " "))
		if i == 0 {
			lines = append(lines, strings.Join(rule, columnGap))
		}
	}
	return strings.Join(lines, "\n")
}

// numeric tells which columns hold numbers: those with a number in some row and
// nothing else but blanks and dashes in the others.
func (t Table) numeric() []bool {
	width := len(t.Headers)
	for _, row := range t.Rows {
		width = max(width, len(row))
	}
	numeric, texts := make([]bool, width), make([]bool, width)
	for _, row := range t.Rows {
		for j, cell := range row {
			cell = strings.TrimSpace(cell)
			number := numberPattern.MatchString(cell)
			numeric[j] = numeric[j] || number
			texts[j] = texts[j] || !number && cell != "" && !slices.Contains(blanks, strings.ToLower(cell))
		}
	}
	for j, text := range texts {
		numeric[j] = numeric[j] && !text
	}
	return numeric
}

// numberPattern is a number with an optional sign, thousands, power, spread and
// short unit: 12, −3.5e-4, 1,234, 0.81 ± 0.02, 97.5 %, 12.3 ms, ≤ 5, 2.1×.
var numberPattern = regexp.MustCompile(
	`^[<>≤≥~≈]?\s?[+\-−]?(\d[\d,\x{00a0}\x{202f} ]*(\.\d+)?|\.\d+)([eE][+\-]?\d+)?` +
		`(\s?±\s?[\d.]+([eE][+\-]?\d+)?)?\s?(%|×|[a-zA-Zµ/]{1,5})?$`)

// blanks stand for values that are not there.
var blanks = strings.Fields("- – — n/a nan inf +inf -inf unknown")
