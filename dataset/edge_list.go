package dataset

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A list of edges has neither commas nor, mostly, a header: two nodes a line and perhaps a weight, or what networkx
// writes of an edge, {'weight': 4}; or each node with all its neighbours behind it, as in .adjlist and, with their
// number and a line break between, in .gal of PySAL. It is read as the table of edges that it is.

const edgeList = "a list of edges"

var edgeListExtensions = []string{".edgelist", ".edges", ".el", ".adjlist", ".gal"}

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
		numbers = numbers && !slices.ContainsFunc(fields[:min(2, len(fields))], func(x string) bool { return !isIndex(x) })
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
	case !slices.ContainsFunc(rows, func(fields []string) bool { return !isEdge(fields) }):
		return numbers || names && 2*both >= len(second)
	}
	ragged := slices.ContainsFunc(rows, func(fields []string) bool { return len(fields) != len(rows[0]) })
	other := func(x string) bool { return !isIndex(x) }
	return ragged && !slices.ContainsFunc(slices.Concat(rows...), other)
}

// isEdgeList reports whether a file is most probably one.
func isEdgeList(path string) bool {
	f := newPeek(path).best()
	return f != nil && f.what == edgeList
}

// edgeListNotes say which of some files are read as such.
func edgeListNotes(paths []string) (notes []string) {
	for _, path := range paths {
		if isEdgeList(path) {
			notes = append(notes, path+" is read as "+edgeList)
		}
	}
	return notes
}

// readEdgeList reads a list of edges as the table that it is, whose first row is a header.
func (t *table) readEdgeList(data []byte) {
	list, extension, line := &table{}, strings.ToLower(filepath.Ext(t.path)), 0
	for text := range strings.Lines(string(data)) {
		line++
		if fields := edgeFields(text); len(fields) > 0 && !isComment(fields[0]) {
			list.addRow(line, fields)
		}
	}
	first := headers(list.rows)
	other := func(fields []string) bool { return !isEdge(fields) }
	t.addRow(1, []string{"source", "target"})
	switch neighbours := slices.ContainsFunc(list.rows[first:], other); {
	case extension == ".gal":
		t.addGal(list)
	case neighbours || extension == ".adjlist":
		for i, fields := range list.rows {
			t.addNeighbours(list.lines[i], fields[0], fields[1:])
		}
	default:
		t.addEdges(list, first)
	}
}

// addNeighbours adds an edge from a node to each of some.
func (t *table) addNeighbours(line int32, node string, neighbours []string) {
	for _, other := range neighbours {
		t.addRow(int(line), []string{node, other})
	}
}

// addGal adds the edges of words that are, behind the first line, a node, the number of its neighbours, and these.
func (t *table) addGal(list *table) {
	var words []string
	var lines []int32
	for i := 1; i < len(list.rows); i++ {
		words = append(words, list.rows[i]...)
		lines = append(lines, slices.Repeat(list.lines[i:i+1], len(list.rows[i]))...)
	}
	for len(words) > 1 {
		count, _ := strconv.Atoi(words[1])
		end := max(2, min(2+count, len(words)))
		t.addNeighbours(lines[0], words[0], words[2:end])
		words, lines = words[end:], lines[end:]
	}
}

// addEdges adds the edges behind a header of so many lines, 1 or 0, with a column for each attribute of the first.
func (t *table) addEdges(list *table, headed int) {
	if len(list.rows) == headed {
		return
	}
	names, first := t.rows[0], list.rows[headed]
	if t.headed = "None"; headed > 0 {
		t.headed = "0"
	} else if len(first) > 2 && first[2][0] == '{' {
		t.headed = "{"
	}
	if headed > 0 && len(list.rows[0]) == len(first) {
		names = append(names, list.rows[0][2:]...)
	} else if len(first) == 3 && isNumber(first[2]) {
		names = append(names, "weight")
	}
	for i, fields := range list.rows[headed:] {
		row := fields
		if len(fields) > 2 && strings.HasPrefix(fields[2], "{") {
			row = fields[:2:2]
			found := map[string]string{}
			for _, attribute := range edgeAttribute.FindAllStringSubmatch(strings.Join(fields[2:], " "), -1) {
				if found[attribute[1]] = strings.TrimSpace(attribute[2]); i == 0 {
					names = append(names, attribute[1])
				}
			}
			for _, name := range names[2:] {
				row = append(row, found[name])
			}
		}
		t.addRow(int(list.lines[headed+i]), row)
	}
	t.rows[0] = names
}
