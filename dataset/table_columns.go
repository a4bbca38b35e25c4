package dataset

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/formats"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
)

const (
	// mostCategories bounds the features that a column of text makes. Rarer values share one: few rows tell of them.
	mostCategories = 100
	// nearlyAll is the share of the cells of a column that speaks for all: different texts are names, which tell nothing
	// of other rows, and beside numbers others are mistakes.
	nearlyAll = 0.9
	// fewCells are so few that all may differ by chance.
	fewCells = 3
)

// column is how the cells of a column of a table with a header become features. It is part of a Recipe.
type column struct {
	Name string `json:"name"`
	// Mean is, for a column of numbers, what stands for one that is missing.
	Mean float64 `json:"mean,omitempty"`
	// Values are, for a column of text, the texts that have a feature each; nil: numbers.
	Values []string `json:"values,omitempty"`
	// Indices is, for a column of lists of features, as index or index:value, how many features there are; 0: no lists.
	Indices int `json:"indices,omitempty"`
	// Other says that one more feature is 1 for other texts, and Missing that the last one is 1 where nothing is known.
	Other   bool `json:"other,omitempty"`
	Missing bool `json:"missing,omitempty"`
}

// size is the number of features that a column makes.
func (c *column) size() int { return max(1, c.Indices, len(c.Values)) + len(c.more()) }

// more names the features behind those of its values.
func (c *column) more() (names []string) {
	if c.Other {
		names = append(names, c.Name+" (other)")
	}
	if c.Missing {
		names = append(names, c.Name+" (missing)")
	}
	return names
}

// isMissing reports whether a cell says that there is no value.
func (c *column) isMissing(cell string) bool {
	return formats.MissingCell(cell) && (c.Indices == 0 || cell != "")
}

// onlyList reports a table whose features are all in one list, which is not known of some rows. These have the feature
// that says so in the place of the bias, which is learned beside features, and would claim a class for what has none.
func onlyList(columns []column) bool {
	return len(columns) == 1 && columns[0].Indices > 0 && columns[0].Missing
}

// features names the features that a column makes.
func (c *column) features() []string {
	names := []string{c.Name}
	if c.Indices > 0 {
		names = crf.NumberedStates(c.Indices)
	} else if c.Values != nil {
		names = numeric.Map(c.Values, func(v string) string { return c.Name + "=" + v })
	}
	return append(names, c.more()...)
}

// sound reports whether a column of a recipe can be used.
func (c *column) sound() bool {
	rising := func(a, b string) int { return cmp.Or(strings.Compare(a, b), -1) }
	return slices.IsSortedFunc(c.Values, rising) && !math.IsNaN(c.Mean) && !math.IsInf(c.Mean, 0) &&
		c.Indices >= 0 && c.Indices <= mostFeatures && (c.Indices == 0 || !c.Other && c.Values == nil)
}

// sizeOfColumns is the number of features that columns make.
func sizeOfColumns(columns []column) (n int) {
	for i := range columns {
		n += columns[i].size()
	}
	return n
}

// namesOfColumns names the features that columns make.
func namesOfColumns(columns []column) (names []string) {
	for i := range columns {
		names = append(names, columns[i].features()...)
	}
	return names
}

// columnSurvey is what all cells of a column say of what it is.
type columnSurvey struct {
	distinct // of cells that have a value
	name     string
	table    *formats.Table // the first
	missing  int
	label    map[string]string // the label of the rows with each text
	mixed    bool              // rows with one text have two labels, or texts are too many: label ends there
	labelled int               // rows with a text and a label
}

// written matches numbers as people and programs write them: with a currency, thousands apart, decimal commas, or more.
var written = regexp.MustCompile(`(?i)^[-+]?(?:[$€£¥]?\pZ?\d+(?:[,.'’\pZ]\d{3})*(?:[.,]\d+)?(?:e[-+]?\d+)?` +
	`\pZ?[$€£%]?|inf)$`)

// thousands matches lines of numbers whose points stand before three digits, as between thousands, or that have none.
var thousands = regexp.MustCompile(`\A(?:-?(?:0|[1-9]\d{0,2}(?:\.\d{3})?)(?:\n|\z))+\z`)

// measured matches lines of numbers with a unit, and of days and times.
var measured = regexp.MustCompile(strings.NewReplacer("MONTH", `(?:0?[1-9]|1[0-2])`, "YEAR", `(?:19|20)\d\d`, "TIME",
	`\d\d?:\d\d(?:[: ].*)?`).Replace(`(?m)^(?:[-+]?\d+(?:[.,]\d+)? ?[\pL°/]+[²³]?|TIME|(?:YEAR[-/.]MONTH(?:[-/.]\d\d?)?|` +
	`(?:MONTH[-/.]\d\d?|\d\d?[-/.]MONTH)(?:[-/.]YEAR|/\d\d))(?:[T ]TIME)?)(?:\n|$)`))

// look looks at all cells of a column.
func look(name string, tables ...*formats.Table) *columnSurvey {
	c := &columnSurvey{name: name, table: tables[0], label: map[string]string{}}
	for _, t := range tables {
		at := t.Column(name)
		for r, cells := range t.Rows {
			if text := cells[at]; !formats.MissingCell(text) {
				c.add(t.File, int(t.Lines[r]), text)
				if y := t.Cell(cells, formats.RoleLabel); !c.mixed && !formats.MissingCell(y) {
					c.mixed = cmp.Or(c.label[text], y) != y || len(c.label) > mostCategories
					c.label[text], c.labelled = y, c.labelled+1
				}
			} else if text != "" || !c.isList() {
				c.missing++
			}
		}
	}
	return c
}

// isList reports whether the cells are lists of features, which may be empty.
func (c *columnSurvey) isList() bool { return strings.EqualFold(c.name, formats.ListColumn) }

// numbers are the cells that are numbers. meant counts these and those that people mean as such; odd is the first of
// the others, −1: there is none.
func (c *columnSurvey) numbers() (values []float64, meant, odd int) {
	odd = -1
	for i, text := range c.texts {
		x, err := c.table.Number(text)
		if err == nil {
			values = append(values, slices.Repeat([]float64{x}, c.count[i])...)
		} else if odd < 0 {
			odd = i
		}
		if err == nil || written.MatchString(text) {
			meant += c.count[i]
		}
	}
	return values, meant, odd
}

// meanOf adds numbers up by their size, so that their order does not tell.
func meanOf(values []float64) float64 {
	mean := numeric.Sum(slices.Sorted(slices.Values(values))) / float64(len(values))
	if math.IsInf(mean, 0) || math.IsNaN(mean) { // no feature may be so large, and the cell will be named
		return 0
	}
	return mean
}

// decide says how the column becomes features: nil where it is left out, as a note says. text says that it is said to
// be text, and not numbers. Of lists the features are still to be counted.
func (c *columnSurvey) decide(text bool, note func(format string, arguments ...any)) (col *column, err error) {
	col, name, different, instead := &column{Name: c.name}, option.Short(c.name), len(c.count), "nothing"
	all := strings.Join(c.texts, "\n")
	values, meant, odd := c.numbers()
	switch {
	case c.total == 0:
		if c.missing > 0 {
			note("column %q has no values and is left out", name)
		}
		return nil, nil
	case !text && c.isList():
		col.Indices = 1
	case !text && odd < 0:
		col.Mean = meanOf(values)
		instead = fmt.Sprintf("their mean, %.6g,", col.Mean)
		if code := formats.MissingCode(c.texts); len(code) > 1 {
			note("column %q has %s, far from its other numbers: if it means that none is known, leave these cells empty", name,
				code)
		}
		if n := strings.Count(all, "."); n > fewCells && n < different && thousands.MatchString(all) {
			note("column %q has points before three digits alone, taken for decimal ones: omit them between thousands", name)
		}
		if n := len(values); n > fewCells && different == n && slices.Max(values)-slices.Min(values) == float64(n-1) &&
			slices.Min(values) >= 0 && !strings.EqualFold(name, formats.RoleWeight) &&
			!slices.ContainsFunc(values, func(x float64) bool { return x != math.Trunc(x) }) { // as identifiers of rows do
			note("column %q has another whole number in each row, as identifiers have, and is taken for a feature; "+
				"{columns=ignore=%s} leaves it out", name, c.name)
		}
	case !text && (float64(meant) >= nearlyAll*float64(c.total) ||
		different > manyStates && meant+c.count[odd] == c.total): // the same text beside many numbers is a mark
		how := ","
		if written.MatchString(c.texts[odd]) && strings.Trim(c.texts[odd], "+-0123456789eEinfINF") != "" {
			how = ", as by " + formats.Look(c.table.File).Advise("numbers as people write them") + ";"
		}
		err := c.at(odd, "write digits and a decimal point alone"+how+" leave the cell empty if the number is not known, or "+
			"say {columns=text="+option.Literal(c.name)+"}", "%q is no number that can be used, while %d of the %d cells of "+
			"this column are meant as numbers", option.Short(c.texts[odd]), meant, c.total)
		err.Place = name
		return nil, err
	case c.total > fewCells && float64(different) >= nearlyAll*float64(c.total):
		note("column %q is left out: its %d cells have %d different texts, such as %q, and tells rows apart, not "+
			"states; write days as numbers, and lists as columns", name, c.total, different, option.Short(c.texts[0]))
		return nil, nil
	default:
		if c.categories(col, note); !text {
			c.noteAlike(note, fmt.Sprintf("in column %q", name), "categories")
		}
		if !text && different > fewCells && measured.ReplaceAllString(all, "") == "" {
			note("column %q has days, times or numbers with a unit, as %q, each a category; write plain numbers if they measure",
				name, option.Short(c.texts[0]))
		} else if different > manyStates && 2*different > c.total {
			note("column %q has %d different texts in %d cells, as days have, each a category that few rows tell of; write "+
				"numbers, and nothing where none is known, or omit it by {columns=ignore=%s}", name, different, c.total, c.name)
		}
	}
	if col.Missing = c.missing > 0; col.Missing {
		note("column %q has %d missing cells of %d: %s stands for them, and the feature %q is 1", name, c.missing,
			c.missing+c.total, instead, c.name+" (missing)")
	}
	return col, nil
}

// categories makes those of a column of text, by falling frequency.
func (c *columnSurvey) categories(col *column, note func(format string, arguments ...any)) {
	order := numeric.To(len(c.count))
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(c.count[b], c.count[a]), strings.Compare(c.texts[a], c.texts[b]))
	})
	kept := 0
	for _, i := range order[:min(mostCategories, len(order))] {
		kept += c.count[i]
		col.Values = append(col.Values, c.texts[i])
	}
	if col.Other = len(order) > mostCategories; col.Other {
		note("column %q has %d different texts: the %d most frequent, of %.3g %% of its cells, have a feature each, and the "+
			"others share one", option.Short(c.name), len(order), mostCategories, 100*float64(kept)/float64(c.total))
	}
	slices.Sort(col.Values)
}

// columnReader makes features of the cells of a column.
type columnReader struct {
	column
	table     *formats.Table
	at, first int    // where it stands in the table, and its first feature
	unknown   int    // cells for which a model has no feature
	note      string // of the first of these
	comma     string // the first cell with a decimal comma
}

// read adds the features of a cell to those of its row. It says what is wrong with the cell.
func (c *columnReader) read(row *[]sparseValue, line int, cell string) (problem string) {
	put := func(j int, x float64) { *row = append(*row, sparseValue{int32(c.first + j), x}) }
	j, known := slices.BinarySearch(c.Values, cell)
	switch missing := c.isMissing(cell); {
	case missing:
		if c.Indices == 0 && c.Values == nil {
			put(0, c.Mean)
		}
		if known = c.Missing; known {
			put(c.size()-1, 1)
		}
	case c.Indices > 0:
		return c.parse(cell, put)
	case c.Values == nil:
		x, err := c.table.Number(cell)
		if err != nil {
			return fmt.Sprintf("%q is not a finite decimal number, which the model wants of this column; write digits "+
				"and a decimal point alone", option.Short(cell))
		}
		if put(0, x); c.comma == "" && strings.Contains(cell, ",") {
			c.comma = cell
		}
		return formats.TooLarge(x)
	case known:
		put(j, 1)
	case c.Other:
		put(len(c.Values), 1)
		known = true
	}
	if !known {
		if c.unknown++; c.unknown == 1 {
			c.note = fmt.Sprintf("%d:%s: the model has not learned of the cell %q", line, option.Short(c.Name),
				option.Short(cell))
		}
	}
	return ""
}

// parse reads a list of features.
func (c *columnReader) parse(text string, put func(j int, x float64)) (problem string) {
	seen := map[int64]bool{}
	for field := range strings.FieldsSeq(text) {
		indexText, valueText, valued := strings.Cut(field, ":")
		index, err := strconv.ParseInt(indexText, 10, 32)
		value := 1.0
		switch {
		case err != nil || index < 0:
			return fmt.Sprintf("feature %q: want index or index:value, or %s for features that are not known; other "+
				"values want a column of another name", option.Short(field), missingFeatures)
		case int(index) >= c.Indices:
			return fmt.Sprintf("feature %q: index is beyond the %d features that there are", option.Short(field), c.Indices)
		case seen[index]:
			return fmt.Sprintf("feature %d is given twice", index)
		case valued:
			if value, err = numeric.ParseDecimal(valueText); err != nil {
				return fmt.Sprintf("feature %q: value is not a finite decimal number", option.Short(field))
			}
		}
		if problem := formats.TooLarge(value); problem != "" {
			return problem
		}
		seen[index] = true
		put(int(index), value)
	}
	return ""
}

// featuresOf makes the features of all rows of a table, dense ones where these take less memory. A bias is last.
func (l *tableLoader) featuresOf(t *formats.Table, columns []column, bias bool) (f crf.Features) {
	readers, dim, lists, entries := make([]columnReader, len(columns)), 0, false, len(columns)
	for i, c := range columns {
		readers[i] = columnReader{column: c, table: t, at: t.Column(c.Name), first: dim}
		dim, lists = dim+c.size(), lists || c.Indices > 0
	}
	if bias {
		dim, entries = dim+1, entries+1
	}
	const number, entry, start = 8, 12, 8
	before, all, each := len(l.problems), len(t.Rows), min(number*dim, entry*entries+start)
	l.allow(t.File, fmt.Sprintf("the features of %d rows", all), float64(all)*float64(each), nil)
	if len(l.problems) > before {
		return f
	}
	var numbers []float64 // of dense features
	if len(columns) > 0 && !lists && number*dim == each {
		numbers = make([]float64, all*dim)
	}
	var rows sparseRows
	var row []sparseValue
	for r, cells := range t.Rows {
		row = row[:0]
		for i := range readers {
			c := &readers[i]
			if problem := c.read(&row, int(t.Lines[r]), cells[c.at]); problem != "" {
				t.Add(int(t.Lines[r]), option.Short(c.Name), "", "%s", problem)
			}
		}
		if bias && !(onlyList(columns) && columns[0].isMissing(cells[readers[0].at])) {
			row = append(row, sparseValue{int32(dim - 1), 1})
		}
		if numbers == nil {
			rows.add(row)
			continue
		}
		for _, x := range row {
			numbers[r*dim+int(x.index)] = x.value
		}
	}
	l.noteUnknown(t.File, readers)
	var err error
	switch {
	case len(t.List) > 0: // which are said
	case len(columns) == 0:
		f = crf.Constant(all, dim)
	case numbers != nil:
		f, err = crf.Dense(numbers, dim)
	default:
		f, err = rows.features(dim)
	}
	l.fail(option.OfFile(t.File, err))
	return f
}

// noteUnknown tells of cells for which a model has no feature, and of a decimal comma.
func (l *tableLoader) noteUnknown(file string, readers []columnReader) {
	if i := slices.IndexFunc(readers, func(c columnReader) bool { return c.comma != "" }); i >= 0 {
		l.warn("commas are those of decimals, as %q in %s", option.Short(readers[i].comma), file)
	}
	for i := range readers {
		c, instead := &readers[i], "they count as none of its texts"
		if c.Values == nil {
			instead = fmt.Sprintf("%.6g, the mean in training, stands for them", c.Mean)
		}
		if c.unknown > 0 {
			l.warn("%s:%s (and of %d more in this column): %s", file, c.note, c.unknown-1, instead)
		}
	}
}
