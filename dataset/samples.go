package dataset

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/formats"
	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
)

// Samples as people keep them, for models whose every node and edge has weights of its own: a table whose rows are
// samples and whose columns are the nodes, or an alignment of sequences. They become the arrays of an instance.

// sampleColumn is a node of a model of samples: what the table calls it, and its type, which has its states.
type sampleColumn struct {
	Name string `json:"name"`
	Type int    `json:"type"`
}

// samples are what was read of a table or an alignment, beside its arrays.
type samples struct {
	columns []sampleColumn // empty names: nodes are called by their numbers
	pairs   []int32        // ends of the edges; nil: all pairs are
	states  [][]string     // of each type
}

// readsSamples reports whether tables are samples: every node and edge has weights of its own, as no graph table has.
func (o *Options) readsSamples() bool { return o.Untied || o.Recipe != nil && o.Recipe.Untied }

// openSamples reads a file of samples, and the table of their edges, if there is one.
func (l *npzLoader) openSamples(path string) []*npzInstance {
	p := &sampleReader{Problems: option.Problems{File: path}, loader: &l.loader, edges: l.pairs}
	data, edges := l.source(path, "samples", anySize), []int32(nil)
	switch p.List = l.problems; {
	case len(p.List) > 0:
	case formats.Look(path).IsAlignment(formats.LeastSites):
		p.readAlignment(data)
	default:
		p.readTable(data)
	}
	switch {
	case len(p.List) > 0:
	case l.o.Lattice != "":
		edges = p.lattice(l.o.Lattice)
	case p.edges != "":
		edges = p.namedPairs()
	case l.o.Recipe != nil && l.o.Recipe.Pairs != nil:
		edges = slices.Clone(l.o.Recipe.Pairs)
	default:
		edges = p.allPairs()
	}
	if l.o.Lattice+l.pairs != "" {
		p.samples.pairs = edges
	}
	if l.problems = p.Errors(); len(l.problems) > 0 {
		return nil
	}
	for e := 0; e < len(edges); e += 2 { // the end of the smaller type comes first, and of one type the smaller
		if u, v := edges[e], edges[e+1]; cmp.Or(p.columns[u].Type-p.columns[v].Type, int(u-v)) > 0 {
			edges[e], edges[e+1] = v, u
		}
	}
	types, states := make([]int32, len(p.columns)), make([]int32, len(p.columns))
	for s, c := range p.columns {
		types[s], states[s] = int32(c.Type), int32(len(p.states[c.Type]))
	}
	in := arraysAt(path)
	in.samples, in.Arrays = &p.samples, map[string]npy.Values{
		edgesArray:  {Shape: []int{len(edges) / 2, 2}, Ints: edges},
		labelsArray: {Shape: []int{len(p.labels) / len(states), len(states)}, Ints: p.labels},
		statesArray: {Shape: []int{len(states)}, Ints: states}, nodeTypesArray: {Shape: []int{len(states)}, Ints: types},
	}
	if p.weights != nil {
		in.Arrays[sampleWeights] = npy.Values{Shape: []int{len(p.weights)}, Double: p.weights}
	}
	if p.aligned && !l.o.Tied { // states are those of sites: J(a, b) and J(b, a) differ
		in.Arrays[directedArray] = npy.Values{Ints: []int32{1}}
	}
	return []*npzInstance{in}
}

// sampleReader reads a file of samples.
type sampleReader struct {
	option.Problems
	samples
	*loader
	edges   string    // their table; "": there is none
	labels  []int32   // [samples][nodes]
	weights []float64 // of samples; nil: 1
	aligned bool      // they are an alignment
}

func (p *sampleReader) allPairs() (edges []int32) {
	n := int32(len(p.columns))
	for u := range n {
		for v := u + 1; v < n; v++ {
			edges = append(edges, u, v)
		}
	}
	if p.o.Recipe == nil { // of a model they are as they were
		p.warn("all %d pairs of %d nodes are edges; a table of edges beside the samples, such as edges.csv, names fewer",
			len(edges)/2, n)
	}
	return edges
}

// lattice joins the neighbours on a grid.
func (p *sampleReader) lattice(asked string) (edges []int32) {
	rows, cols, n := 0, 0, len(p.columns)
	shape, borders, joined := strings.Cut(asked, ":")
	fmt.Sscanf(shape, "%dx%d", &rows, &cols)
	if rows < 1 || cols < 1 || rows > n || cols > n || rows*cols != n || shape != fmt.Sprintf("%dx%d", rows, cols) ||
		p.edges != "" || joined && (borders != "periodic" || min(rows, cols) < 3) {
		p.Keep(option.Wrong("Lattice", "%q: want ROWSxCOLS, or ROWSxCOLS:periodic with 3 of each or more, with a node for "+
			"each of %d columns, and no table of edges", asked, n))
		return nil
	}
	edges, _ = latticeEdges(rows, cols, joined) // it has no other errors
	return edges
}

// namedPairs are the edges that a table names, by names of columns or by numbers from 0, as in tables of a graph.
func (p *sampleReader) namedPairs() (edges []int32) {
	l := &tableLoader{loader: *p.loader, rules: &sheetRecipe{}}
	data := l.source(p.edges, "a table of edges", anySize)
	if p.List = l.problems; len(p.List) > 0 {
		return nil
	}
	t := formats.ReadTable(p.edges, data, false)
	g := &tableGraph{nodes: &formats.Table{Problems: option.Problems{File: p.File}}, edges: t, byName: map[string]int32{}}
	for s := range p.columns {
		g.byName[strconv.Itoa(s)] = int32(s)
	}
	for s, c := range p.columns {
		g.byName[formats.Key(c.Name)] = int32(s)
	}
	delete(g.byName, "")
	if len(t.List) == 0 {
		l.rolesOfEdges(t, func(name string) bool { _, is := g.byName[formats.Key(name)]; return is })
	}
	if len(t.List)+len(l.problems) == 0 {
		rows := l.joinRows(g)
		for e := range rows.u {
			edges = append(edges, rows.u[e], rows.v[e])
		}
	}
	p.List = append(l.problems, t.Errors()...)
	return edges
}

// readTable reads rows of cells, below names of columns or none.
func (p *sampleReader) readTable(data []byte) {
	data = formats.WithoutTitles(data)
	if first, _, _ := bytes.Cut(bytes.TrimLeft(data, "\n"), []byte("\n")); !bytes.ContainsAny(first, formats.Separators) {
		lines := strings.Split(string(data), "\n") // of numbers between blanks
		for i, line := range lines {
			lines[i] = strings.Join(strings.Fields(strings.TrimPrefix(line, "#")), "\t")
		}
		data = []byte(strings.Join(lines, "\n"))
	}
	t := formats.ReadRows(p.File, data, false)
	if p.List = t.List; len(p.List) > 0 {
		return
	}
	alike, zeros := t.Square(t.Rows)
	zeros = zeros || strings.Contains(strings.Join(t.Rows[0], ""), ".") // or correlations
	if alike && zeros && len(t.Rows[0]) > 3 && p.o.Recipe == nil {
		p.Add(0, "", formats.Look(p.File).Advise("a matrix of couplings"), "it is a matrix of edges, and samples are wanted")
		return
	}
	rows, columns, names := len(t.Rows), len(t.Rows[0]), make([]string, len(t.Rows[0]))
	if empty := int(t.Lines[rows-1]-t.Lines[0]) + 1 - rows; empty > 0 {
		p.warn("%d empty rows are no samples, and left out", empty)
	}
	below := numeric.SetOf(slices.Concat(t.Rows[1:]...)) // cells of a first row that is a sample are there, or missing
	if slices.ContainsFunc(t.Rows[0], func(cell string) bool { return !formats.MissingCell(cell) && !below[cell] }) {
		p.Keep(t.TakeHeader())
		names = t.Header
	}
	switch p.List = append(p.List, t.List...); {
	case len(p.List) > 0:
	case columns < 2:
		p.Add(0, "", "separate columns by commas, semicolons or tabs", "want rows that are samples, with a column for each "+
			"of two nodes or more")
	case len(t.Rows) == 0:
		p.Add(0, "", "", "there is a header, and no sample below it")
	default:
		p.take(names, t)
	}
}

// nodes are the columns that are nodes, of a model in its order, and that of weights, -1 if there is none.
func (p *sampleReader) nodes(names []string) (kept []int, weights int) {
	ignored, named, model := p.o.named(formats.RoleIgnore, names), strings.Join(names, "") != "", []sampleColumn(nil)
	if r := p.o.Recipe; r != nil && len(r.Columns) > 0 && r.Columns[0].Name != "" && named {
		model = r.Columns
	}
	header := formats.Table{Header: names}
	for _, name := range p.o.given(formats.RoleIgnore) {
		if p.o.Recipe == nil && header.Column(name) < 0 {
			remedy := option.DidYouMean(name, names)
			if !named {
				remedy = "the table has no names of columns"
			}
			p.Add(1, "", remedy, "there is no column %q to ignore", option.Short(name))
		}
	}
	weights = -1
	for i, name := range names {
		switch {
		case name != "" && name == p.o.SampleWeights:
			weights = i
		case ignored[name],
			named && name == "" && (i == 0 || strings.Join(names[i:], "") == ""): // numbers of rows, or ends of lines
			p.warn("column %d, %q, is left out", i+1, option.Short(name))
		case model == nil:
			kept = append(kept, i)
		}
	}
	for _, c := range model {
		i := slices.Index(names, c.Name)
		if kept = append(kept, i); i < 0 {
			p.Add(1, "", option.DidYouMean(c.Name, names), "the model's column %q is missing", option.Short(c.Name))
		}
	}
	return kept, weights
}

// take makes samples of the columns that are nodes.
func (p *sampleReader) take(names []string, t *formats.Table) {
	kept, weights := p.nodes(names)
	if len(p.List) > 0 {
		return
	}
	model, texts := p.o.Recipe, make([]labelTexts, len(kept)) // of each column
	p.labels = make([]int32, len(t.Rows)*len(kept))           // numbers of texts, for now
	counted := slices.Compact(numeric.Map(kept, func(i int) string { return strings.Trim(names[i], "0123456789") }))
	const far = 50 // times as many columns as rows: all pairs of them are more than samples tell of
	turn, n, many := formats.Look(p.File).Advise("samples in columns"), len(t.Rows), max(len(t.Rows), manyStates)
	if len(kept) > far*many && model == nil && p.edges+p.o.Lattice == "" {
		p.Add(1, "", "write a table of the pairs to learn beside it, edges.csv; or, where columns are samples, "+turn,
			"there are %d columns and %d rows: rows are samples, too few for all pairs of columns", len(kept), n)
		return
	}
	if len(kept) > many && len(counted) == 1 && model == nil { // other names are those of nodes
		p.warn("there are %d columns and %d rows: rows are samples; where columns are, %s", len(kept), n, option.Text(turn))
	}
	for c, i := range kept {
		p.columns = append(p.columns, sampleColumn{Name: names[i]})
		texts[c].named = numeric.SetOf(p.o.States)
		for r, row := range t.Rows {
			p.labels[r*len(kept)+c] = texts[c].see(p.File, int(t.Lines[r]), row[i])
		}
		if texts[c].total == 0 && model == nil {
			p.Add(0, "", p.leave(c), "column %d, %q, has no value", i+1, option.Short(names[i]))
		}
	}
	switch {
	case model == nil:
		p.findTypes(texts)
	case len(model.Columns) != len(kept):
		p.Add(0, "", "", "there are %d columns, the model has %d", len(kept), len(model.Columns))
		return
	default:
		p.columns = model.Columns
		p.states = numeric.Map(p.o.Schema.NodeTypes, func(t crf.NodeType) []string { return t.States })
	}
	p.number(texts)
	p.weigh(t, weights)
}

// findTypes makes one type of columns that have a value in common, whose states are the values of all of them.
func (p *sampleReader) findTypes(texts []labelTexts) {
	first, of := map[string]int{}, numeric.To(len(texts)) // columns: that of a text, and that of each one's type
	for c := range texts {
		for _, text := range texts[c].texts {
			other, known := first[text]
			if !known {
				first[text] = c
			} else if a, b := min(of[other], of[c]), max(of[other], of[c]); a != b {
				for i := range c + 1 {
					if of[i] == b {
						of[i] = a
					}
				}
			}
		}
	}
	var all []labelTexts
	var widest []int // column of each type, with the most values
	for c := range texts {
		a := p.columns[of[c]].Type // of the first column that is like it
		if int(of[c]) == c {
			a, all, widest = len(all), append(all, labelTexts{}), append(widest, c)
		} else if len(texts[c].texts) > len(texts[widest[a]].texts) {
			widest[a] = c
		}
		p.columns[c].Type = a
		for x, text := range texts[c].texts {
			n, more := all[a].add(p.File, texts[c].first[x].Line, text), texts[c].count[x]-1
			all[a].count[n], all[a].total = all[a].count[n]+more, all[a].total+more
		}
	}
	for a, c := range widest {
		p.states = append(p.states, p.statesOf(&all[a], func(i int) int { return first[all[a].texts[i]] }, c,
			fmt.Sprintf("%s has %d different values", p.called(c), len(texts[c].texts))))
	}
}

func (p *sampleReader) called(c int) string {
	return fmt.Sprintf("column %q", option.Short(cmp.Or(p.columns[c].Name, strconv.Itoa(c+1))))
}

// leave tells how to do without a column.
func (p *sampleReader) leave(c int) string {
	return strings.ReplaceAll("leave it out by {columns=ignore=NAME}, for counts of rows use {sample-weights=NAME}, or "+
		"divide what is measured into classes, as at the median", "NAME", option.Literal(cmp.Or(p.columns[c].Name, "NAME")))
}

// number gives cells the states of their columns.
func (p *sampleReader) number(texts []labelTexts) {
	for c := range texts {
		t, states := &texts[c], p.states[p.columns[c].Type]
		of := numeric.Map(t.texts, func(text string) int32 { return int32(slices.Index(states, text)) })
		for x, text := range t.texts {
			if of[x] < 0 && p.o.Recipe != nil && text != "0" && text != hiddenNumber {
				p.Keep(t.at(x, option.DidYouMean(text, states), "column %d has %q, which is no state of the model", c+1,
					option.Short(text)))
			}
		}
		for i := c; i < len(p.labels); i += len(texts) {
			if x := p.labels[i]; x >= 0 {
				p.labels[i] = of[x]
			}
		}
	}
	p.noteUnknown(texts)
}

// noteUnknown looks at each 0 and -1 that is no state: a missing value, unless it may be another name of one. So may -1
// in training, beside 1 alone, where no column has -1, 0 and 1; and so may both for a model of spins, where at least 20
// values are known and all of them are 1.
func (p *sampleReader) noteUnknown(texts []labelTexts) {
	missing, many := 0, 20
	for a, states := range p.states {
		var err *option.Error
		known, three := map[string]int{}, p.manifest.HiddenLabels
		for c := range texts {
			t := &texts[c]
			for x := 0; p.columns[c].Type == a && x < len(t.texts); x++ {
				switch text, n := t.texts[x], t.count[x]; {
				case slices.Contains(states, text):
					known[text] += n
				case p.o.Recipe != nil:
					missing, err = missing+n, cmp.Or(err, t.at(x, "write "+option.FirstFew(states)+", and leave cells empty if "+
						"the value is not known", "column %d has %q, which is no state of the model", c+1, option.Short(text)))
				case len(t.texts) != 2:
					three = three || len(t.texts) == 3
				case text == hiddenNumber && t.texts[1-x] == "1" && farFewer*n > t.total-n:
					err = cmp.Or(err, t.at(x, "write the states of all columns alike, and leave cells empty if the value is not "+
						"known", "column %d has -1 and 1, and others 0 and 1, beside which -1 would be a missing value", c+1))
				}
			}
		}
		spins := slices.Contains([]string{"0 1", "-1 1"}, strings.Join(states, " ")) && known["1"] >= many && len(known) == 1
		if err != nil && (p.o.Recipe == nil && !three || p.o.Recipe != nil && spins) {
			p.Keep(err)
		}
	}
	if missing > 0 {
		p.warn("%d of %d cells are 0 or -1, no state of the model, and taken for missing values", missing, len(p.labels))
	}
}

// statesOf names the states of a type: the values that occur. Of spins there are two; where -1, 0 and 1 occur, one of
// them hides. column is that of a text, and many tells of the widest, which has the most.
func (p *sampleReader) statesOf(t *labelTexts, column func(i int) int, widest int, many string) []string {
	states := numeric.InOrder(t.texts)
	if slices.Equal(states, []string{hiddenNumber, "0", "1"}) && (p.o.Spins || p.manifest.HiddenLabels) {
		hidden, of := hiddenNumber, func(text string) int { return t.count[t.number[text]] }
		if p.spins(labelCounts{-1: of(hiddenNumber), 0: of("0"), 1: of("1")}) {
			hidden = "0"
		}
		p.warn(voteNote, hidden, of(hidden), t.total)
		states = slices.DeleteFunc(states, func(s string) bool { return s == hidden })
	}
	if named := p.o.States; len(named) > 0 && !slices.ContainsFunc(states, func(s string) bool {
		return !slices.Contains(named, s)
	}) {
		return named
	}
	if len(states) == 0 {
		return nil
	}
	first, last, is := t.count[t.number[states[0]]], t.count[t.number[states[len(states)-1]]], ""
	if of := states[1:]; len(of) > 1 && !strings.HasPrefix(of[0], "-") && (!slices.Equal(of, []string{"0", "1"}) ||
		farFewer*first <= min(last, t.total-first-last)) { // else -1 is a state, as of a spin 1
		is = hiddenNumber
	}
	t.noteDoubts(p.warn, is)
	const few, rarely = 5, 20 // of different values, and of the most frequent for one of the largest
	isText := func(s string) bool { _, err := strconv.ParseUint(s, 10, 64); return err != nil }
	switch n := len(states); {
	case n == 1 && (states[0] == "0" || states[0] == "1"):
		states = []string{"0", "1"}
	case n == 1:
		p.Keep(t.at(0, p.leave(widest)+", or name the states by {states}", "all values of %s are %q, which tells of one "+
			"state only", option.Text(p.called(widest)), option.Short(states[0])))
	case p.o.Spins && n > 2:
		p.Keep(t.at(2, "leave cells of no value empty, learn by {model!--model potts}, or "+p.leave(column(2)), "spins have "+
			"two states, and this is the third value of %s: %s", option.Text(p.called(column(2))), option.FirstFew(states)))
	case t.tooMany(), n == t.total && n > fewCells: // as names of rows
		p.Keep(t.at(0, p.leave(widest), "%s, such as %q, and states are wanted", option.Text(many), option.Short(states[0])))
	case n > manyStates:
		p.warn("%s, each a state; if it is none, as a day, %s", option.Text(many), option.Text(p.leave(widest)))
	case n > few && !slices.ContainsFunc(states, isText) && rarely*last < slices.Max(t.count): // of codes any is rare
		p.warn("%s, numbers that are states without an order, some of them rare: what counts or measures is learned better "+
			"in a few classes, such as 0, 1 and more", many)
	}
	return states
}

// weigh takes weights of samples from a column.
func (p *sampleReader) weigh(t *formats.Table, column int) {
	switch asked := p.o.SampleWeights; {
	case asked == "" || asked == noWeights || len(p.List) > 0:
		return
	case column < 0:
		p.Keep(option.Wrong("SampleWeights", "%q is no column of %s; %s", asked, p.File, option.DidYouMean(asked, t.Header)))
		return
	}
	for i, row := range t.Rows {
		w, err := t.Number(row[column])
		if err != nil || !(w >= 0 && w <= numeric.Largest) {
			p.Add(int(t.Lines[i]), "", "", "the weight of a sample is %q, want a number that is not negative",
				option.Short(row[column]))
			return
		}
		p.weights = append(p.weights, w)
	}
	p.warn("samples weigh %.6g in all", numeric.Sum(p.weights))
}
