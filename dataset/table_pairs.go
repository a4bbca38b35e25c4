package dataset

import (
	"path/filepath"
	"slices"

	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/printable"
)

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
				option.FirstFew(tables))
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
		what, remedy = "a table of numbers", "name both, or of samples, {model!blockbp train --model ising} "+printable.Word(path)
	}
	l.failAt(path, "", remedy, "it is "+what+", and a table of nodes and one of edges are wanted")
}
