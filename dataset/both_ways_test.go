package dataset

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/oracle"
)

// bothWaysOf adds the reverse of every edge, as message-passing libraries have edges, with rows in any order.
func bothWaysOf(a Arrays, rng *rand.Rand) Arrays {
	m := len(a.Edges)
	b := a
	b.Edges, b.EdgeBins, b.EdgeTypes = nil, nil, nil
	if a.EdgeFeatures != nil {
		b.EdgeFeatures = &Matrix{Columns: a.EdgeFeatures.Columns}
	}
	for _, r := range rng.Perm(2 * m) {
		e, ends := r%m, a.Edges[r%m]
		if r >= m {
			ends[0], ends[1] = ends[1], ends[0]
		}
		b.Edges = append(b.Edges, ends)
		if a.EdgeFeatures != nil {
			b.EdgeFeatures.Data = append(b.EdgeFeatures.Data, a.EdgeFeatures.Data[e*a.EdgeFeatures.Columns:][:a.EdgeFeatures.Columns]...)
		}
		if a.EdgeBins != nil {
			b.EdgeBins = append(b.EdgeBins, a.EdgeBins[e])
		}
		if a.EdgeTypes != nil {
			b.EdgeTypes = append(b.EdgeTypes, a.EdgeTypes[e])
		}
	}
	return b
}

// TestBothWays: edges that are there both ways round are the edges that are there once, with
// their features, bins and types.
func TestBothWays(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	typed := Arrays{
		Edges: [][2]int32{{0, 1}, {1, 2}, {2, 3}, {0, 3}}, NodeFeatures: &Matrix{1, []float64{1, 2, 3, 4}},
		EdgeFeatures: &Matrix{2, []float64{1, 2, 3, 4, 5, 6, 7, 8}}, EdgeTypes: []int32{0, 1, 0, 1}, Labels: [][]int32{{0, 1, 1, 0}},
	}
	binned := change(func(a *Arrays) { a.EdgeFeatures, a.EdgeBins = nil, []int32{2, 0, 1} })
	ends := change(func(a *Arrays) { a.NodeTypes, a.EdgeFeatures, a.States = []int32{0, 0, 1}, nil, []int32{2} })
	for name, c := range map[string]struct {
		a Arrays
		o Options
	}{
		"features": {triangle(), Options{}}, "types": {typed, Options{}}, "bins": {binned, Options{}}, "types of ends": {ends, Options{}},
		"untied": {change(func(a *Arrays) { a.EdgeFeatures, a.NodeFeatures = nil, nil }), Options{Untied: true}},
	} {
		once := mustOpen(t, writeSet(t, "", c.a), c.o)
		twice := mustOpen(t, writeSet(t, "", bothWaysOf(c.a, rng)), c.o)
		note := slices.IndexFunc(twice.Warnings, func(w string) bool {
			return strings.HasPrefix(w, fmt.Sprintf("edges that are there both ways round count once (%d in all, ", len(c.a.Edges)))
		})
		if note < 0 {
			t.Errorf("%s: warnings are %q", name, twice.Warnings)
		}
		type edge struct{ u, v, kind int32 }
		all := func(set *Set) map[edge][]float64 {
			in, found := set.Instances[0], map[edge][]float64{}
			for e := range int32(in.Graph.NumEdges()) {
				u, v := in.Graph.U(e), in.Graph.V(e)
				b := in.EdgeType(e)
				found[edge{min(u, v), max(u, v), int32(b)}] = row(in.EdgeFeatures(b), in.EdgeRow(e))
			}
			return found
		}
		want, got := all(once), all(twice)
		if len(got) != len(want) || twice.Instances[0].Graph.NumEdges() != len(want) {
			t.Errorf("%s: %d edges, want %d", name, twice.Instances[0].Graph.NumEdges(), len(want))
		}
		for e, x := range want {
			if !slices.Equal(got[e], x) {
				t.Errorf("%s: edge %v has %v, want %v", name, e, got[e], x)
			}
		}
	}
}

// TestBothWaysRefused: the two of an edge must agree, and must not be directed.
func TestBothWaysRefused(t *testing.T) {
	twice := func(f func(*Arrays)) Arrays {
		a := triangle()
		a.Edges = append(a.Edges, [2]int32{2, 1})
		a.EdgeFeatures = &Matrix{1, []float64{.1, .2, .3, .2}}
		f(&a)
		return a
	}
	for name, c := range map[string]struct {
		a    Arrays
		o    Options
		want string
	}{
		"features": {twice(func(a *Arrays) { a.EdgeFeatures.Data[3] = 7 }), Options{}, "0.npz:edges[3]: joins the nodes of edges[1] the other way round, with other edge_features; a network has one edge for two nodes"},
		"bins":     {twice(func(a *Arrays) { a.EdgeFeatures, a.EdgeBins = nil, []int32{0, 1, 0, 0} }), Options{}, "edges[3]: joins the nodes of edges[1] the other way round, with other edge_bins"},
		"types":    {twice(func(a *Arrays) { a.EdgeTypes = []int32{0, 1, 0, 0} }), Options{}, "edges[3]: joins the nodes of edges[1] the other way round, with other edge_types"},
		"directed": {twice(func(*Arrays) {}), Options{Directed: true}, `edges[3]: joins the nodes of edges[1] the other way round; edges of type "edge" are directed`},
		"untied":   {twice(func(*Arrays) {}), Options{Directed: true, Untied: true}, `edges of type "edge" are directed`},
		"same way": {twice(func(a *Arrays) { a.Edges[3] = [2]int32{1, 2} }), Options{}, "edges[3]: is (1, 2): nodes 1 and 2 are already joined"},
		"thrice":   {twice(func(a *Arrays) { a.Edges, a.EdgeFeatures = append(a.Edges, [2]int32{2, 1}), nil }), Options{}, "edges[4]: is (2, 1): nodes 1 and 2 are already joined"},
		"a loop":   {twice(func(a *Arrays) { a.Edges, a.EdgeFeatures = append(a.Edges, [2]int32{2, 2}), nil }), Options{}, "edges[4]: is (2, 2): an edge must join two different nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			refuses(t, writeRaw(t, c.a), c.o, c.want)
		})
	}
}

// TestRepeatedRows: rows of tables that join the same nodes again have the same features, and
// the same direction where there is one.
func TestRepeatedRows(t *testing.T) {
	const nodes = "id,label,x\na,u,1\nb,v,2\nc,v,3\n"
	edges := func(rows string) map[string]string {
		return sheets(nodes, "source,target,amount,kind\na,b,1,p\nb,c,2,q\nc,a,3,p\n"+rows)
	}
	for rows, want := range map[string]string{
		"b,a,1,p\n":          "",
		"b,a,1,p\nb,c,2,q\n": "",
		"b,a,1,q\n":          "edges.csv:5: it joins the nodes of line 2 again, with other features; a network has one edge for two nodes",
		"b,c,2.5,q\n":        "edges.csv:5: it joins the nodes of line 3 again, with other features",
	} {
		set, err := Open(t.Context(), []string{writeFiles(t, edges(rows))}, Options{})
		if want != "" {
			wantError(t, err, want)
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", rows, err)
			continue
		}
		in := set.Instances[0]
		if f := in.EdgeFeatures(0); in.Graph.NumEdges() != 3 || f.Rows() != 3 || row(f, 1)[0] != 3 || row(f, 2)[0] != 2 {
			t.Errorf("%q: %d edges, %d rows of features, %v and %v", rows, in.Graph.NumEdges(), f.Rows(), row(f, 1), row(f, 2))
		}
	}
	refuses(t, writeFiles(t, edges("b,a,1,p\n")), Options{Directed: true}, "edges.csv:5: it joins the nodes of an earlier line the other way round; edges are directed")
	files := tables("0\t0\tx\t1\n1\t1\tx\t0\n", "0\t1\n1\t0\n")
	mustOpen(t, writeFiles(t, files), Options{})
	refuses(t, writeFiles(t, files), Options{Directed: true}, "x.edges.tsv:2: it joins the nodes of an earlier line the other way round")
}

// writeRaw writes an instance file without the checks of WriteNPZ.
func writeRaw(t *testing.T, a Arrays) string {
	t.Helper()
	contents := oracle.Must(a.contents("0.npz"))(t)
	path := t.TempDir() + "/0.npz"
	var arrays []npy.Array
	for name, x := range contents.arrays {
		if instanceArrays.rule(name).float {
			arrays = append(arrays, npy.ArrayOf(name, x.Double, x.Shape...))
		} else {
			arrays = append(arrays, npy.ArrayOf(name, x.Ints, x.Shape...))
		}
	}
	oracle.OK(t, npy.WriteArchive(path, arrays...))
	return path
}
