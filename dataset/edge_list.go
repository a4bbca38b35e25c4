package dataset

import (
	"bytes"
	"encoding/csv"
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

// headers is how many of the first rows are a header of numbered nodes: 1 or 0.
func headers(rows [][]string) int {
	if len(rows) > 1 && !isIndex(rows[0][0]) && isIndex(rows[1][0]) {
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

// edgeTableOf returns a table of edges with a header for the content of a list of them; other content as it is.
func edgeTableOf(path string, data []byte) []byte {
	if !isEdgeList(path) {
		return data
	}
	extension := strings.ToLower(filepath.Ext(path))
	var rows [][]string
	for line := range strings.Lines(string(data)) {
		if fields := edgeFields(line); len(fields) > 0 && !isComment(fields[0]) {
			rows = append(rows, fields)
		}
	}
	header := []string{"source", "target"}
	other := func(fields []string) bool { return !isEdge(fields) }
	switch neighbours := slices.ContainsFunc(rows[headers(rows):], other); {
	case extension == ".gal":
		rows = pairsOfGal(slices.Concat(rows[1:]...))
	case neighbours || extension == ".adjlist":
		rows = pairsOfNeighbours(rows)
	default:
		header, rows = edgeColumns(rows)
	}
	var table bytes.Buffer
	w := csv.NewWriter(&table)
	_ = w.WriteAll(append([][]string{header}, rows...)) // into memory
	return table.Bytes()
}

// pairsOfNeighbours are the edges of lines that name a node and its neighbours.
func pairsOfNeighbours(lines [][]string) (pairs [][]string) {
	for _, fields := range lines {
		for _, neighbour := range fields[1:] {
			pairs = append(pairs, []string{fields[0], neighbour})
		}
	}
	return pairs
}

// pairsOfGal are the edges of words that are a node, the number of its neighbours, and these.
func pairsOfGal(words []string) (pairs [][]string) {
	for len(words) > 1 {
		count, _ := strconv.Atoi(words[1])
		end := max(2, min(2+count, len(words)))
		pairs = append(pairs, pairsOfNeighbours([][]string{append(words[:1:1], words[2:end]...)})...)
		words = words[end:]
	}
	return pairs
}

// edgeColumns gives edges a header, which they may have, and a column for each attribute of the first.
func edgeColumns(rows [][]string) (header []string, table [][]string) {
	header = []string{"source", "target"}
	if headers(rows) > 0 && len(rows[0]) == len(rows[1]) {
		header, rows = append(header, rows[0][2:]...), rows[1:]
	} else if len(rows) > 0 && len(rows[0]) == 3 && isNumber(rows[0][2]) {
		header = append(header, "weight")
	}
	for i, fields := range rows {
		row := fields
		if len(fields) > 2 && strings.HasPrefix(fields[2], "{") {
			row = fields[:2:2]
			found := map[string]string{}
			for _, attribute := range edgeAttribute.FindAllStringSubmatch(strings.Join(fields[2:], " "), -1) {
				if found[attribute[1]] = strings.TrimSpace(attribute[2]); i == 0 {
					header = append(header, attribute[1])
				}
			}
			for _, name := range header[2:] {
				row = append(row, found[name])
			}
		}
		table = append(table, row)
	}
	return header, table
}
