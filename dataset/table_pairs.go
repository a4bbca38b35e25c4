package dataset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/internal/infile"
)

// A pair of tables is NAME.nodes.tsv and NAME.edges.tsv, or nodes.tsv and edges.tsv, or
// the same with csv. The tables of a loose pair have other names.
const (
	nodesStem = "nodes"
	edgesStem = "edges"
)

// tableExtensions are those of tables; of tables without a header the first alone.
var tableExtensions = []string{".tsv", ".csv"}

// Names made for graph tables. Nodes of which the features are not known are of the
// type of all others, and a feature says so: edges that reach them need the weights of
// all edges.
const (
	featuredType = "node"
	biasName     = "bias"
	missingName  = "no_features" // 1 where the features are not known, in the place of the bias
)

func isNodesTable(name string) bool { return isTableOf(name, nodesStem) }

func isEdgesTable(name string) bool { return isTableOf(name, edgesStem) }

func isTableOf(name, stem string) bool {
	extension := filepath.Ext(name)
	name = strings.TrimSuffix(name, extension)
	return slices.Contains(tableExtensions, extension) && (name == stem || strings.HasSuffix(name, "."+stem))
}

// tablePair is where one graph is found.
type tablePair struct {
	nodes, edges, name string
	loose              bool // which of the two is which is to be found out
}

// pairOf completes a pair of which a table is given.
func pairOf(table string) tablePair {
	extension := filepath.Ext(table)
	stem := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(table, extension), nodesStem), edgesStem)
	name := strings.TrimSuffix(filepath.Base(stem+nodesStem), "."+nodesStem)
	if name == nodesStem {
		name = "graph"
	}
	return tablePair{nodes: stem + nodesStem + extension, edges: stem + edgesStem + extension, name: name}
}

// incomplete tells of a table that is not there beside the other.
func (p tablePair) incomplete() error {
	for _, table := range []struct{ path, other, wanted, remedy string }{
		{p.nodes, p.edges, "a table of nodes", ""},
		{p.edges, p.nodes, "a table of edges, two nodes in every row,", "; without any edges, it is a header alone"},
	} {
		var lost *fs.PathError
		if _, err := os.Stat(table.path); errors.As(err, &lost) && errors.Is(err, fs.ErrNotExist) {
			if err := infile.Check(table.other, "a table"); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err // a device, say: what is beside it does not matter
			}
			return &fs.PathError{Op: "read", Path: table.path, Err: fmt.Errorf("%w; want %s beside %s: write it there, or "+
				"name both tables if it has another name%s", lost.Err, table.wanted, table.other, table.remedy)}
		}
	}
	return nil
}

// isTable reports whether a path is a file of a table's extension, or a list of edges.
func isTable(path string) bool {
	info, err := os.Stat(path)
	regular := err == nil && info.Mode().IsRegular()
	return regular && (slices.Contains(tableExtensions, filepath.Ext(path)) || isEdgeList(path))
}

// findPairs finds the tables behind paths: pairs of tables by name, prefixes of them,
// folders of them, and two tables by any other names.
func findPairs(paths []string) (pairs []tablePair, notes []string, err error) {
	if len(paths) == 2 && isTable(paths[0]) && isTable(paths[1]) { // named, wherever they lie
		a, b := paths[0], paths[1]
		switch first, second := filepath.Base(a), filepath.Base(b); {
		case isNodesTable(first) && isEdgesTable(second):
			return []tablePair{{nodes: a, edges: b, name: pairOf(a).name}}, nil, nil
		case isEdgesTable(first) && isNodesTable(second):
			return []tablePair{{nodes: b, edges: a, name: pairOf(b).name}}, nil, nil
		case isNodesTable(first) != isNodesTable(second), isEdgesTable(first) != isEdgesTable(second):
			return []tablePair{{nodes: a, edges: b, loose: true}}, nil, nil
		}
	}
	var loose []string
	added := map[tablePair]bool{}
	add := func(p tablePair) {
		if !added[p] { // both of its tables may be given
			added[p] = true
			pairs = append(pairs, p)
		}
	}
	for _, path := range paths {
		tables, err := filesIn(path, isNodesTable)
		switch base := filepath.Base(path); {
		case isNodesTable(base), isEdgesTable(base):
			add(pairOf(path))
		case err == nil:
			var names []string
			for _, table := range tables {
				add(pairOf(table))
				names = append(names, pairOf(table).name)
			}
			if len(tables) > 1 {
				notes = append(notes, fmt.Sprintf("%s holds %d graphs (%s), which share one model; name those to read if that is "+
					"not meant", path, len(tables), firstFew(names)))
			}
		case isTable(path):
			loose = append(loose, path)
		default:
			add(pairOf(path + "." + nodesStem + extensionBehind(path)))
		}
	}
	switch len(loose) {
	case 0:
		return pairs, notes, nil
	case 1:
		return nil, nil, alone(loose[0])
	case 2:
		return append(pairs, tablePair{nodes: loose[0], edges: loose[1], loose: true}), notes, nil
	}
	return nil, nil, &Error{File: loose[2],
		Problem: "more than two tables are named by names that do not tell which go together",
		Remedy:  "call them NAME.nodes.csv and NAME.edges.csv"}
}

// alone is the error of a table, or a list of edges, without the other.
func alone(path string) error {
	p := newPeek(path)
	what, remedy := "one table", "name both, or call them NAME.nodes.csv and NAME.edges.csv and name one; of "+
		"sentences, "+asTaggedText
	if _, _, numbers := p.rowsOfNumbers(); numbers {
		what, remedy = "a table of numbers", "name both, or "+p.fromSamples()
	}
	if isEdgeList(path) {
		what, remedy = edgeList, "write nodes.csv, id,label and features of nodes, and name both: nodes.csv "+path
	}
	return &Error{File: path, Problem: "it is " + what + ", and a table of nodes and one of edges are wanted",
		Remedy: remedy}
}

// extensionBehind returns the extension of the table of nodes behind a prefix.
func extensionBehind(prefix string) string {
	for _, extension := range tableExtensions {
		if _, err := os.Stat(prefix + "." + nodesStem + extension); err == nil {
			return extension
		}
	}
	return tableExtensions[0]
}

// hasHeader reports whether a table of nodes has a header: csv has, and tsv where the
// first line has a name that a column of nodes usually has, or is said to have. With the
// four columns of tables without a header, that line lacks the # of a comment.
func (o *Options) hasHeader(path string, data []byte) bool {
	if filepath.Ext(path) != tableExtensions[0] {
		return true
	}
	known := slices.Concat(idNames, labelNames, splitNames, o.given(roleID), o.given(roleLabel))
	for _, text := range tableLines(context.Background(), data[:min(len(data), mostHeaderBytes)]) {
		cells := strings.Split(text, string(separatorOf(text, separators)))
		for i, cell := range cells {
			cells[i] = strings.ToLower(strings.Trim(strings.TrimSpace(cell), `"`))
		}
		return !slices.Equal(cells, []string{"node", "label", "split", "features"}) && slices.ContainsFunc(cells,
			func(cell string) bool {
				return slices.ContainsFunc(known, func(name string) bool { return strings.EqualFold(name, cell) })
			})
	}
	return false
}
