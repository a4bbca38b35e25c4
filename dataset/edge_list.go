package dataset

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A list of edges has neither commas nor, mostly, a header: two nodes a line and perhaps a weight, or what networkx
// writes of an edge, {'weight': 4}; or each node with all its neighbours behind it, as in .adjlist. It is read as the
// table of edges that it is.

const edgeList = "a list of edges"

var edgeListExtensions = []string{".edgelist", ".edges", ".el", ".adjlist"}

// edgeAttribute is one of an edge, as Python prints it.
var edgeAttribute = regexp.MustCompile(`['"](\w+)['"]: *['"]?([^,'"}]*)`)

// edgeFields are the words of a line of a list, whatever is between them.
func edgeFields(line string) []string {
	line = strings.NewReplacer(" -> ", " ", " -- ", " ", `"`, "").Replace(line)
	return strings.FieldsFunc(line, func(c rune) bool { return strings.ContainsRune(" \t\r\n,;", c) })
}

// isComment reports whether a line is one, as programs that write such lists begin them.
func isComment(line string) bool {
	return strings.HasPrefix(line, "#") || strings.HasPrefix(line, "%") || strings.HasPrefix(line, "//")
}

// headers is how many of the first rows are a header, 1 or 0: names of ends, or words where numbers follow.
func headers(rows [][]string) int {
	if len(rows) < 2 || len(rows[0]) < 2 {
		return 0
	}
	head, next := rows[0], rows[1]
	ends := [2]string{strings.ToLower(head[0]), strings.ToLower(head[1])}
	weighted := len(head) == 3 && len(next) == 3 && !isNumber(head[2]) && isNumber(next[2])
	if slices.Contains(endNames, ends) || !isIndex(head[0]) && isIndex(next[0]) || weighted {
		return 1
	}
	return 0
}

// isEdge reports whether a line may be an edge: two ends, and perhaps a number or attributes.
func isEdge(fields []string) bool {
	n := len(fields)
	return n == 2 || n == 3 && isNumber(fields[2]) || n > 2 && strings.HasPrefix(fields[2], "{")
}

func areEdges(rows [][]string) bool {
	return !slices.ContainsFunc(rows, func(fields []string) bool { return !isEdge(fields) })
}

func areIndices(fields []string) bool {
	return !slices.ContainsFunc(fields, func(x string) bool { return !isIndex(x) })
}

// isEdgeList knows lists of edges by their name, or by lines of which the first two fields are numbers of nodes, or
// names that stand at both ends; pairs hardly repeat.
func (p *peek) isEdgeList() bool {
	if slices.Contains(edgeListExtensions, p.extension) && len(p.lines) > 0 {
		return true
	}
	if !p.plain() || p.text.ends > 1 || strings.Contains(p.start, ".npz") {
		return false
	}
	var rows [][]string
	for _, line := range p.lines {
		if fields := edgeFields(line); len(fields) > 0 {
			rows = append(rows, fields)
		}
	}
	if len(rows) < 3 {
		return false
	}
	rows = rows[headers(rows):]
	first, second, pairs := map[string]bool{}, map[string]bool{}, map[string]bool{}
	numbers, names := true, true
	for _, fields := range rows {
		numbers = numbers && areIndices(fields[:min(2, len(fields))])
		if first[fields[0]] = true; len(fields) > 1 {
			names = names && !isNumber(fields[1])
			second[fields[1]], pairs[fields[0]+" "+fields[1]] = true, true
		}
	}
	both := 0
	for name := range second {
		if first[name] {
			both++
		}
	}
	switch {
	case 2*len(pairs) < len(rows):
		return false
	case areEdges(rows):
		return numbers || names && 2*both >= len(second)
	}
	ragged := slices.ContainsFunc(rows, func(fields []string) bool { return len(fields) != len(rows[0]) })
	return ragged && areIndices(slices.Concat(rows...))
}

// isEdgeList reports whether a file is most probably one.
func isEdgeList(path string) bool { return newPeek(path).best().what == edgeList }

// readEdgeList reads a list of edges as the table that it is, whose first row is a header.
func (t *table) readEdgeList(data []byte) {
	var rows [][]string
	var lines []int
	line := 0
	for text := range strings.Lines(string(data)) {
		line++
		if fields := edgeFields(text); len(fields) > 0 && !isComment(fields[0]) {
			rows, lines = append(rows, fields), append(lines, line)
		}
	}
	first := headers(rows)
	t.addRow(1, []string{"source", "target"})
	switch neighbours := strings.EqualFold(filepath.Ext(t.file), ".adjlist") || !areEdges(rows[first:]); {
	case neighbours:
		for i, fields := range rows {
			for _, other := range fields[1:] {
				t.addRow(lines[i], []string{fields[0], other})
			}
		}
	case len(rows) > first:
		t.addEdges(rows, lines, first)
	}
}

// addEdges adds the edges behind a header of so many lines, 1 or 0, with a column for each attribute of the first.
func (t *table) addEdges(rows [][]string, lines []int, headed int) {
	names, first := t.rows[0], rows[headed]
	if headed > 0 && len(rows[0]) == len(first) {
		names = append(names, rows[0][2:]...)
	} else if len(first) == 3 && isNumber(first[2]) {
		names = append(names, "weight")
	}
	t.rows[0] = names
	for i, fields := range rows[headed:] {
		if len(fields) > 2 && strings.HasPrefix(fields[2], "{") {
			found := map[string]string{}
			for _, attribute := range edgeAttribute.FindAllStringSubmatch(strings.Join(fields[2:], " "), -1) {
				if found[attribute[1]] = strings.TrimSpace(attribute[2]); i == 0 {
					t.rows[0] = append(t.rows[0], attribute[1])
				}
			}
			fields = fields[:2:2]
			for _, name := range t.rows[0][2:] {
				fields = append(fields, found[name])
			}
		}
		t.addRow(lines[headed+i], fields)
	}
}
