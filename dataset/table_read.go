package dataset

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/internal/option"
)

// separators are what columns of a table with a header may be separated by.
const separators = ",;\t|"

// table is rows of cells as text. Tables with a header, plain ones, which get one, and lists of edges all come in this
// form to what makes nodes, edges and features of them.
type table struct {
	option.Problems
	plain  bool // it has no header, and lines that are comments
	comma  rune
	header []string       // names of columns
	places map[string]int // of these; nil until they are asked for
	roles  map[string]int // the column of each; −1: there is none
	lines  []int32        // [row] from 1
	rows   [][]string
}

// plainNodes are the columns of tables of nodes without a header, of which the last two may be left out.
var plainNodes = []string{roleID, roleLabel, roleSplit, listColumn}

// readPlain reads a table of nodes without a header, whose columns are separated by tabs, and gives it one. A label of
// -1 is hidden, as an empty one is in other tables.
func readPlain(path string, data []byte) *table {
	t := &table{Problems: option.Problems{File: path}, plain: true, header: plainNodes, comma: '\t', roles: map[string]int{}}
	if t.Keep(notText(path, data)); len(t.List) == 0 {
		t.readCells(data)
	}
	for i, cells := range t.rows {
		if x, err := strconv.Atoi(cells[1]); err != nil {
			t.Add(int(t.lines[i]), "", "begin the line with # if it is a header", "label is %q, want the number of a state, "+
				"or -1 for none", option.Abbreviate(cells[1]))
		} else if x == -1 {
			cells[1] = ""
		}
	}
	return t
}

func (t *table) addRow(line int, cells []string) {
	t.lines, t.rows = append(t.lines, int32(line)), append(t.rows, cells)
}

// pick keeps some rows, in this order; nil: all as they stand.
func (t *table) pick(rows []int32) { t.lines, t.rows = take(t.lines, rows), take(t.rows, rows) }

// trimmed takes the blanks around cells away.
func trimmed(cells []string) []string {
	for i, cell := range cells {
		cells[i] = strings.TrimSpace(cell)
	}
	return cells
}

// readTable reads a table with a header, as RFC 4180 has it with any of separators, or a list of edges, which gets
// one. Rows without any cell are left out, and those with another number than the header are problems. It has no
// header where nothing of it can be read.
func readTable(path string, data []byte, list bool) *table {
	t := readRows(path, data, list)
	if len(t.rows) == 0 {
		return t
	}
	if problem := t.takeHeader(false); problem != nil {
		t.List = []error{problem}
	}
	return t
}

// readRows reads the rows of a table, the first of which may be a header, or a list of edges.
func readRows(path string, data []byte, list bool) *table {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	t := &table{Problems: option.Problems{File: path}, roles: map[string]int{}}
	if t.Keep(notText(path, data)); len(t.List) > 0 {
		return t
	}
	start, _, _ := bytes.Cut(bytes.TrimLeft(data, "\r\n"), []byte("\n"))
	if t.comma = separatorOf(string(start), separators); list {
		t.readEdgeList(data)
	} else {
		t.readCells(data)
	}
	if len(t.rows) == 0 {
		t.Add(0, "", "", "it is empty, want a line with the names of columns, and a line for each row")
	}
	return t
}

// readCells reads the rows of a table with separators that have as many cells as the first, and reports the others.
func (t *table) readCells(data []byte) {
	r, columns := csv.NewReader(bytes.NewReader(data)), len(t.header)
	if r.Comma, r.FieldsPerRecord = t.comma, -1; t.plain {
		r.Comment, r.LazyQuotes = '#', true
	}
	cells, err := r.Read()
	for ; err == nil; cells, err = r.Read() {
		line, _ := r.FieldPos(0)
		if trimmed(cells); t.plain && len(cells) > 1 && len(cells) < columns { // the last two may be left out
			cells = append(cells, "", "")[:columns]
		}
		switch {
		case len(t.rows) > 0 && !slices.ContainsFunc(cells, func(c string) bool { return c != "" }):
		case columns > 0 && len(cells) != columns:
			t.Add(line, "", fmt.Sprintf("%q separates cells, also empty ones: put one that has it within it "+
				"in quotes, and give names of rows, as R writes them, a column", t.comma),
				"the number of cells is %d, the first row has %d", len(cells), columns)
		default:
			columns = len(cells)
			t.addRow(line, cells)
		}
	}
	if at := (*csv.ParseError)(nil); errors.As(err, &at) {
		t.Add(at.StartLine, "", `put a whole cell that has quotes or separators in quotes, and write its quotes twice, ""`,
			"%v", at.Err)
	} else if err != io.EOF {
		t.Keep(option.OfFile(t.File, err))
	}
}

// takeHeader makes names of columns of the first row, which may be any numbers or not.
func (t *table) takeHeader(numbers bool) error {
	line, seen := int(t.lines[0]), map[string]int{}
	t.header, t.rows, t.lines = t.rows[0], t.rows[1:], t.lines[1:]
	t.header[0] = strings.TrimSpace(strings.TrimPrefix(t.header[0], "#"))
	if i := slices.Index(t.header, pandasIndex); i >= 0 {
		t.header[i] = ""
	}
	if len(t.header) == 1 && strings.Contains(t.header[0], " ") {
		return option.At(t.File, line, "", "separate columns by commas, semicolons or tabs",
			"the header %q is one column; blanks separate the words", option.Abbreviate(t.header[0]))
	}
	for i, name := range t.header {
		if before, twice := seen[name]; twice && name != "" {
			return option.At(t.File, line, "", "rename one of them", "columns %d and %d are both called %q", before+1, i+1,
				option.Abbreviate(name))
		}
		seen[name] = i
	}
	if name := t.numberInHeader(); name != "" && !numbers {
		return option.At(t.File, line, "", "put a line with the names of the columns first",
			"the header is missing: the first line has %q where the name of a column is wanted", option.Abbreviate(name))
	}
	return nil
}

// pandasIndex is what pandas calls a column without a name that was the first, as an index that was written.
const pandasIndex = "Unnamed: 0"

// separatorOf returns the one of some separators that a line has most of; the first of them where it has none.
func separatorOf(line, among string) rune {
	outside := strings.Builder{} // of quotes
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 0 {
			outside.WriteString(part)
		}
	}
	best, most := rune(among[0]), 0
	for _, c := range among {
		if n := strings.Count(outside.String(), string(c)); n > most {
			best, most = c, n
		}
	}
	return best
}

// numberInHeader returns a number where a name is wanted. Numbers that count columns from 0 or 1, as pandas writes
// them, are names.
func (t *table) numberInHeader() string {
	numbers := slices.DeleteFunc(slices.Clone(t.header), isNoNumber)
	for i := range numbers {
		if first := numbers[0]; first != "0" && first != "1" || numbers[i] != strconv.Itoa(i+int(first[0]-'0')) {
			return first
		}
	}
	return ""
}

// column finds a column by its name: as it stands, or else whatever the case of its letters; −1: there is none.
func (t *table) column(names ...string) int {
	if t.places == nil {
		t.places = map[string]int{}
		for i, name := range t.header {
			t.places[name] = i
		}
	}
	for _, name := range names {
		if i, there := t.places[name]; there && name != "" {
			return i
		}
	}
	return slices.IndexFunc(t.header, func(other string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return name != "" && strings.EqualFold(name, other) })
	})
}

// missingCell reports whether a cell says that there is no value: it is empty, a question mark, or one of the words
// that R, pandas and databases write.
func missingCell(cell string) bool {
	return slices.Contains([]string{"", "?", "na", "n/a", "#n/a", "<na>", "nan", "null"}, strings.ToLower(cell))
}

// isPlain reports whether a table of nodes has no header: it is tsv, and the second of its first cells, of at most
// four, is a label that is a number.
func isPlain(path string, data []byte) bool {
	for line := range bytes.Lines(data) {
		cells := trimmed(strings.Split(string(line), "\t"))
		if n := len(cells); strings.Join(cells, "") != "" && line[0] != '#' {
			return filepath.Ext(path) == tableExtensions[0] && n > 1 && n <= len(plainNodes) && isNumber(cells[1])
		}
	}
	return false
}

// take returns the elements of a slice at these places, all as they stand where it is nil.
func take[T any](list []T, at []int32) []T {
	if at == nil {
		return list
	}
	taken := make([]T, len(at))
	for i, k := range at {
		taken[i] = list[k]
	}
	return taken
}

// cell is that of a role in a row; "" where no column has it.
func (t *table) cell(cells []string, role string) string {
	if i := t.roles[role]; i >= 0 {
		return cells[i]
	}
	return ""
}

// noEnds are the ends where there are none.
var noEnds = [2]int{-1, -1}

// usualEnds finds two columns with the usual names of ends.
func (t *table) usualEnds() [2]int {
	for _, pair := range endNames {
		if ends := [2]int{t.column(pair[0]), t.column(pair[1])}; ends[0] >= 0 && ends[1] >= 0 {
			return ends
		}
	}
	return noEnds
}

// Roles that Options.Columns can give to columns.
const (
	roleID     = "id"
	roleLabel  = "label"
	roleSplit  = "split"
	roleSource = "source"
	roleTarget = "target"
	roleWeight = "weight"
	roleText   = "text"
	roleIgnore = "ignore"
)

var (
	// endNames are names of the two ends of edges.
	endNames = [][2]string{{"source", "target"}, {"from", "to"}, {"src", "dst"}, {"u", "v"}, {"source_id", "target_id"},
		{"node1", "node2"}, {"id1", "id2"}}
)

// listColumn is what a column of lists of features is called. An empty list has none; "?" stands for one that is not
// known.
const listColumn = "features"
