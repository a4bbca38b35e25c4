package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A pair of tables is NAME.nodes.tsv and NAME.edges.tsv, or nodes.tsv and edges.tsv, or the same with csv. The tables
// of a loose pair have other names.
const (
	nodesStem = "nodes"
	edgesStem = "edges"
)

// tableExtensions are those of tables; of tables without a header the first alone.
var tableExtensions = []string{".tsv", ".csv"}

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
	for _, x := range [][3]string{{p.nodes, p.edges, "nodes"},
		{p.edges, p.nodes, "edges (two nodes in every row, or a header alone)"}} {
		if _, err := os.Stat(x[0]); errors.Is(err, fs.ErrNotExist) {
			return &fs.PathError{Op: "read", Path: x[0], Err: fmt.Errorf("%w; want a table of %s beside %s: write it there, or "+
				"name both tables if it has another name", errors.Unwrap(err), x[2], x[1])}
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

// asPair takes two tables for one graph, unless their names say that both are of nodes, or of edges.
func asPair(a, b string) (p tablePair, ok bool) {
	if isEdgesTable(filepath.Base(a)) || isNodesTable(filepath.Base(b)) {
		a, b = b, a
	}
	nodes, edges := isNodesTable(filepath.Base(a)), isEdgesTable(filepath.Base(b))
	p = tablePair{nodes: a, edges: b, name: pairOf(a).name, loose: !nodes || !edges}
	return p, !isEdgesTable(filepath.Base(a)) && !isNodesTable(filepath.Base(b)) && isTable(a) && isTable(b)
}

// findPairs finds the tables behind paths: pairs of tables by name, prefixes of them, folders of them, or two tables by
// any other names, wherever they lie.
func (l *tableLoader) findPairs(paths []string) (pairs []tablePair) {
	if len(paths) == 2 {
		if pair, ok := asPair(paths[0], paths[1]); ok {
			return []tablePair{pair}
		}
	}
	for _, path := range paths {
		tables, err := filesIn(path, isNodesTable)
		switch base := filepath.Base(path); {
		case isNodesTable(base), isEdgesTable(base):
			tables = []string{path}
		case err == nil && len(tables) > 1:
			l.warn("%s holds %d graphs, which share one model; name those to read if that is not meant: %s", path, len(tables),
				firstFew(tables))
		case err == nil && len(tables) == 0:
			l.failAt(path, "", "", "there are no tables of nodes")
		case err == nil:
		case isTable(path):
			l.refuseAlone(path)
		default:
			tables = []string{path + "." + nodesStem + extensionBehind(path)}
		}
		for _, table := range tables {
			if pair := pairOf(table); !slices.Contains(pairs, pair) { // both of its tables may be given
				pairs = append(pairs, pair)
			}
		}
	}
	return pairs
}

// refuseAlone tells of a table, or a list of edges, without the other.
func (l *tableLoader) refuseAlone(path string) {
	p, what, remedy := newPeek(path), "one table", "name both, or call them NAME.nodes.csv and NAME.edges.csv and name "+
		"one; of sentences, "+asTaggedText
	if p.best().what == edgeList {
		what, remedy = edgeList, "write nodes.csv, id,label and features of nodes, and name both: nodes.csv "+path
	} else if p.isNumbers() {
		what, remedy = "a table of numbers", "name both, or of samples, {model!blockbp train --model ising} "+shellWord(path)
	}
	l.failAt(path, "", remedy, "it is "+what+", and a table of nodes and one of edges are wanted")
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

// isPlain reports whether a table of nodes has no header: it is tsv, and the second of its first cells, of at most
// four, is a label that is a number.
func isPlain(path string, data []byte) bool {
	for line := range bytes.Lines(data) {
		cells := trimmed(strings.Split(string(line), "\t"))
		if n := len(cells); strings.Join(cells, "") != "" && line[0] != '#' {
			return filepath.Ext(path) == tableExtensions[0] && n > 1 && n <= len(plainNodes) && isNumber(cells[1])
		}
	}
	return false
}
