package dataset

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/numeric"
)

const (
	// mostCategories bounds the features that a column of text makes. The rarer values
	// share one: their weights could be told from few rows only.
	mostCategories = 100
	// ownValues is the share of different texts among the cells of a column from which
	// it is taken for names: what nearly every row has for itself tells nothing of others.
	ownValues = 0.9
	// fewCells are so few that all may differ by chance.
	fewCells = 3
	// numberColumn is the share of numbers among the cells of a column from which the
	// others are taken for mistakes.
	numberColumn = 0.9
)

// column is how the cells of a column of a table with a header become features. It is
// part of a Recipe.
type column struct {
	Name string `json:"name"`
	// Mean is, for a column of numbers, what stands for one that is missing.
	Mean float64 `json:"mean,omitempty"`
	// Values are, for a column of text, the texts that have a feature each; nil: numbers.
	Values []string `json:"values,omitempty"`
	// Other says that one more feature is 1 for other texts, and Missing that the last
	// one is 1 where there is none, or no number.
	Other   bool `json:"other,omitempty"`
	Missing bool `json:"missing,omitempty"`
}

// features names the features that a column makes.
func (c *column) features() []string {
	names := []string{c.Name}
	if c.Values != nil {
		names = nil
		for _, v := range c.Values {
			names = append(names, c.Name+"="+v)
		}
	}
	if c.Other {
		names = append(names, c.Name+" (other)")
	}
	if c.Missing {
		names = append(names, c.Name+" (missing)")
	}
	return names
}

// problem says what is wrong with a column of a recipe.
func (c *column) problem() string {
	seen := map[string]bool{}
	for _, v := range c.Values {
		if seen[v] {
			return fmt.Sprintf("column %q has the value %q twice", c.Name, v)
		}
		seen[v] = true
	}
	if math.IsNaN(c.Mean) || math.IsInf(c.Mean, 0) {
		return fmt.Sprintf("column %q has the mean %v", c.Name, c.Mean)
	}
	return ""
}

// namesOfColumns names the features that columns make.
func namesOfColumns(columns []column) (names []string) {
	for i := range columns {
		names = append(names, columns[i].features()...)
	}
	return names
}

// widthOf is the number of features that columns make.
func widthOf(columns []column) (n int) {
	for i := range columns {
		n += columns[i].width()
	}
	return n
}

func (c *column) width() int {
	n := max(1, len(c.Values))
	for _, more := range []bool{c.Other, c.Missing} {
		if more {
			n++
		}
	}
	return n
}

// cell is one that has a value, and where it stands.
type cell struct {
	text, path string
	line       int32
}

// columnSurvey is what all cells of a column say of what it is.
type columnSurvey struct {
	name    string
	given   []cell
	missing int
	values  []float64 // of cells that are numbers
	odd     *cell     // the first that is no number; nil: all are
}

// look looks at all cells of a column, after those of another.
func (c *columnSurvey) look(tables []*table, name string) error {
	*c = columnSurvey{name: name, given: c.given[:0], values: c.values[:0]}
	for _, t := range tables {
		at := t.column(name)
		if at < 0 {
			return &Error{File: t.path, Line: 1,
				Problem: fmt.Sprintf("there is no column %q, which %s has", abbreviate(name), tables[0].path)}
		}
		c.given, c.values = slices.Grow(c.given, len(t.rows)), slices.Grow(c.values, len(t.rows))
		for r, cells := range t.rows {
			if missingCell(cells[at]) {
				c.missing++
				continue
			}
			c.given = append(c.given, cell{cells[at], t.path, t.lines[r]})
		}
	}
	for i := range c.given {
		if x, err := numeric.ParseDecimal(c.given[i].text); err == nil {
			c.values = append(c.values, x)
		} else if c.odd == nil {
			c.odd = &c.given[i]
		}
	}
	return nil
}

// mean adds the numbers up by Knuth's sum of two numbers and its error, so that their order does not tell.
func (c *columnSurvey) mean() float64 {
	sum, rest := 0.0, 0.0
	for _, x := range c.values {
		next := sum + x
		part := next - sum
		rest += (sum - (next - part)) + (x - part)
		sum = next
	}
	mean := (sum + rest) / float64(len(c.values))
	if math.IsInf(mean, 0) || math.IsNaN(mean) { // no feature may be so large, and the cell will be named
		return 0
	}
	return mean
}

// decide says how the column becomes features: nil where it is left out, as a note says. text says that it is said to
// be text.
func (c *columnSurvey) decide(text bool) (col *column, notes []string, err error) {
	note := func(format string, arguments ...any) {
		notes = append(notes, fmt.Sprintf("column %q "+format, append([]any{abbreviate(c.name)}, arguments...)...))
	}
	switch {
	case len(c.given) == 0:
		note("has no values and is left out")
		return nil, notes, nil
	case !text && c.odd == nil:
		col = &column{Name: c.name, Mean: c.mean(), Missing: c.missing > 0}
		c.noteMissing(note, fmt.Sprintf("their mean, %.6g,", col.Mean))
		return col, notes, nil
	case !text:
		if err := c.mistake(); err != nil {
			return nil, nil, err
		}
	}
	return c.categories(note), notes, nil
}

// written matches numbers as people write them: with a currency or percent, thousands apart, or a decimal comma.
var written = regexp.MustCompile(`^[-+]?[$€£¥]? ?\d+(?:[,.' ]\d{3})*(?:[.,]\d+)? ?[$€£%]?$`)

// mistake is the error of a column of numbers in which some cell is none; nil: it is of text.
func (c *columnSurvey) mistake() error {
	if strings.EqualFold(c.name, "features") && strings.ContainsAny(c.odd.text, " :") && isDigit(c.odd.text[0]) {
		return &Error{File: c.odd.path, Line: int(c.odd.line), Place: c.name,
			Problem: fmt.Sprintf("%q is a list of features, which tables without a header have", abbreviate(c.odd.text)),
			Remedy:  "begin the header with #, or give every feature a column"}
	}
	n := len(c.values)
	for _, x := range c.given {
		_, err := numeric.ParseDecimal(x.text)
		large, _ := strconv.ParseFloat(x.text, 64)
		if err != nil && (written.MatchString(x.text) || math.IsInf(large, 0)) {
			n++
		}
	}
	if float64(n) < numberColumn*float64(len(c.given)) {
		return nil
	}
	return &Error{File: c.odd.path, Line: int(c.odd.line), Place: abbreviate(c.name),
		Problem: fmt.Sprintf("%q is no finite number, while %d of the %d cells of this column are meant as numbers",
			abbreviate(c.odd.text), n, len(c.given)),
		Remedy: "write digits and a decimal point alone, leave the cell empty if the number is not known, or say " +
			"{columns=text=" + c.name + "}"}
}

// texts counts the different ones.
func (c *columnSurvey) texts() map[string]int {
	counts := map[string]int{}
	for _, x := range c.given {
		counts[x.text]++
	}
	return counts
}

// categories makes those of a column of text, by falling frequency.
func (c *columnSurvey) categories(note func(format string, arguments ...any)) *column {
	counts, given := c.texts(), len(c.given)
	if given > fewCells && float64(len(counts)) >= ownValues*float64(given) {
		note("is left out: its %d cells have %d different texts, so that it tells rows apart and not states", given,
			len(counts))
		return nil
	}
	values := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
	for i, v := range values {
		values[i] = strings.Clone(v) // of its row nothing else is kept
	}
	col := &column{Name: c.name, Values: values, Missing: c.missing > 0}
	c.noteMissing(note, "nothing")
	if len(values) > mostCategories {
		col.Values, col.Other = values[:mostCategories:mostCategories], true
		kept := 0
		for _, v := range col.Values {
			kept += counts[v]
		}
		note("has %d different texts: the %d most frequent, of %.3g %% of its cells, have a feature each, and the others "+
			"share one", len(values), mostCategories, 100*float64(kept)/float64(given))
	}
	slices.Sort(col.Values)
	return col
}

func (c *columnSurvey) noteMissing(note func(format string, arguments ...any), instead string) {
	if c.missing > 0 {
		note("has %d missing cells of %d: %s stands for them, and the feature %q is 1", c.missing,
			c.missing+len(c.given), instead, c.name+" (missing)")
	}
}

// featureRows makes features of the rows of a table: by the columns of a recipe, or by the list in the last column of
// a plain one, which has index or index:value, separated by blanks.
type featureRows struct {
	columns []column
	at      []int              // [column] where it stands in the table
	first   []int              // [column] its first feature
	values  []map[string]int32 // [column] of text
	dim     int
	bias    bool           // the constant feature is last
	unknown []unknownCells // [column]
	row     []sparseValue  // that was made last, by rising index

	lists   bool
	limit   int // the length of feature vectors where it is known, and what says so
	limitOf string
	used    top // of the indices, with the lines where they stand
}

// sparseValue is one entry of a feature vector.
type sparseValue struct {
	index int32
	value float64
}

// unknownCells counts cells for which a model has no feature.
type unknownCells struct {
	count int
	line  int // of the first
	cell  string
}

func (u *unknownCells) see(line int, cell string) {
	if u.count++; u.count == 1 || line < u.line {
		u.line, u.cell = line, cell
	}
}

func columnRows(t *table, columns []column, bias bool) *featureRows {
	f := &featureRows{columns: columns, bias: bias, unknown: make([]unknownCells, len(columns))}
	for i := range columns {
		c := &columns[i]
		values := map[string]int32{}
		for j, v := range c.Values {
			values[v] = int32(f.dim + j)
		}
		f.at, f.first, f.values = append(f.at, t.column(c.Name)), append(f.first, f.dim), append(f.values, values)
		f.dim += c.width()
	}
	if bias {
		f.dim++
	}
	return f
}

// entries is the most that a row of columns has.
func (f *featureRows) entries() int { return len(f.columns) + f.dim - widthOf(f.columns) }

// make makes the features of a row; it returns the name of the column and what is wrong
// with its cell.
func (f *featureRows) make(line int, cells []string) (place, problem string) {
	f.row = f.row[:0]
	if f.lists {
		return "", f.parse(line, cells[plainColumns-1])
	}
	for i := range f.columns {
		c, cell := &f.columns[i], cells[f.at[i]]
		missing := missingCell(cell)
		if c.Values == nil {
			x := c.Mean
			if !missing {
				var err error
				if x, err = numeric.ParseDecimal(cell); err != nil {
					const problem = "%q is not a finite decimal number, which the model wants of this column; write digits and " +
						"a decimal point alone"
					return c.Name, fmt.Sprintf(problem, abbreviate(cell))
				}
				if problem := tooLarge(x); problem != "" {
					return c.Name, problem
				}
			}
			f.put(f.first[i], x)
		} else if j, known := f.values[i][cell]; known && !missing {
			f.put(int(j), 1)
		} else if c.Other && !missing {
			f.put(f.first[i]+len(c.Values), 1)
		} else if !missing {
			f.unknown[i].see(line, cell)
		}
		if missing && c.Missing {
			f.put(f.first[i]+c.width()-1, 1)
		} else if missing {
			f.unknown[i].see(line, cell)
		}
	}
	if f.bias {
		f.put(f.dim-1, 1)
	}
	return "", ""
}

func (f *featureRows) put(j int, x float64) { f.row = append(f.row, sparseValue{int32(j), x}) }

// parse reads a list.
func (f *featureRows) parse(line int, text string) (problem string) {
	if text == missingFeatures {
		return ""
	}
	for field := range strings.FieldsSeq(text) {
		indexText, valueText, valued := strings.Cut(field, ":")
		index, err := strconv.ParseInt(indexText, 10, 32)
		if err != nil || index < 0 {
			return fmt.Sprintf("feature %q: want index or index:value, or %s for features that are not known",
				abbreviate(field), missingFeatures)
		}
		if int(index) >= f.limit {
			return fmt.Sprintf("feature %q: index is beyond the %d features of %s", abbreviate(field), f.limit, f.limitOf)
		}
		value := 1.0
		if valued {
			value, err = numeric.ParseDecimal(valueText)
			if err != nil {
				return fmt.Sprintf("feature %q: value is not a finite decimal number", abbreviate(field))
			}
			if problem := tooLarge(value); problem != "" {
				return problem
			}
		}
		if f.used.see(int32(index), line, 0, 0); int32(index) == f.used.largest {
			f.used.at[0] = min(f.used.at[0], line)
		}
		f.put(int(index), value)
	}
	slices.SortFunc(f.row, func(a, b sparseValue) int { return cmp.Compare(a.index, b.index) })
	for i := 1; i < len(f.row); i++ {
		if f.row[i].index == f.row[i-1].index {
			return fmt.Sprintf("feature %d is given twice", f.row[i].index)
		}
	}
	return ""
}

// same reports whether two rows have the same features.
func (f *featureRows) same(a, b []string) bool {
	own := *f
	own.unknown, own.row = make([]unknownCells, len(f.columns)), nil
	own.make(0, a)
	first := slices.Clone(own.row)
	own.make(0, b)
	return slices.Equal(first, own.row)
}

// Bytes of an entry of dense and of sparse features, and of where a sparse row begins.
const denseEntry, sparseEntry, sparseStart = 8, 12, 8

// dense reports whether features take less memory in this form.
func (f *featureRows) dense() bool {
	return !f.lists && denseEntry*f.dim <= sparseEntry*f.entries()+sparseStart
}

// of makes the features of all rows of a table.
func (f *featureRows) of(t *table, p *problems) (crf.Features, error) {
	var numbers, values []float64
	var index []int32
	start, ones, dense := make([]int, 1, len(t.rows)+1), f.lists, f.dense()
	if dense {
		numbers = make([]float64, len(t.rows)*f.dim)
	} else if !f.lists {
		index, values = make([]int32, 0, len(t.rows)*f.entries()), make([]float64, 0, len(t.rows)*f.entries())
	}
	for r, cells := range t.rows {
		if place, problem := f.make(int(t.lines[r]), cells); problem != "" {
			p.add(int(t.lines[r]), abbreviate(place), "", "%s", problem)
		}
		for _, x := range f.row {
			if dense {
				numbers[r*f.dim+int(x.index)] = x.value
				continue
			}
			index, values, ones = append(index, x.index), append(values, x.value), ones && x.value == 1
		}
		start = append(start, len(index))
	}
	switch {
	case len(p.list) > 0:
		return crf.Features{}, nil // which are said
	case f.lists:
		f.dim = int(f.used.largest) + 1
		if ones {
			values = nil
		}
	case f.dim == 0:
		return crf.Constant(len(t.rows), 0), nil
	}
	if dense {
		return crf.Dense(numbers, f.dim)
	}
	return crf.Sparse(start, index, values, f.dim)
}
