package dataset

import (
	"path/filepath"
	"slices"

	"github.com/blockbp/blockbp/internal/formats"
	"github.com/blockbp/blockbp/internal/option"
)

// findPairs finds the tables behind paths: pairs of tables by name, prefixes of them, folders of them, or two tables by
// any other names, wherever they lie.
func (l *tableLoader) findPairs(paths []string) (pairs []formats.TablePair) {
	if len(paths) == 2 {
		if pair, ok := formats.AsPair(paths[0], paths[1]); ok {
			return []formats.TablePair{pair}
		}
	}
	for _, path := range paths {
		tables, err := filesIn(path, formats.IsNodesTable)
		switch base := filepath.Base(path); {
		case formats.IsNodesTable(base), formats.IsEdgesTable(base):
			tables = []string{path}
		case err == nil && len(tables) > 1:
			l.warn("%s holds %d graphs, which share one model; name those to read if that is not meant: %s", path, len(tables),
				option.FirstFew(tables))
		case err == nil && len(tables) == 0:
			l.failAt(path, "", "", "there are no tables of nodes")
		case err == nil:
		case formats.IsTable(path):
			l.refuseAlone(path)
		default:
			tables = []string{path + "." + formats.NodesStem + formats.ExtensionBehind(path)}
		}
		for _, table := range tables {
			if pair := formats.PairOf(table); !slices.Contains(pairs, pair) { // both of its tables may be given
				pairs = append(pairs, pair)
			}
		}
	}
	return pairs
}

// refuseAlone tells of a table, or a list of edges, without the other.
func (l *tableLoader) refuseAlone(path string) {
	p, what := formats.Look(path), "one table"
	if p.Best().What == formats.EdgeList {
		what = formats.EdgeList
	} else if p.IsNumbers() {
		what = "a table of numbers"
	}
	l.failAt(path, "", p.Advise(what), "it is "+what+", and a table of nodes and one of edges are wanted")
}
