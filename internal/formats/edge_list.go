package formats

import (
	"slices"
	"strings"

	"github.com/blockbp/blockbp/internal/numeric"
)

// EdgeList is what has neither commas nor, mostly, a header: two nodes a line and perhaps a weight, also as networkx
// writes it, {'weight': 4}. It is read as the table of edges that it is.
const EdgeList = "a list of edges"

var edgeListExtensions = []string{".edgelist", ".edges", ".el", ".cites", ".ncol"}

// edgeColumns are what the columns of a list of edges are called.
var edgeColumns = []string{RoleSource, RoleTarget, RoleWeight}

// edgeFields are the fields of a line of a list, between tabs if it has any, and else whatever is between them. A
// number behind a blank is a weight all the same.
func edgeFields(line string) (fields []string) {
	marks := " \t\r\n,;"
	if strings.Contains(strings.TrimSpace(line), "\t") { // names may have the others
		marks = "\t\r\n"
	}
	line = strings.NewReplacer(" -> ", marks[:1], " -- ", marks[:1], "{'weight':", "", "{", "", "}", "", `"`, "").
		Replace(line)
	fields = trimmed(strings.FieldsFunc(line, func(c rune) bool { return strings.ContainsRune(marks, c) }))
	fields = slices.DeleteFunc(fields, func(field string) bool { return field == "" })
	if len(fields) == 2 {
		if i := strings.LastIndex(fields[1], " "); i >= 0 && isNumber(fields[1][i+1:]) {
			fields = []string{fields[0], strings.TrimSpace(fields[1][:i]), fields[1][i+1:]}
		}
	}
	return fields
}

// isComment reports whether a line is one, as programs that write such lists begin them.
func isComment(line string) bool {
	return strings.HasPrefix(line, "#") || strings.HasPrefix(line, "%") || strings.HasPrefix(line, "//")
}

// headers is how many of the first rows are a header, 1 or 0: usual names of ends, or a word where the row below has a
// number. Other words name nodes.
func headers(rows [][]string) int {
	if len(rows) < 2 || len(rows[0]) < 2 {
		return 0
	}
	head, next := rows[0], rows[1]
	above := func(i int) bool { return i < min(len(head), len(next)) && !isNumber(head[i]) && isNumber(next[i]) }
	ends := [2]string{strings.ToLower(head[0]), strings.ToLower(head[1])}
	if slices.Contains(endNames, ends) || above(0) || above(2) {
		return 1
	}
	return 0
}

// isEdgeList knows lists of edges by their name, or by lines of which the first two fields are numbers of nodes, or
// names that stand at both ends, or of which there are more than labels, at either end; pairs hardly repeat.
func (p *Peek) isEdgeList() bool {
	if slices.Contains(edgeListExtensions, p.extension) && len(p.lines) > 0 {
		return true
	}
	if !p.open() || p.text.Ends > 1 || strings.Contains(p.start, ".npz") {
		return false
	}
	rows := slices.DeleteFunc(numeric.Map(p.lines, edgeFields), func(row []string) bool { return len(row) == 0 })
	all := len(rows)
	if all == 3 && len(rows[0]) == 3 && len(rows[1]) == 3 && rows[0][0]+rows[1][1]+rows[2][len(rows[2])-1] == "000" &&
		(rows[0][1] == rows[1][0] || rows[0][1] == "0" || rows[1][0] == "0") {
		return false // but a matrix of edges of three nodes: edges of a list join two nodes each, and no two twice
	}
	rows = rows[headers(rows):]
	first, second, pairs, numbers, names := map[string]bool{}, map[string]bool{}, map[string]bool{}, true, true
	for _, fields := range rows {
		if len(fields) != 2 && (len(fields) != 3 || !isNumber(fields[2])) {
			return false
		}
		first[fields[0]], second[fields[1]], pairs[fields[0]+" "+fields[1]] = true, true, true
		numbers = numbers && isIndex(fields[0]) && isIndex(fields[1])
		names = names && !isNumber(fields[1])
	}
	apart := slices.DeleteFunc(slices.Clone(rows), func(fields []string) bool { return first[fields[1]] })
	const manyLabels = 50 // of one sentence
	return all > 2 && 2*len(pairs) >= len(rows) && (numbers || names && (2*len(apart) <= len(rows) ||
		len(second) > manyLabels && 2*len(second) > len(first)))
}

// IsEdgeList reports whether a file is most probably one.
func IsEdgeList(path string) bool { return Look(path).Best().What == EdgeList }

// readEdgeList reads a list of edges as the table that it is, whose first row is a header.
func (t *Table) readEdgeList(data []byte) {
	line, wide := 0, 2
	for text := range strings.Lines(string(data)) {
		line++
		switch fields := edgeFields(text); {
		case len(fields) == 0 || isComment(fields[0]):
		case len(fields) == 2 || len(fields) == 3:
			t.addRow(line, fields)
			wide = max(wide, len(fields))
		default:
			t.Add(line, "", "write a table of edges with a header for more", "there are %d fields, want two nodes, and perhaps "+
				"a weight", len(fields))
		}
	}
	if headers(t.Rows) == 0 {
		t.Rows, t.Lines = slices.Insert(t.Rows, 0, slices.Clone(edgeColumns[:wide])), slices.Insert(t.Lines, 0, 1)
	}
	copy(t.Rows[0], edgeColumns[:2])
	for i, fields := range t.Rows {
		if len(fields) < wide { // a weight that is not known, or has no name
			t.Rows[i] = append(fields, []string{RoleWeight, ""}[min(i, 1)])
		}
	}
}
