package dataset

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/strictjson"
)

// separators are what columns of a table with a header may be separated by.
const separators = ",;\t"

// separatorNames are what people call them, and what else they find there.
var separatorNames = map[rune]string{',': "commas", ';': "semicolons", '\t': "tabs", '|': "vertical bars",
	' ': "blanks"}

// sheet is a table: names of columns, and a row of cells per line, as RFC 4180 has them, with any of separators.
// A plain one has no header, and its columns no names.
type sheet struct {
	ctx    context.Context
	path   string
	data   []byte // without a byte order mark
	plain  bool
	comma  rune
	header []string
	places map[string]int // of columns by their names as they stand, without those of none
	folded map[string]int // by strictjson.Fold of the names
}

// invalidUTF8 returns where the first line begins that is not text in UTF-8, −1 where all are.
func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	at := 0
	for line := range bytes.Lines(data) {
		if !utf8.Valid(line) {
			return at
		}
		at += len(line)
	}
	return -1 // lines end between characters
}

// newSheet reads the header of a table, which a list of edges gets.
func newSheet(ctx context.Context, path string, data []byte) (*sheet, error) {
	data = edgeTableOf(path, bytes.TrimPrefix(data, []byte("\ufeff")))
	fail := func(line int, remedy, format string, arguments ...any) (*sheet, error) {
		return nil, &Error{File: path, Line: line, Problem: fmt.Sprintf(format, arguments...), Remedy: remedy}
	}
	switch {
	case bytes.HasPrefix(data, []byte("PK\x03\x04")):
		return fail(0, "save the sheet as CSV", "it is a workbook or an archive and not a text")
	case bytes.HasPrefix(data, []byte("PAR1")):
		return fail(0, "write it as CSV, as by pandas.read_parquet(…).to_csv(…, index=False)",
			"it is a Parquet file and not a text")
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")),
		bytes.IndexByte(data, 0) >= 0:
		return fail(0, "save it as CSV in UTF-8", "it is not text in UTF-8")
	}
	s := &sheet{ctx: ctx, path: path, data: data}
	if at := invalidUTF8(data); at >= 0 {
		problem, remedy := notUTF8(path, data)
		return fail(1+bytes.Count(data[:at], []byte("\n")), remedy, "%s", problem)
	}
	first, _, _ := bytes.Cut(bytes.TrimLeft(data, "\r\n"), []byte("\n"))
	line := string(first)
	s.comma = separatorOf(line, separators)
	r := s.reader()
	record, err := r.Read()
	if err == io.EOF {
		return fail(0, "", "it is empty, want a line with the names of columns, and a line for each row")
	}
	if err != nil {
		return nil, s.parseError(err)
	}
	at, _ := r.FieldPos(0)
	for i, name := range record {
		name = strings.TrimSpace(name)
		if i == 0 {
			name = strings.TrimSpace(strings.TrimPrefix(name, "#"))
		}
		s.header = append(s.header, strings.Clone(name))
	}
	if s.hasRowNames() {
		s.header = slices.Insert(s.header, 0, "")
	}
	if other := separatorOf(line, "| "); len(s.header) == 1 && strings.ContainsRune(line, other) {
		return fail(at, "separate columns by commas, semicolons or tabs",
			"the header %q is one column; %s separate the words", abbreviate(line), separatorNames[other])
	}
	if first, second := s.findColumns(); second > 0 {
		return fail(at, "rename one of them", "columns %d and %d are both called %q", first+1, second+1,
			abbreviate(s.header[first]))
	}
	if name := s.numberInHeader(); name != "" {
		return fail(at, "put a line with the names of the columns first",
			"the header is missing: the first line has %q where the name of a column is wanted", abbreviate(name))
	}
	return s, nil
}

// pandasIndex is what pandas calls a column without a name that is the first, as an index that was
// written.
const pandasIndex = "Unnamed: 0"

// hasRowNames reports whether every row has one cell more than the header, as R's write.table
// writes names of rows, which have no column, and all differ. Rows that end with a separator each
// have no names.
func (s *sheet) hasRowNames() bool {
	r, names, filled := s.reader(), map[string]bool{}, false
	for row := 0; ; row++ {
		cells, err := r.Read()
		switch {
		case err != nil:
			return err == io.EOF && row > 1 && filled
		case row == 0:
			continue
		case len(cells) != len(s.header)+1 || names[cells[0]]:
			return false
		}
		names[strings.Clone(cells[0])] = true
		filled = filled || strings.TrimSpace(cells[len(cells)-1]) != ""
	}
}

// separatorOf returns the one of some separators that a line has most of; the first of
// them where it has none.
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

// numberInHeader returns a number where a name is wanted. Numbers that count columns, as
// pandas writes them, are names.
func (s *sheet) numberInHeader() string {
	var numbers []string
	counting := true
	for _, name := range s.header {
		if x, err := numeric.ParseDecimal(name); err == nil {
			first := x
			if len(numbers) > 0 {
				first, _ = numeric.ParseDecimal(numbers[0])
			}
			counting = counting && (first == 0 || first == 1) && x == first+float64(len(numbers)) && name == strconv.Itoa(int(x))
			numbers = append(numbers, name)
		}
	}
	if len(numbers) == 0 || counting {
		return ""
	}
	return numbers[0]
}

func (s *sheet) reader() *csv.Reader {
	r := csv.NewReader(endingReader{s.ctx, bytes.NewReader(s.data)})
	r.Comma, r.FieldsPerRecord, r.ReuseRecord = s.comma, -1, true
	return r
}

// parseError says in the words of this package what is wrong with quotes.
func (s *sheet) parseError(err error) error {
	e := &Error{File: s.path, Problem: err.Error(), Cause: err}
	var at *csv.ParseError
	if !errors.As(err, &at) {
		return e
	}
	e.Line = at.StartLine
	switch {
	case errors.Is(err, csv.ErrQuote):
		e.Problem, e.Remedy = `a cell in quotes does not end in a quote and a separator`,
			`write a quote within such a cell twice, ""`
	case errors.Is(err, csv.ErrBareQuote):
		e.Line, e.Problem, e.Remedy = at.Line, `there is a quote within a cell that does not begin with one`,
			`put the whole cell in quotes, and write the quote twice, ""`
	}
	return e
}

// each goes through the rows below the header that have a cell, with their lines from
// 1. The cells hold until the next row. Rows that do not have as many cells as
// the header are problems, and are left out.
func (s *sheet) each(p *problems, use func(line int, cells []string)) {
	if s.plain {
		s.eachPlain(p, use)
		return
	}
	r := s.reader()
	for first := true; ; first = false {
		cells, err := r.Read()
		if err == io.EOF {
			return
		}
		if err != nil {
			p.keep(s.parseError(err))
			return
		}
		if first {
			continue
		}
		if len(cells) != len(s.header) {
			line, _ := r.FieldPos(0)
			if !blankRow(cells) {
				remedy := "leave the cell empty where there is no value, and put separators around it all the same"
				if len(cells) > len(s.header) {
					remedy = fmt.Sprintf("put a cell that has %s within it in quotes, or take away what is too many",
						separatorNames[s.comma])
				}
				if c := separatorOf(strings.Join(cells, string(s.comma)), separators); c != s.comma {
					remedy = fmt.Sprintf("%s separate those of the header, %s those of this line", separatorNames[s.comma],
						separatorNames[c])
				}
				p.add(line, "", remedy, "the number of cells is %d, the header has %d columns", len(cells), len(s.header))
			}
			continue
		}
		if blankRow(cells) {
			continue
		}
		line, _ := r.FieldPos(0)
		use(line, cells)
	}
}

// plainColumns are those of plain tables of nodes: node, label, split and a list of features.
const plainColumns = 4

func plainSheet(ctx context.Context, path string, data []byte, columns int) *sheet {
	return &sheet{ctx: ctx, path: path, data: data, plain: true, header: make([]string, columns)}
}

// eachPlain is each for a table without a header. Tabs separate the columns of nodes, of which the last two may be
// left out, and any blanks the two of edges.
func (s *sheet) eachPlain(p *problems, use func(line int, cells []string)) {
	for line, text := range tableLines(s.ctx, s.data) {
		cells := strings.Fields(text)
		if len(s.header) == plainColumns {
			cells = strings.Split(text, "\t")
		}
		switch n := len(cells); {
		case len(s.header) != plainColumns && n != len(s.header):
			p.add(line, "", "", "there are %d columns, want 2: the two nodes", n)
		case n < 2 || n > len(s.header):
			p.add(line, "", "", "there are %d columns, want 2 to 4, separated by tabs: node, label, split, features", n)
		default:
			use(line, append(cells, "", "")[:len(s.header)])
		}
	}
}

// tableLines goes through the lines that hold data, with their numbers from 1.
func tableLines(ctx context.Context, data []byte) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		line := 0
		for text := range linesUntil(ctx, string(bytes.TrimPrefix(data, []byte("\ufeff")))) {
			line++
			text = strings.TrimRight(text, "\r\n")
			if strings.TrimSpace(text) == "" || text[0] == '#' {
				continue
			}
			if !yield(line, text) {
				return
			}
		}
	}
}

// identifying returns the columns with a name whose cells all differ, with their cells.
func (s *sheet) identifying() map[string]map[string]bool {
	of := map[string]map[string]bool{}
	for _, name := range s.header {
		if name != "" {
			of[name] = map[string]bool{}
		}
	}
	s.each(&problems{}, func(_ int, cells []string) {
		for i, cell := range cells {
			name, cell := s.header[i], strings.TrimSpace(cell)
			if of[name][cell] || missingCell(cell) {
				delete(of, name)
			} else if of[name] != nil {
				of[name][strings.Clone(cell)] = true
			}
		}
	})
	return of
}

func blankRow(cells []string) bool {
	for _, c := range cells {
		if strings.TrimSpace(c) != "" {
			return false
		}
	}
	return true
}

// findColumns notes the places of all columns that have a name, or returns two of one name.
func (s *sheet) findColumns() (first, second int) {
	s.places, s.folded = map[string]int{}, map[string]int{}
	for i, name := range s.header {
		if name == "" {
			continue
		}
		if before, twice := s.places[name]; twice {
			return before, i
		}
		s.places[name] = i
		folded := strictjson.Fold(name)
		if _, known := s.folded[folded]; !known {
			s.folded[folded] = i
		}
	}
	return 0, 0
}

// column finds a column by its name: as it stands, or else whatever the case of its
// letters; −1: there is none.
func (s *sheet) column(names ...string) int {
	for _, name := range names {
		if i, ok := s.places[name]; ok {
			return i
		}
	}
	for _, name := range names {
		if i, ok := s.folded[strictjson.Fold(name)]; ok {
			return i
		}
	}
	return -1
}

// missingCell reports whether a cell says that there is no value: it is empty, a question
// mark, or one of the words that R, pandas and databases write.
func missingCell(cell string) bool {
	switch len(cell) {
	case 0:
		return true
	case 1:
		return cell == "?"
	case 2, 3, 4:
		switch strings.ToLower(cell) {
		case "na", "n/a", "#n/a", "nan", "null":
			return true
		}
	}
	return false
}
