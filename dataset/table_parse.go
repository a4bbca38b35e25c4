package dataset

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/internal/numeric"
)

// missingFeatures in the column of features says that a node's are not known.
const missingFeatures = "?"

// What to do about rows that do not go together.
const (
	oneRow     = "keep one row for every node"
	ownName    = "give it one that no other node has, or leave the row out"
	unknownEnd = "give the node a row there, or leave this row out"
)

// sparseValue is one entry of a node's feature vector.
type sparseValue struct {
	index int32
	value float64
}

// nodeTable is a table of nodes: name, label, split, sparse features.
type nodeTable struct {
	path    string
	names   []string
	byName  map[string]int32 // the row
	place   []int32          // [row] its node; nil: they are the same
	lines   []int32          // [node] line in the file, from 1
	labels  []int32          // [node], −1 for none
	splits  []string
	missing []bool // [node] features are not known
	// Features of all nodes, by rising index within a node.
	start []int // [node+1] where those of a node begin
	index []int32
	value []float64
	used  top // of the indices, with the lines where they stand
	// ones says that all values are.
	ones bool

	row []sparseValue // of the node that is read
}

// parseNodes reads a table of nodes. limit is the length of feature vectors
// where it is known, and limitOf says by what.
func parseNodes(ctx context.Context, path string, data []byte, limit int, limitOf string) (*nodeTable, []error) {
	t := &nodeTable{path: path, byName: map[string]int32{}, start: []int{0}, used: newTop(), ones: true}
	p := &problems{file: path}
	for line, text := range tableLines(ctx, data) {
		if problem, remedy := t.parseNode(text, line, limit, limitOf); problem != "" {
			p.add(line, "", remedy, "%s", problem)
		}
	}
	if len(t.names) == 0 && len(p.list) == 0 {
		p.add(0, "", "", "there are no nodes")
	}
	return t, p.errors()
}

// sort brings the nodes into order.
func (t *nodeTable) sort() {
	var row []int32
	if row, t.place = rowsInOrder(t.names); row == nil {
		return
	}
	t.names, t.lines, t.labels, t.splits, t.missing = take(t.names, row), take(t.lines, row), take(t.labels, row), take(t.splits, row), take(t.missing, row)
	t.start, t.index, t.value = takeSparse(t.start, t.index, t.value, row)
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

// parseNode reads one line and returns what is wrong with it, or "".
func (t *nodeTable) parseNode(text string, line, limit int, limitOf string) (problem, remedy string) {
	columns := strings.Split(text, "\t")
	if len(columns) < 2 || len(columns) > 4 {
		return fmt.Sprintf("there are %d columns, want 2 to 4, separated by tabs: node, label, split, features", len(columns)), ""
	}
	name := strings.TrimSpace(columns[0])
	if before, twice := t.byName[name]; twice {
		return fmt.Sprintf("node %q is on line %d already", abbreviate(name), t.lines[before]), oneRow
	}
	if name == "" {
		return "the node has no name", ownName
	}
	label, err := strconv.ParseInt(strings.TrimSpace(columns[1]), 10, 32)
	if err != nil || label < -1 || label >= mostStates {
		return fmt.Sprintf("label is %q, want -1 (none) or 0 to %d", abbreviate(columns[1]), mostStates-1),
			"begin the line with # if it is a header"
	}
	columns = append(columns, "", "") // split and features may be left out
	features := strings.TrimSpace(columns[3])
	t.row = t.row[:0]
	if features != missingFeatures {
		if problem := t.parseFeatures(features, line, limit, limitOf); problem != "" {
			return problem, ""
		}
	}
	t.byName[name] = int32(len(t.names))
	t.names = append(t.names, name)
	t.lines = append(t.lines, int32(line))
	t.labels = append(t.labels, int32(label))
	t.splits = append(t.splits, strings.TrimSpace(columns[2]))
	t.missing = append(t.missing, features == missingFeatures)
	for _, f := range t.row {
		t.index, t.value = append(t.index, f.index), append(t.value, f.value)
	}
	t.start = append(t.start, len(t.index))
	return "", ""
}

// parseFeatures reads a node's features into row, sorted by index.
func (t *nodeTable) parseFeatures(text string, line, limit int, limitOf string) (problem string) {
	for field := range strings.FieldsSeq(text) {
		indexText, valueText, valued := strings.Cut(field, ":")
		index, err := strconv.ParseInt(indexText, 10, 32)
		if err != nil || index < 0 {
			return fmt.Sprintf("feature %q: want index or index:value, or %s for features that are not known", abbreviate(field), missingFeatures)
		}
		if int(index) >= limit {
			return fmt.Sprintf("feature %q: index is beyond the %d features of %s", abbreviate(field), limit, limitOf)
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

// edgeTable is a table of edges without loops and repetitions.
type edgeTable struct {
	u, v            []int32
	loops, repeated []int // the lines of those left out
	reversed        int   // the first of them that joins nodes the other way round; 0: none
}

// parseEdges reads a table of edges between the nodes of a table.
func parseEdges(ctx context.Context, path string, data []byte, nodes *nodeTable) (*edgeTable, []error) {
	t := &edgeTable{}
	p := &problems{file: path}
	seen := map[[2]int32]int32{} // by the ends, smaller first: the row in t
	for line, text := range tableLines(ctx, data) {
		names := strings.Fields(text)
		if len(names) != 2 {
			p.add(line, "", "", "there are %d columns, want 2: the two nodes", len(names))
			continue
		}
		u, foundU := nodes.byName[names[0]]
		v, foundV := nodes.byName[names[1]]
		u, v = nodeOf(nodes.place, u), nodeOf(nodes.place, v)
		pair := [2]int32{min(u, v), max(u, v)}
		first, again := seen[pair]
		switch {
		case !foundU:
			p.add(line, "", unknownEnd, "there is no node %q in %s", abbreviate(names[0]), nodes.path)
		case !foundV:
			p.add(line, "", unknownEnd, "there is no node %q in %s", abbreviate(names[1]), nodes.path)
		case u == v:
			t.loops = append(t.loops, line)
		case again:
			t.repeat(line, u, first)
		default:
			seen[pair] = int32(len(t.u))
			t.u, t.v = append(t.u, u), append(t.v, v)
		}
	}
	return t, p.errors()
}

// repeat leaves out a line that joins the nodes of a row again, from u.
func (t *edgeTable) repeat(line int, u, row int32) {
	t.repeated = append(t.repeated, line)
	if t.reversed == 0 && t.u[row] != u {
		t.reversed = line
	}
}

// warnings says what was left out.
func (t *edgeTable) warnings(path string) (list []string) {
	if len(t.loops) > 0 {
		list = append(list, fmt.Sprintf("%s:%d: an edge from a node to itself is left out (%d in all)", path, t.loops[0], len(t.loops)))
	}
	if len(t.repeated) > 0 {
		list = append(list, fmt.Sprintf("%s:%d: an edge that is there already, in either direction, is left out (%d in all)", path, t.repeated[0], len(t.repeated)))
	}
	return list
}
