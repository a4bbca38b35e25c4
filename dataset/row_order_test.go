package dataset

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/formats"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/oracle"
)

// shuffledTables writes tables with a header of nodes and edges: rows in any order, and
// ends of edges any way round unless they are directed.
func shuffledTables(rng *rand.Rand, names []string, labels []int, edges [][2]int, directed bool) map[string]string {
	var nodeRows, edgeRows []string
	for i, name := range names {
		town := []string{"Rome", "Oslo", ""}[i%3]
		nodeRows = append(nodeRows, fmt.Sprintf("%s,%d,%d,%s\n", name, labels[i], i*i%17, town))
	}
	for e, ends := range edges {
		u, v := names[ends[0]], names[ends[1]]
		if !directed && rng.IntN(2) == 0 {
			u, v = v, u
		}
		edgeRows = append(edgeRows, fmt.Sprintf("%s,%s,%d\n", u, v, e%5))
	}
	rng.Shuffle(len(nodeRows), func(i, j int) { nodeRows[i], nodeRows[j] = nodeRows[j], nodeRows[i] })
	rng.Shuffle(len(edgeRows), func(i, j int) { edgeRows[i], edgeRows[j] = edgeRows[j], edgeRows[i] })
	return sheets("id,label,x,town\n"+strings.Join(nodeRows, ""), "source,target,amount\n"+strings.Join(edgeRows, ""))
}

// TestRowsInAnyOrder: tables of the same rows in another order, and of edges the other way
// round, are the same data, bit for bit.
func TestRowsInAnyOrder(t *testing.T) {
	for _, name := range []string{"%d", "acct-%03d", "x%dy", "%[1]x-%[1]d"} {
		for _, directed := range []bool{false, true} {
			var names []string
			var labels []int
			var edges [][2]int
			for i := range 40 {
				names, labels = append(names, fmt.Sprintf(name, 7*i+1)), append(labels, i%3)
				for _, j := range []int{i / 2, i * i % 29} {
					if i != j && !slices.Contains(edges, [2]int{i, j}) && !slices.Contains(edges, [2]int{j, i}) {
						edges = append(edges, [2]int{i, j})
					}
				}
			}
			var first *Set
			for seed := range uint64(3) {
				files := shuffledTables(rand.New(rand.NewPCG(seed, 1)), names, labels, edges, directed)
				set := mustOpen(t, writeFiles(t, files), Options{Directed: directed})
				if first == nil {
					first = set
					continue
				}
				a, b := first.Instances[0], set.Instances[0]
				au, av := a.Graph.Ends()
				bu, bv := b.Graph.Ends()
				if !slices.Equal(au, bu) || !slices.Equal(av, bv) || !cmp.Equal(a.Samples(), b.Samples()) || !cmp.Equal(first.Names, set.Names) {
					t.Fatalf("%s, directed %v: edges or labels differ", name, directed)
				}
				if !cmp.Equal(matrixOf(first), matrixOf(set)) || !cmp.Equal(a.EdgeFeatures(0).Data().Double, b.EdgeFeatures(0).Data().Double) || first.Recipe.String() != set.Recipe.String() {
					t.Errorf("%s, directed %v: features differ", name, directed)
				}
				// A row's node is the one that has its name.
				for r, line := range strings.Split(strings.TrimSpace(files["nodes.csv"]), "\n")[1:] {
					if id, _, _ := strings.Cut(line, ","); set.Names[0][set.Rows[0][r]] != id {
						t.Fatalf("%s: row %d is %q, its node %q", name, r, id, set.Names[0][set.Rows[0][r]])
					}
				}
			}
		}
	}
}

// TestRowsInOrder: by the plain comparison of all names.
func TestRowsInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		form := rapid.SampledFrom([]string{"[0-9]{1,3}", "n[0-9]{1,2}", "[ab0-9]{1,4}", "x0[01]{0,2}"}).Draw(t, "form")
		names := rapid.SliceOfNDistinct(rapid.StringMatching(form), 1, 6, rapid.ID[string]).Draw(t, "names")
		want := slices.SortedFunc(slices.Values(names), numeric.NaturalOrder)
		row := rowsInOrder(names)
		oracle.MustEqual(t, formats.Take(names, row), want, "%q become", names)
		for r, node := range inverse(row) {
			oracle.MustEqual(t, want[node], names[r], "row %d, %q, is of node %d", r, names[r], node)
		}
	})
}

// TestDirectionOfTurnedEdges: a note of direction goes by the ends as the table has them.
func TestDirectionOfTurnedEdges(t *testing.T) {
	var nodes, edges strings.Builder
	nodes.WriteString("id,label\n")
	edges.WriteString("source,target\n")
	for i := range 200 {
		fmt.Fprintf(&nodes, "%d,%d\n", i, i%2)
		if i%2 == 1 { // from odd nodes to even ones, whichever number is larger
			fmt.Fprintf(&edges, "%d,%d\n%d,%d\n", i, i-1, i, (i+1)%200)
		}
	}
	set := mustOpen(t, writeFiles(t, sheets(nodes.String(), edges.String())), Options{})
	if !slices.ContainsFunc(set.Warnings, func(w string) bool {
		return strings.Contains(w, "look directed: 1 → 0 200 times, the other way round 0")
	}) {
		t.Errorf("warnings %q", set.Warnings)
	}
	if in := set.Instances[0]; in.Samples()[0][1] == crf.Unobserved {
		t.Error("a label is hidden")
	}
}
