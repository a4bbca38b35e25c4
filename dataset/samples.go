package dataset

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
)

// Samples as people keep them, for models whose every node and edge has weights of its own: a table whose rows are
// samples and whose columns are the nodes, or an alignment of sequences. They become the arrays of an instance.

// sampleColumn is a node of a model of samples: what the table calls it, and its type, whose states are those of the
// column.
type sampleColumn struct {
	Name string `json:"name"`
	Type int    `json:"type"`
}

// samples are what was read of a table or an alignment, beside its arrays.
type samples struct {
	columns []sampleColumn // empty names: nodes are called by their numbers
	states  [][]string     // of each type
	weights []float64      // of samples; nil: 1
	notes   []string
}

// takeSamples adds what tables of samples and alignments have beside arrays.
func (l *npzLoader) takeSamples(spec *crf.InstanceSpec, in *npzInstance) {
	if columns := l.set.Recipe.Columns; len(columns) > 0 && columns[0].Name != "" {
		var names []string
		for _, c := range columns {
			names = append(names, c.Name)
		}
		l.set.Names = append(l.set.Names, names)
	}
	if in.samples != nil {
		spec.SampleWeights = in.samples.weights
		for _, note := range in.samples.notes {
			l.warn("%s", note)
		}
	}
}

// readsSamples reports whether tables are samples: every node and edge has weights of its own, which nodes of a graph
// table cannot have.
func (o *Options) readsSamples() bool { return o.Untied || o.Recipe != nil && o.Recipe.Untied }

// isSamples reports whether a file can be samples, by its name, or what it begins with.
func isSamples(path string) bool {
	p := newPeek(path)
	return slices.Contains(tableExtensions, p.extension) || p.isAlignment() || p.isRows()
}

// isPairs reports whether a file names pairs of nodes, which the samples beside it are joined by.
func isPairs(path string) bool { return isEdgesTable(filepath.Base(path)) || isEdgeList(path) }

// edgesBeside finds edges.csv or edges.tsv beside a file of samples, unless they are of nodes there; "": none is.
func edgesBeside(samples string) string {
	for _, extension := range tableExtensions {
		pair := pairOf(filepath.Join(filepath.Dir(samples), edgesStem+extension))
		if isTable(pair.edges) && !isTable(pair.nodes) && pair.edges != samples {
			return pair.edges
		}
	}
	return ""
}

// openSamples reads a file of samples; pairs is a list of edges, or "": all pairs.
func (l *npzLoader) openSamples(r *opened, path, pairs string) *npzContents {
	read := func(path, what string) []byte {
		data, source, err := readSource(path, what, math.MaxInt64, l.o.Memory)
		if r.sources = append(r.sources, source); err != nil {
			r.list = append(r.list, err)
		}
		return fileio.Lines(data)
	}
	l.hiddenBy = missingCells
	p := &sampleReader{problems: problems{file: path}, l: l, samples: &samples{}}
	if data := read(path, "samples"); len(r.list) == 0 {
		if newPeek(path).isAlignment() {
			p.readAlignment(data)
		} else {
			p.readTable(data)
		}
	}
	var edges []int32
	r.sources = append(r.sources, p.sources...)
	if r.list = append(r.list, p.errors()...); len(r.list) > 0 {
		return nil
	}
	if pairs == "" {
		edges = p.allPairs()
	} else if data := read(pairs, "a table of edges"); len(r.list) == 0 {
		edges = p.pairs(readTable(pairs, data, isEdgeList(pairs)))
		r.list = append(r.list, p.errors()...)
	}
	states := make([]int32, len(p.columns))
	for s, c := range p.columns {
		states[s] = int32(len(p.states[c.Type]))
	}
	c := &npzContents{rules: instanceArrays, samples: p.samples, arrays: map[string]npy.Values{
		edgesArray:  {Shape: []int{len(edges) / 2, 2}, Ints: edges},
		labelsArray: {Shape: []int{len(p.labels) / len(states), len(states)}, Ints: p.labels},
		statesArray: {Shape: []int{len(states)}, Ints: states},
	}}
	if p.aligned && !l.o.Tied { // states are those of sites: J(a, b) and J(b, a) differ
		c.arrays[directedArray] = npy.Values{Ints: []int32{1}}
	}
	return c
}

// sampleReader reads a file of samples.
type sampleReader struct {
	problems
	*samples
	l       *npzLoader
	labels  []int32 // [samples][nodes]
	aligned bool    // they are an alignment
	sources []Source
}

func (p *sampleReader) note(format string, arguments ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, option.Literals(format, arguments)...))
}

// join adds an edge, the end of the smaller type first.
func (p *sampleReader) join(edges []int32, u, v int32) []int32 {
	if p.columns[u].Type > p.columns[v].Type {
		u, v = v, u
	}
	return append(edges, u, v)
}

func (p *sampleReader) allPairs() (edges []int32) {
	n := int32(len(p.columns))
	for u := range n {
		for v := u + 1; v < n; v++ {
			edges = p.join(edges, u, v)
		}
	}
	p.note("all %d pairs of %d nodes are edges; a table of edges beside the samples, such as edges.csv, names fewer",
		len(edges)/2, n)
	return edges
}

// pairs are the edges that a table names, by names of columns or by numbers from 0, as in tables of a graph.
func (p *sampleReader) pairs(t *table) (edges []int32) {
	l := &tableLoader{loader: newLoader(p.l.ctx, p.l.o), rules: &sheetRecipe{}}
	g := &tableGraph{nodes: &table{problems: problems{file: p.file}}, edges: t, byName: map[string]int32{}}
	for s := range p.columns {
		g.byName[strconv.Itoa(s)] = int32(s)
	}
	for s, c := range p.columns {
		g.byName[c.Name] = int32(s)
	}
	delete(g.byName, "")
	if len(t.list) == 0 {
		l.rolesOfEdges(t)
	}
	if len(t.list)+len(l.problems) == 0 {
		rows := l.joinRows(g)
		for e := range rows.u {
			edges = p.join(edges, rows.u[e], rows.v[e])
		}
	}
	p.list, p.notes = slices.Concat(p.list, l.problems, t.errors()), append(p.notes, l.set.Warnings...)
	return edges
}

// readTable reads rows of cells, below names of columns or none.
func (p *sampleReader) readTable(data []byte) {
	if first, _, _ := bytes.Cut(bytes.TrimLeft(data, "\n"), []byte("\n")); !bytes.ContainsAny(first, separators) {
		lines := strings.Split(string(data), "\n") // of numbers between blanks
		for i, line := range lines {
			lines[i] = strings.Join(strings.Fields(strings.TrimPrefix(line, "#")), "\t")
		}
		data = []byte(strings.Join(lines, "\n"))
	}
	t := readRows(p.file, data, false)
	if p.list = t.list; len(p.list) > 0 {
		return
	}
	columns, names := len(t.rows[0]), make([]string, len(t.rows[0]))
	if !isSampleRow(t.rows) {
		p.keep(t.takeHeader(true))
		names = t.header
	}
	empty := 0
	for line := range bytes.Lines(bytes.TrimSpace(data)) {
		if len(bytes.Trim(line, separators+` "`+"\n")) == 0 {
			empty++
		}
	}
	if empty > 0 {
		p.note("%d empty rows are no samples, and left out", empty)
	}
	switch p.list = append(p.list, t.list...); {
	case len(p.list) > 0:
	case columns < 2:
		p.add(0, "", "separate columns by commas, semicolons or tabs", "want rows that are samples, with a column for each "+
			"of two nodes or more")
	case len(t.rows) == 0:
		p.add(0, "", "", "there is a header, and no sample below it")
	default:
		p.take(names, t)
	}
}

// take makes samples of the columns that are nodes.
func (p *sampleReader) take(names []string, t *table) {
	var kept []int
	ignored, weights := p.l.o.given(roleIgnore), -1
	for i, name := range names {
		switch {
		case name != "" && name == p.l.o.SampleWeights:
			weights = i
		case slices.Contains(ignored, name) && name != "", i == 0 && name == "" && names[len(names)-1] != "":
			p.note("column %d, %q, is left out", i+1, abbreviate(name))
		default:
			kept = append(kept, i)
		}
	}
	if p.takeModelColumns(names, &kept); len(p.list) > 0 {
		return
	}
	p.number(names, kept, t)
	p.weigh(t, weights)
}

// isSampleRow reports whether the first row is a sample, and no header: its cells are among those below, or missing.
func isSampleRow(rows [][]string) bool {
	below := setOf(slices.Concat(rows[1:]...))
	return !slices.ContainsFunc(rows[0], func(cell string) bool { return !missingCell(cell) && !below[cell] })
}

// takeModelColumns puts the columns that are kept into the order of a model's, which must all be there.
func (p *sampleReader) takeModelColumns(names []string, kept *[]int) {
	recipe := p.l.o.Recipe
	if recipe == nil || len(recipe.Columns) == 0 || recipe.Columns[0].Name == "" || names[len(names)-1] == "" {
		return
	}
	*kept = nil
	for _, c := range recipe.Columns {
		i := slices.Index(names, c.Name)
		if *kept = append(*kept, i); i < 0 {
			p.add(1, "", suggestion(c.Name, names), "the model's column %q is missing", abbreviate(c.Name))
		}
	}
}

// number makes labels of cells. Columns that have a value in common are of one type, whose states are the values of
// all of them.
func (p *sampleReader) number(names []string, kept []int, t *table) {
	all := labelTexts{named: setOf(p.l.o.States)}
	p.labels = make([]int32, len(t.rows)*len(kept)) // numbers of texts, for now
	column := make([]int, len(kept))                // that stands for the type of each
	var owner []int                                 // the first column with each text
	root := func(c int) int {
		for column[c] != c {
			c = column[c]
		}
		return c
	}
	for c, i := range kept {
		column[c] = c
		before := all.total
		for r, row := range t.rows {
			x := all.see(p.file, int(t.lines[r]), row[i])
			if p.labels[r*len(kept)+c] = x; int(x) == len(owner) {
				owner = append(owner, c)
			} else if x >= 0 && owner[x] != c {
				a, b := root(owner[x]), root(c)
				column[max(a, b)] = min(a, b)
			}
		}
		if all.total == before && p.l.o.Recipe == nil {
			p.add(0, "", "leave it out by {columns!--columns} ignore=NAME", "column %d, %q, has no value", i+1,
				abbreviate(names[i]))
		}
	}
	types, ofType := map[int]int{}, []labelTexts{}
	for c, i := range kept {
		if _, known := types[root(c)]; !known {
			types[root(c)] = len(ofType)
			ofType = append(ofType, labelTexts{})
		}
		p.columns = append(p.columns, sampleColumn{names[i], types[root(c)]})
	}
	for x, text := range all.texts {
		of := &ofType[types[root(owner[x])]]
		n := of.add(p.file, all.first[x].Line, text)
		of.count[n], of.total = all.count[x], of.total+all.count[x]-1
	}
	for a := range ofType {
		p.states = append(p.states, p.statesOf(&ofType[a]))
	}
	if model := p.l.o.Recipe; model != nil {
		if len(model.Columns) != len(p.columns) {
			p.add(0, "", "", "there are %d columns, the model has %d", len(p.columns), len(model.Columns))
			return
		}
		p.columns, p.states = model.Columns, nil
		for _, t := range p.l.o.Schema.NodeTypes {
			p.states = append(p.states, t.States)
		}
	}
	p.label(all.texts, t)
}

// label gives the texts of cells the states of their columns.
func (p *sampleReader) label(texts []string, t *table) {
	of := make([][]int32, len(p.states)) // [type][text]
	for i, x := range p.labels {
		if x < 0 {
			continue
		}
		c := i % len(p.columns)
		a := p.columns[c].Type
		if of[a] == nil {
			for _, text := range texts {
				of[a] = append(of[a], int32(slices.Index(p.states[a], text)))
			}
		}
		p.labels[i] = of[a][x]
		if text := texts[x]; of[a][x] < 0 && p.l.o.Recipe != nil && text != "0" && text != hiddenNumber {
			p.add(int(t.lines[i/len(p.columns)]), "", suggestion(text, p.states[a]),
				"column %d has %q, which is no state of the model", c+1, abbreviate(text))
		}
	}
}

// statesOf names the states of a type: the values that occur. Of spins there are two; where -1, 0 and 1 occur, one of
// them hides.
func (p *sampleReader) statesOf(t *labelTexts) []string {
	states := t.inOrder()
	counts := labelCounts{}
	for i, text := range t.texts {
		x, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			x = math.MaxInt32 // no sign
		}
		counts[int32(x)] += t.count[i]
	}
	if counts.areSigns() && len(states) == 3 && (p.l.o.Spins || p.l.manifest.HiddenLabels) {
		hidden := hiddenNumber
		if p.l.spins(counts) {
			hidden = "0"
		}
		p.note(voteNote, hidden, t.count[t.number[hidden]], t.total)
		states = slices.DeleteFunc(states, func(s string) bool { return s == hidden })
	}
	if named := p.l.o.States; len(named) > 0 && !slices.ContainsFunc(states, func(s string) bool {
		return !slices.Contains(named, s)
	}) {
		return named
	}
	if mark := t.likeMissing(); mark != "" && p.l.o.Schema == nil {
		p.note(likeMissingNote, abbreviate(mark))
	}
	switch {
	case p.l.o.Schema != nil:
	case len(states) == 1 && (states[0] == "0" || states[0] == "1"):
		states = []string{"0", "1"}
	case len(states) == 1:
		p.keep(t.at(0, "leave out the column by {columns!--columns} ignore=NAME, or name the states by {states}",
			"all values of a column are %q, which tells of one state only", abbreviate(states[0])))
	case p.l.o.Spins && len(states) > 2:
		p.keep(t.at(2, "learn them by {model!--model potts}, or leave a column out by {columns!--columns} ignore=NAME",
			"spins have two states, and this is the third value of a column: %s", firstFew(states)))
	case t.tooMany():
		p.keep(t.at(0, "leave out columns that are no samples, such as identifiers, by {columns!--columns} ignore=NAME",
			"a column has %d different values, such as %q, and states are wanted", len(states), abbreviate(states[0])))
	}
	return states
}

// weigh takes weights of samples from a column.
func (p *sampleReader) weigh(t *table, column int) {
	switch asked := p.l.o.SampleWeights; {
	case asked == "" || asked == noWeights || len(p.list) > 0:
		return
	case column < 0:
		p.keep(optionError("SampleWeights", "%q is no column of %s; %s", asked, p.file, suggestion(asked, t.header)))
		return
	}
	for i, row := range t.rows {
		w, err := strconv.ParseFloat(row[column], 64)
		if err != nil || !(w >= 0 && w <= numeric.Largest) {
			p.add(int(t.lines[i]), "", "", "the weight of a sample is %q, want a number that is not negative",
				abbreviate(row[column]))
			return
		}
		p.weights = append(p.weights, w)
	}
	p.note("samples weigh %.6g in all", sum(p.weights))
}

func sum(x []float64) (total float64) {
	for _, w := range x {
		total += w
	}
	return total
}
