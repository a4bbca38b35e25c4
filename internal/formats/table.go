package formats

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
)

// Roles that the option Columns can give to columns.
const (
	RoleID     = "id"
	RoleLabel  = "label"
	RoleSplit  = "split"
	RoleSource = "source"
	RoleTarget = "target"
	RoleWeight = "weight"
	RoleText   = "text"
	RoleIgnore = "ignore"
)

// Roles are all of them.
var Roles = []string{RoleID, RoleLabel, RoleSplit, RoleSource, RoleTarget, RoleWeight, RoleText, RoleIgnore}

// endNames are names of the two ends of edges.
var endNames = [][2]string{{"source", "target"}, {"from", "to"}, {"src", "dst"}, {"u", "v"}, {"source_id", "target_id"},
	{"node1", "node2"}, {"id1", "id2"}, {"from_id", "to_id"}, {"from_node", "to_node"}}

// ListColumn is what a column of lists of features is called. An empty list has none; "?" is one not known.
const ListColumn = "features"

// Separators are what columns of a table with a header may be separated by.
const Separators = ",;\t|"

// Table is rows of cells as text. Tables with a header, plain ones, which get one, and lists of edges all come in this
// form to what makes nodes, edges and features of them.
type Table struct {
	option.Problems
	Plain  bool // it has no header, and lines that are comments
	Bare   bool // its header is none of the file
	comma  rune
	Header []string       // names of columns
	Places map[string]int // of these; nil until they are asked for
	Roles  map[string]int // the column of each; −1: there is none
	Lines  []int32        // [row] from 1
	Rows   [][]string
}

// plainNodes are the columns of tables of nodes without a header, of which the last two may be left out.
var plainNodes = []string{RoleID, RoleLabel, RoleSplit, ListColumn}

// ReadPlain reads a table of nodes without a header, whose columns are separated by tabs, and gives it one. A label of
// -1 is hidden, as an empty one is in other tables.
func ReadPlain(path string, data []byte) *Table {
	t := &Table{Problems: option.Problems{File: path}, Plain: true, Header: plainNodes, comma: '\t',
		Roles: map[string]int{}}
	if t.Keep(NotText(path, data)); len(t.List) == 0 {
		t.readCells(data)
	}
	for i, cells := range t.Rows {
		if x, err := strconv.Atoi(cells[1]); err != nil {
			t.Add(int(t.Lines[i]), "", "begin the line with # if it is a header", "label is %q, want the number of a state, "+
				"or -1 for none", option.Short(cells[1]))
		} else if x == -1 {
			cells[1] = ""
		}
	}
	return t
}

func (t *Table) addRow(line int, cells []string) {
	t.Lines, t.Rows = append(t.Lines, int32(line)), append(t.Rows, cells)
}

// Pick keeps some rows, in this order; nil: all as they stand.
func (t *Table) Pick(rows []int32) { t.Lines, t.Rows = Take(t.Lines, rows), Take(t.Rows, rows) }

// trimmed takes the blanks around cells away.
func trimmed(cells []string) []string {
	for i, cell := range cells {
		cells[i] = strings.TrimSpace(cell)
	}
	return cells
}

// ReadTable reads a table with a header, as RFC 4180 has it with any of Separators, or a list of edges, which gets
// one, if the file looks like such or is said to be. Rows without any cell are left out, and those with another number
// than the header are problems. Of a table of edges the file of its nodes may be named, for advice.
func ReadTable(path string, data []byte, list bool, nodes ...string) *Table {
	t := ReadRows(path, data, list || IsEdgeList(path))
	if len(t.Rows) > 0 {
		t.Keep(t.TakeHeader(nodes...))
	}
	return t
}

// PutBack makes a row of a header that is none, and names the columns as those of a list of edges.
func (t *Table) PutBack() {
	t.Rows, t.Lines = slices.Insert(t.Rows, 0, t.Header), slices.Insert(t.Lines, 0, 1)
	t.Header, t.Places, t.Bare = slices.Clone(edgeColumns[:min(3, len(t.Header))]), nil, true
	for len(t.Header) < len(t.Rows[0]) {
		t.Header = append(t.Header, fmt.Sprint("column ", len(t.Header)+1))
	}
}

// Square looks at rows with a row and a column for each node, and names above or before: alike says that their numbers
// are the same both ways round, and zeros that there is 0 for each node itself.
func (t *Table) Square(rows [][]string) (alike, zeros bool) {
	n := len(rows[0])
	above, before := max(0, len(rows)-n), max(0, n-len(rows))
	if n == len(rows) && rows[0][0] == "" { // names above and before
		above, before = 1, 1
	}
	alike = n > 2 && max(above, before) < 2 && t.UsualEnds() == NoEnds
	zeros = alike
	for i, row := range rows[above:] {
		for j, cell := range row[before:] {
			if !alike && !zeros {
				return false, false
			}
			x, err := t.Number(cell)
			alike, zeros = alike && err == nil && cell == rows[above+j][before+i], zeros && err == nil && (i != j || x == 0)
		}
	}
	return alike && (zeros || n > 3), zeros && (alike || n > 3) // a list of three edges is seldom both
}

// ReadRows reads the rows of a table, the first of which may be a header, or a list of edges.
func ReadRows(path string, data []byte, list bool) *Table {
	t := &Table{Problems: option.Problems{File: path}, Roles: map[string]int{}}
	if t.Keep(NotText(path, data)); len(t.List) > 0 {
		return t
	}
	data = WithoutTitles(data)
	start, _, _ := bytes.Cut(bytes.TrimLeft(data, "\r\n"), []byte("\n"))
	if t.comma, t.Bare = separatorOf(string(start)), list; list {
		t.readEdgeList(data)
	} else {
		t.readCells(data)
	}
	if len(t.Rows)+len(t.List) == 0 {
		t.Add(0, "", "", "it is empty, want a line with the names of columns, and a line for each row")
	}
	return t
}

var rowLine = regexp.MustCompile(`(?m)^[^#\r\n].*`) // no title

// WithoutTitles leaves the lines above the rows of a table empty that say sep=;, by which Excel knows the separator, or
// begin with #, as some row does not, and have one cell, or neither as many as that row nor, as R's names, one less.
func WithoutTitles(data []byte) []byte {
	_, rest, _ := bytes.Cut(data, []byte("\n"))
	row := quoted.ReplaceAll(rowLine.Find(rest), nil)
	mark := []byte{byte(separatorOf(string(row)))}
	cells := func(line []byte) int {
		if bytes.Contains(row, mark) {
			return bytes.Count(quoted.ReplaceAll(line, nil), mark)
		}
		return len(bytes.Fields(bytes.TrimLeft(line, "#")))
	}
	titles, at, n := []byte(nil), 0, cells(row)
	for line := range bytes.Lines(data) {
		title := line[0] == '#' && len(row) > 0 && cells(line) != n && (cells(line) == 0 || cells(line) != n-1)
		if !title && !bytes.HasPrefix(line, []byte("sep=")) {
			break
		}
		titles, at = append(titles, '\n'), at+len(line)
	}
	if at == 0 {
		return data
	}
	return append(titles, data[at:]...)
}

// readCells reads the rows of a table with separators that have as many cells as the first, and reports the others.
func (t *Table) readCells(data []byte) {
	r, columns := csv.NewReader(bytes.NewReader(data)), len(t.Header)
	r.Comma, r.FieldsPerRecord, r.TrimLeadingSpace = t.comma, -1, t.comma != '\t'
	if t.Plain {
		r.Comment, r.LazyQuotes = '#', true
	}
	cells, err := r.Read()
	for ; err == nil; cells, err = r.Read() {
		line, _ := r.FieldPos(0)
		if trimmed(cells); t.Plain && len(cells) > 1 && len(cells) < columns { // the last two may be left out
			cells = append(cells, "", "")[:columns]
		}
		switch {
		case len(t.Rows) > 0 && !slices.ContainsFunc(cells, func(c string) bool { return c != "" }):
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
		t.Add(at.StartLine, "", Look(t.File).Advise("quotes within cells"), "%v", at.Err)
	} else if err != io.EOF {
		t.Keep(option.OfFile(t.File, err))
	}
}

var minus = strings.NewReplacer("−", "-", "–", "-")

// Number reads a cell as a decimal number, with a decimal comma where semicolons separate cells.
func (t *Table) Number(cell string) (float64, error) {
	if t.comma == ';' && strings.Count(cell, ",") == 1 {
		cell = strings.Replace(cell, ",", ".", 1)
	}
	return numeric.ParseDecimal(minus.Replace(cell)) // as typesetters write it
}

// TakeHeader makes names of columns of the first row.
func (t *Table) TakeHeader(nodes ...string) error {
	line, seen := int(t.Lines[0]), map[string]int{}
	t.Header, t.Rows, t.Lines = t.Rows[0], t.Rows[1:], t.Lines[1:]
	t.Header[0] = strings.TrimSpace(strings.TrimPrefix(t.Header[0], "#"))
	if i := slices.Index(t.Header, pandasIndex); i >= 0 {
		t.Header[i] = ""
	}
	names := slices.DeleteFunc(slices.Clone(t.Header), func(name string) bool { return name == "" })
	if n := len(t.Header); len(names) == 1 && (n > 2 || n == 1 && (strings.Contains(names[0], " ") || len(t.List) > 0)) {
		remedy := "leave titles above the names of columns out, and separate these by commas, semicolons or tabs"
		if len(t.List) == 0 && n == 1 {
			remedy = "separate columns by commas: " + Look(t.File).Advise("blanks between cells")
		}
		t.List, t.More = nil, 0 // other rows have more cells
		return option.At(t.File, line, "", remedy, "the first line has one name, %q", option.Short(names[0]))
	}
	alike, zeros := t.Square(slices.Concat([][]string{t.Header}, t.Rows))
	if len(nodes) > 0 && (alike || zeros && len(t.Header) == 1+len(t.Rows)) {
		return option.At(t.File, line, "", Look(t.File).Advise("a matrix of edges", nodes...), "it is a matrix of edges")
	}
	for i, name := range t.Header {
		if before, twice := seen[name]; twice && name != "" && (len(nodes) == 0 || isNoNumber(name)) { // else an edge
			return option.At(t.File, line, "", "rename one; above a row that is no header put one",
				"columns %d and %d are both called %q", before+1, i+1, option.Short(name))
		}
		seen[name] = i
	}
	return nil
}

// pandasIndex is what pandas calls a column without a name that was the first, as an index that was written.
const pandasIndex = "Unnamed: 0"

var quoted = regexp.MustCompile(`"[^"]*("|$)`)

// separatorOf returns the one of Separators that a line has most of; the first of them where it has none.
func separatorOf(line string) rune {
	outside := quoted.ReplaceAllString(line, "")
	return slices.MaxFunc([]rune(Separators), func(a, b rune) int {
		return strings.Count(outside, string(a)) - strings.Count(outside, string(b))
	})
}

// CheckNames refuses a number where the name of a column is wanted, but not those that count columns.
func (t *Table) CheckNames() error {
	numbers := slices.DeleteFunc(slices.Clone(t.Header), func(name string) bool {
		_, err := t.Number(name)
		return err != nil
	})
	for i := range numbers {
		if first := numbers[0]; first != "0" && first != "1" || numbers[i] != strconv.Itoa(i+int(first[0]-'0')) {
			return option.At(t.File, 1, "", "put a line with the names of the columns first",
				"the header is missing: the first line has %q where the name of a column is wanted", option.Short(first))
		}
	}
	return nil
}

// Column finds a column by its name: as it stands, or else whatever the case of its letters; −1: there is none.
func (t *Table) Column(names ...string) int {
	if t.Places == nil {
		t.Places = map[string]int{}
		for i, name := range t.Header {
			t.Places[name] = i
		}
	}
	for _, name := range names {
		if i, there := t.Places[name]; there && name != "" {
			return i
		}
	}
	return slices.IndexFunc(t.Header, func(other string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return name != "" && strings.EqualFold(name, other) })
	})
}

// MissingCell reports whether a cell says that there is no value: it is empty, ?, or a word of R, pandas or databases.
func MissingCell(cell string) bool {
	return slices.Contains([]string{"", "?", "na", "n/a", "#n/a", "<na>", "nan", "null"}, strings.ToLower(cell))
}

var pointZero = regexp.MustCompile(`^(-?[0-9]+)\.0+$`)

// WholeNumber writes 1.0 as 1: pandas makes floating-point numbers of a column of whole ones in which some are missing.
func WholeNumber(cell string) string { return pointZero.ReplaceAllString(cell, "$1") }

// Key is what an identifier has in common with the same in another form of Unicode, where é is one letter or two.
func Key(name string) string { return norm.NFC.String(name) }

var leadingZeros = regexp.MustCompile(`^0+([0-9]+)$`)

// Bare is what identifiers and labels that are meant alike have in common: no case, leading zeros or kinds of blanks.
func Bare(name string) string {
	words := strings.Join(strings.Fields(Key(name)), " ")
	return strings.ToLower(leadingZeros.ReplaceAllString(WholeNumber(words), "$1"))
}

// Joined reports whether a text consists of several of some texts, with a mark between.
func Joined(text string, texts []string) bool {
	parts := strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(",;|+/", c) })
	return len(parts) > 1 && !slices.ContainsFunc(parts, func(part string) bool {
		return isNumber(strings.Replace(text, ",", ".", 1)) || !slices.Contains(texts, strings.TrimSpace(part))
	})
}

// Nines matches numbers that people and rasters write for what is not known.
var Nines = regexp.MustCompile(`^(-?9+(\.0+)?|-1(\.0+)?|255|-?32768|-?3\.402823\d*e\+38)$`)

// MissingCode is such a number among cells that are different, "" where there is none. Its distance from the others is
// at least that between the smallest and the largest of these, and more than twice the mean one between those of these
// that follow each other. Or it is the only negative number: then that of -1 is more than ten times this mean.
func MissingCode(cells []string) string {
	var x []float64
	if !slices.ContainsFunc(cells, Nines.MatchString) {
		return ""
	}
	for _, cell := range cells {
		if v, err := numeric.ParseDecimal(cell); err == nil {
			x = append(x, v)
		}
	}
	slices.Sort(x)
	n := len(x)
	for _, cell := range cells {
		v, _ := numeric.ParseDecimal(cell)
		far := func(gap, others float64) bool { return gap >= others && gap*float64(n-2) > 2*others }
		if n > 2 && Nines.MatchString(cell) && (v == x[n-1] && far(v-x[n-2], x[n-2]-x[0]) || v == x[0] &&
			(far(x[1]-v, x[n-1]-x[1]) || v < 0 && x[1] >= 0 && (v < -1 || (x[1]-v)*float64(n-2) > 10*(x[n-1]-x[1])))) {
			return cell
		}
	}
	return ""
}

// IsPlain reports whether a table of nodes has no header: it is tsv, and the second of at most four cells a number.
func IsPlain(path string, data []byte) bool {
	for line := range bytes.Lines(data) {
		cells := trimmed(strings.Split(string(line), "\t"))
		if n := len(cells); strings.Join(cells, "") != "" && line[0] != '#' {
			return filepath.Ext(path) == tableExtensions[0] && n > 1 && n <= len(plainNodes) && isNumber(cells[1])
		}
	}
	return false
}

// Take returns the elements of a slice at these places, all as they stand where it is nil.
func Take[T any](list []T, at []int32) []T {
	if at == nil {
		return list
	}
	taken := make([]T, len(at))
	for i, k := range at {
		taken[i] = list[k]
	}
	return taken
}

// Cell is that of a role in a row; "" where no column has it.
func (t *Table) Cell(cells []string, role string) string {
	if i := t.Roles[role]; i >= 0 {
		return cells[i]
	}
	return ""
}

// NoEnds are the ends where there are none.
var NoEnds = [2]int{-1, -1}

// UsualEnds finds two columns with the usual names of ends.
func (t *Table) UsualEnds() [2]int {
	for _, pair := range endNames {
		if ends := [2]int{t.Column(pair[0]), t.Column(pair[1])}; ends[0] >= 0 && ends[1] >= 0 {
			return ends
		}
	}
	return NoEnds
}
