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

	"github.com/blockbp/blockbp/internal/numeric"
)

const (
	// mostCategories bounds the features that a column of text makes. The rarer values
	// share one: their weights could be told from few rows only.
	mostCategories = 100
	// mostTexts bounds the different texts that are counted of a column. One that has
	// more is left out, like a name.
	mostTexts = 1 << 17
	// mostNumbers bounds the different texts that are counted of a column that has had
	// numbers alone: one with more is none of categories.
	mostNumbers = 1 << 10
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

func (c *column) width() int {
	n := max(1, len(c.Values))
	for _, more := range []bool{c.Other, c.Missing} {
		if more {
			n++
		}
	}
	return n
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

// widthOf is the number of features that columns make, and namesOfColumns names them.
func widthOf(columns []column) (n int) {
	for i := range columns {
		n += columns[i].width()
	}
	return n
}

func namesOfColumns(columns []column) (names []string) {
	for i := range columns {
		names = append(names, columns[i].features()...)
	}
	return names
}

// columnSurvey is what all cells of a column say of what it is.
type columnSurvey struct {
	name                    string
	text                    bool // it is said to be text
	cells, missing, numbers int
	sum, rest               float64  // of numbers, and what rounding took from it, so that their order does not tell
	odd                     struct { // the first cell that is no number
		path string
		line int
		cell string
	}
	dressed struct { // cells that would be numbers without a unit or separators, and the first
		count int
		path  string
		line  int
		cell  string
	}
	first  float64        // the first number
	off    bool           // some number does not count its row from the first
	zeros  string         // a number that begins with a zero before other digits, as codes do
	counts map[string]int // of texts; nil where there are too many
	// numeric says that the counting ended because of mostNumbers; whole, that it does not.
	numeric, whole bool
}

func newSurvey(name string, text bool) *columnSurvey {
	return &columnSurvey{name: name, text: text, whole: text, counts: map[string]int{}}
}

// again returns a survey that counts all texts, where counting ended and the column is of
// text after all; else nil. The order of rows has no say in that.
func (c *columnSurvey) again() *columnSurvey {
	if !c.numeric || float64(c.numbers+c.dressed.count) >= numberColumn*float64(c.cells-c.missing) {
		return nil
	}
	return &columnSurvey{name: c.name, whole: true, counts: map[string]int{}}
}

// add adds a number to the sum, by Knuth's sum of two numbers and its error.
func (c *columnSurvey) add(x float64) {
	sum := c.sum + x
	part := sum - c.sum
	c.rest += (c.sum - (sum - part)) + (x - part)
	c.sum = sum
}

// see takes note of a cell.
func (c *columnSurvey) see(path string, line int, cell string) {
	c.cells++
	cell = strings.TrimSpace(cell)
	if missingCell(cell) {
		c.missing++
		return
	}
	if x, err := numeric.ParseDecimal(cell); err == nil {
		if c.numbers++; c.numbers == 1 {
			c.first = x
		}
		c.off = c.off || x != c.first+float64(c.cells-1)
		c.add(x)
		if len(cell) > 1 && cell[0] == '0' && isDigit(cell[1]) && (c.zeros == "" || cell < c.zeros) {
			c.zeros = strings.Clone(cell)
		}
	} else {
		if c.odd.path == "" {
			c.odd.path, c.odd.line, c.odd.cell = path, line, strings.Clone(cell)
		}
		if d := &c.dressed; dressedNumber(cell) {
			if d.count++; d.count == 1 {
				d.path, d.line, d.cell = path, line, strings.Clone(cell)
			}
		}
	}
	if c.counts == nil {
		return
	}
	if n, known := c.counts[cell]; known {
		c.counts[cell] = n + 1
	} else {
		c.counts[strings.Clone(cell)] = 1
		c.numeric = !c.whole && c.odd.path == "" && len(c.counts) > mostNumbers
		if c.numeric || len(c.counts) > mostTexts {
			c.counts = nil
		}
	}
}

// plainNumbers is what to do about numbers that are written for people.
const plainNumbers = "write digits and a decimal point alone, without separators of thousands, signs of currencies " +
	"or percent"

// dressed matches numbers as people write them: with a currency or percent, and with thousands
// or decimals separated by commas, points, blanks or apostrophes.
var dressed = regexp.MustCompile(`^[-+−(]?\s*(?:\p{Sc}|[A-Z]{3}\b)?\s*[-+−]?` +
	`(?:[0-9]{1,3}(?:[,.'’ \x{a0}\x{202f}_][0-9]{3})+|[0-9]+)?(?:[,.][0-9]*)?\s*(?:\p{Sc}|%|‰|[A-Z]{3}\b)?\)?$`)

// dressedNumber reports whether a cell that is no number would be one without such signs.
func dressedNumber(cell string) bool {
	return len(cell) <= mostNumberBytes && strings.ContainsAny(cell, "0123456789") && dressed.MatchString(cell)
}

// mostNumberBytes bounds the cells that are looked at for such numbers.
const mostNumberBytes = 40

// decide says how the column becomes features: nil where it is left out, as a note says.
func (c *columnSurvey) decide() (col *column, notes []string, err error) {
	given := c.cells - c.missing
	fail := func(remedy, format string, arguments ...any) (*column, []string, error) {
		return nil, nil, &Error{File: c.odd.path, Line: c.odd.line, Place: abbreviate(c.name),
			Problem: fmt.Sprintf(format, arguments...), Remedy: remedy}
	}
	note := func(format string, arguments ...any) {
		notes = append(notes, fmt.Sprintf("column %q "+format, append([]any{abbreviate(c.name)}, arguments...)...))
	}
	switch {
	case given == 0:
		note("has no values and is left out")
		return nil, notes, nil
	case c.text:
	case c.numbers == given:
		mean := (c.sum + c.rest) / float64(given)
		if math.IsInf(mean, 0) || math.IsNaN(mean) { // no feature may be so large, and the cell will be named
			mean = 0
		}
		c.noteMissing(note, fmt.Sprintf("their mean, %.6g,", mean))
		if code := c.code(); code != "" {
			note("counts as numbers, and looks like codes, such as %s: say --columns text=%s if they are names",
				abbreviate(code), c.name)
		}
		if c.countsRows() {
			note("counts the rows, and is a feature: say --columns ignore=%s if it measures nothing", c.name)
		}
		return &column{Name: c.name, Mean: mean, Missing: c.missing > 0}, notes, nil
	case c.dressed.count > 0 && float64(c.numbers+c.dressed.count) >= numberColumn*float64(given):
		c.odd.path, c.odd.line = c.dressed.path, c.dressed.line
		return fail(plainNumbers+", or say --columns text="+c.name, "%q is no plain number; cells like it: %d of %d",
			abbreviate(c.dressed.cell), c.dressed.count, given)
	case float64(c.numbers) >= numberColumn*float64(given):
		return fail("correct the cell, leave it empty if the number is not known, or say --columns text="+c.name,
			"%q is no number, while %d of the %d cells of this column are numbers", abbreviate(c.odd.cell), c.numbers, given)
	}
	return c.categories(given, note), notes, nil
}

// categories makes those of a column of text, by falling frequency.
func (c *columnSurvey) categories(given int, note func(format string, arguments ...any)) *column {
	if c.counts == nil || given > fewCells && float64(len(c.counts)) >= ownValues*float64(given) {
		many := fmt.Sprint(len(c.counts))
		if c.counts == nil {
			many = fmt.Sprintf("more than %d", mostTexts)
		}
		note("is left out: its %d cells have %s different texts, so that it tells rows apart and not states", given, many)
		return nil
	}
	values := slices.SortedFunc(maps.Keys(c.counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.counts[b], c.counts[a]), strings.Compare(a, b))
	})
	col := &column{Name: c.name, Values: values, Missing: c.missing > 0}
	c.noteMissing(note, "nothing")
	if len(values) > mostCategories {
		col.Values, col.Other = values[:mostCategories:mostCategories], true
		kept := 0
		for _, v := range col.Values {
			kept += c.counts[v]
		}
		note("has %d different texts: the %d most frequent, of %.3g %% of its cells, have a feature each, and the others "+
			"share one",
			len(values), mostCategories, 100*float64(kept)/float64(given))
	}
	slices.Sort(col.Values)
	return col
}

func (c *columnSurvey) noteMissing(note func(format string, arguments ...any), instead string) {
	if c.missing > 0 {
		note("has %d missing cells of %d: %s stands for them, and the feature %q is 1", c.missing, c.cells, instead,
			c.name+" (missing)")
	}
}

// filler turns the cells of rows into features, by the columns of a recipe, or by lists in plain tables.
type filler struct {
	lists   *featureLists // nil: columns have features
	columns []column
	at      []int              // [column] where it stands in the sheet
	first   []int              // [column] its first feature
	values  []map[string]int32 // [column] of text
	dim     int
	dense   bool
	bias    bool // the constant feature is last

	numbers []float64 // [rows*dim] where dense
	start   []int     // [rows+1]
	index   []int32
	value   []float64

	unknown []unknownCells // [column]
}

// unknownCells counts cells for which a model has no feature.
type unknownCells struct {
	count int
	line  int // of the first
	cell  string
}

// rowForm says what a row of features takes. Features are kept in whichever form takes
// less memory.
func rowForm(columns []column, bias bool) (dim, entries int, bytes float64, dense bool) {
	dim, entries = widthOf(columns), len(columns)
	if bias {
		dim, entries = dim+1, entries+1
	}
	const double, sparse, start = 8, 12, 8 // bytes of an entry, and of where a row begins
	bytes = min(double*float64(dim), sparse*float64(entries)+start)
	return dim, entries, bytes, double*dim <= sparse*entries+start
}

// newFiller makes room for rows. The constant feature is last where bias is true.
func newFiller(columns []column, at []int, bias bool, rows int) *filler {
	f := &filler{columns: columns, at: at, bias: bias, start: make([]int, 1, rows+1),
		unknown: make([]unknownCells, len(columns))}
	first := 0
	for i := range columns {
		c := &columns[i]
		f.first = append(f.first, first)
		var values map[string]int32
		if c.Values != nil {
			values = make(map[string]int32, len(c.Values))
			for j, v := range c.Values {
				values[v] = int32(first + j)
			}
		}
		f.values = append(f.values, values)
		first += c.width()
	}
	dim, entries, _, dense := rowForm(columns, bias)
	if f.dim, f.dense = dim, dense; dense {
		f.numbers = make([]float64, 0, rows*dim)
	} else {
		f.index, f.value = make([]int32, 0, rows*entries), make([]float64, 0, rows*entries)
	}
	return f
}

// lastIs reports whether the row that was added last is the same as another.
func (f *filler) lastIs(row int) bool {
	if f.dense {
		return slices.Equal(f.numbers[row*f.dim:][:f.dim], f.numbers[len(f.numbers)-f.dim:])
	}
	from, last := f.start[row], f.start[len(f.start)-2]
	to := f.start[row+1]
	return slices.Equal(f.index[from:to], f.index[last:]) && slices.Equal(f.value[from:to], f.value[last:])
}

// dropLast takes back the row that was added last.
func (f *filler) dropLast() {
	f.start = f.start[:len(f.start)-1]
	if f.dense {
		last := len(f.numbers) - f.dim
		clear(f.numbers[last:])
		f.numbers = f.numbers[:last]
		return
	}
	at := f.start[len(f.start)-1]
	f.index, f.value = f.index[:at], f.value[:at]
}

// add appends the features of a row; it returns the name of the column and what is wrong
// with its cell.
func (f *filler) add(line int, cells []string) (place, problem string) {
	if f.lists != nil {
		return "", f.addList(line, strings.TrimSpace(cells[plainColumns-1]))
	}
	row := len(f.numbers)
	if f.dense {
		f.numbers = f.numbers[:row+f.dim]
	}
	put := func(j int, x float64) {
		if f.dense {
			f.numbers[row+j] = x
			return
		}
		f.index, f.value = append(f.index, int32(j)), append(f.value, x)
	}
	for i := range f.columns {
		c := &f.columns[i]
		cell, last := strings.TrimSpace(cells[f.at[i]]), f.first[i]+c.width()-1
		missing := missingCell(cell)
		switch {
		case c.Values == nil:
			x := c.Mean
			if !missing {
				var err error
				if x, err = numeric.ParseDecimal(cell); err != nil {
					problem := fmt.Sprintf("%q is not a finite decimal number, which the model wants of this column", abbreviate(cell))
					if dressedNumber(cell) {
						problem += "; " + plainNumbers
					}
					return c.Name, problem
				}
				if problem := tooLarge(x); problem != "" {
					return c.Name, problem
				}
			}
			put(f.first[i], x)
		case missing:
		default:
			if j, known := f.values[i][cell]; known {
				put(int(j), 1)
			} else if c.Other {
				put(f.first[i]+len(c.Values), 1)
			} else {
				f.unknown[i].see(line, cell)
			}
		}
		if missing && c.Missing {
			put(last, 1)
		} else if missing {
			f.unknown[i].see(line, cell)
		}
	}
	if f.bias {
		put(f.dim-1, 1)
	}
	f.start = append(f.start, len(f.index))
	return "", ""
}

func (u *unknownCells) see(line int, cell string) {
	if u.count++; u.count == 1 {
		u.line, u.cell = line, strings.Clone(cell)
	}
}

// featureLists is what a filler keeps of lists of features: index or index:value, separated by blanks.
type featureLists struct {
	limit   int // the length of feature vectors where it is known, and what says so
	limitOf string
	used    top    // of the indices, with the lines where they stand
	ones    bool   // all values are one
	known   []bool // [row]
	row     []sparseValue
}

// sparseValue is one entry of a feature vector.
type sparseValue struct {
	index int32
	value float64
}

// addList appends the features that a list has, by rising index.
func (f *filler) addList(line int, text string) (problem string) {
	t := f.lists
	t.row = t.row[:0]
	if text != missingFeatures {
		if problem := t.parse(text, line); problem != "" {
			return problem
		}
	}
	for _, x := range t.row {
		f.index, f.value = append(f.index, x.index), append(f.value, x.value)
	}
	f.start, t.known = append(f.start, len(f.index)), append(t.known, text != missingFeatures)
	return ""
}

// parse reads a list into row, sorted by index.
func (t *featureLists) parse(text string, line int) (problem string) {
	for field := range strings.FieldsSeq(text) {
		indexText, valueText, valued := strings.Cut(field, ":")
		index, err := strconv.ParseInt(indexText, 10, 32)
		if err != nil || index < 0 {
			return fmt.Sprintf("feature %q: want index or index:value, or %s for features that are not known",
				abbreviate(field), missingFeatures)
		}
		if int(index) >= t.limit {
			return fmt.Sprintf("feature %q: index is beyond the %d features of %s", abbreviate(field), t.limit, t.limitOf)
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
			t.ones = false
		}
		t.used.see(int32(index), line, 0, 0)
		t.row = append(t.row, sparseValue{int32(index), value})
	}
	row := t.row
	byIndex := func(a, b sparseValue) int { return cmp.Compare(a.index, b.index) }
	if !slices.IsSortedFunc(row, byIndex) {
		slices.SortFunc(row, byIndex)
	}
	for i := 1; i < len(row); i++ {
		if row[i].index == row[i-1].index {
			return fmt.Sprintf("feature %d is given twice", row[i].index)
		}
	}
	return ""
}
