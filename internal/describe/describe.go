// Package describe tells what a model, a data set, a network or an answer of inference
// is: in numbers for programs, as texts and tables for people.
package describe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/report"
)

// fact is a row of a table of facts.
func fact(name string, value any) []string { return []string{name, fmt.Sprint(value)} }

// table is the form of all descriptions. Facts of no text are left out.
func table(rows ...[]string) report.Table {
	rows = slices.DeleteFunc(rows, func(row []string) bool { return row[1] == "" })
	return report.Table{Headers: []string{"property", "value"}, Rows: rows}
}

// Counted writes a number of things.
func Counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// typeRows describe node and edge types; named says whether the names of states and
// of an edge type's ends belong to it.
func typeRows(nodes []crf.NodeType, edges []crf.EdgeType, named bool) (rows [][]string) {
	for _, n := range nodes {
		states := Counted(len(n.States), "state")
		if named {
			states += " (" + strings.Join(n.States, ", ") + ")"
		}
		what := states + ", " + Counted(n.Features, "feature") + copiesOf(n.Copies)
		rows = append(rows, []string{"node type " + n.Name, what})
	}
	for _, e := range edges {
		ends := ""
		if named {
			ends = nodes[e.U].Name + " – " + nodes[e.V].Name + ", "
		}
		what := ends + Counted(e.Features, "feature") + copiesOf(e.Copies) + waysOf(&e)
		rows = append(rows, []string{"edge type " + e.Name, what})
	}
	return rows
}

// waysOf says whether weights tell the ends of an edge apart, where types do not.
func waysOf(e *crf.EdgeType) string {
	switch {
	case e.Symmetric:
		return ", symmetric"
	case e.U == e.V:
		return ", directed"
	}
	return ""
}

func copiesOf(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", untied: weights for each of %d", n)
}
