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
	cells, widths, numeric := t.grid()
	var lines []string
	for i, row := range cells {
		padded := padRow(row, widths, numeric)
		lines = append(lines, strings.TrimRight(strings.Join(padded, columnGap), " "))
		if i == 0 {
			for j, width := range widths {
				padded[j] = strings.Repeat("─", width)
			}
			lines = append(lines, strings.Join(padded, columnGap))
		}
	}
	return strings.Join(lines, "\n")
}

// grid is headers and rows with every cell cleaned and no row short, the widths
// of the columns and which of them hold numbers.
func (t Table) grid() (cells [][]string, widths []int, numeric []bool) {
	numeric = t.numeric()
	widths = make([]int, len(numeric))
	for _, row := range append([][]string{t.Headers}, t.Rows...) {
		full := make([]string, len(numeric))
		for j, text := range row {
			full[j] = printable.Line(strings.TrimSpace(text))
			widths[j] = max(widths[j], uniseg.StringWidth(full[j]))
		}
		cells = append(cells, full)
	}
	return cells, widths, numeric
}

// padRow fills cells with blanks to the widths, numbers on their left.
func padRow(row []string, widths []int, numeric []bool) []string {
	padded := make([]string, len(row))
	for j, text := range row {
		blanks := strings.Repeat(" ", widths[j]-uniseg.StringWidth(text))
		padded[j] = text + blanks
		if numeric[j] {
			padded[j] = blanks + text
		}
	}
	return padded
}

// numeric tells which columns hold numbers: those with a number in some row and
// nothing else but blanks and dashes in the others.
func (t Table) numeric() []bool {
	width := len(t.Headers)
	for _, row := range t.Rows {
		width = max(width, len(row))
	}
	numeric := make([]bool, width)
	for j := range numeric {
		numeric[j] = t.numericColumn(j)
	}
	return numeric
}

// numericColumn tells whether column j holds numbers.
func (t Table) numericColumn(j int) bool {
	found := false
	for _, row := range t.Rows {
		if j >= len(row) {
			continue
		}
		switch cell := strings.TrimSpace(row[j]); {
		case numberPattern.MatchString(cell):
			found = true
		case cell != "" && !slices.Contains(blanks, strings.ToLower(cell)):
			return false
		}
	}
	return found
}

// numberPattern is a number with an optional sign, thousands, power, spread and
// short unit: 12, −3.5e-4, 1,234, 0.81 ± 0.02, 97.5 %, 12.3 ms, ≤ 5, 2.1×.
var numberPattern = regexp.MustCompile(
	`^[<>≤≥~≈]?\s?[+\-−]?(\d[\d,\x{00a0}\x{202f} ]*(\.\d+)?|\.\d+)([eE][+\-]?\d+)?` +
		`(\s?±\s?[\d.]+([eE][+\-]?\d+)?)?\s?(%|×|[a-zA-Zµ/]{1,5})?$`)

// blanks stand for values that are not there.
var blanks = strings.Fields("- – — n/a nan inf +inf -inf unknown")
