package dataset

import (
	"testing"

	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestRepeatedEdges: two nodes have one edge, whichever way round a row of an array has it.
func TestRepeatedEdges(t *testing.T) {
	for edge, want := range map[[2]int32]string{
		{1, 2}: "edges[3]: is (1, 2): nodes 1 and 2 are already joined by an earlier edge; merge the two; in Python",
		{2, 1}: "edges[3]: is (2, 1): nodes 1 and 2 are already joined by an earlier edge; merge the two; in Python",
		{2, 2}: "edges[3]: is (2, 2): an edge must join two different nodes",
	} {
		a := triangle()
		a.Edges, a.EdgeFeatures = append(a.Edges, edge), nil
		refuses(t, writeRaw(t, t.TempDir()+"/0.npz", &a), Options{}, want)
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
		"b,a,1,q\n":          "edges.csv:5: it joins the nodes of line 2 again, with other features",
		"b,c,2.5,q\n":        "edges.csv:5: it joins the nodes of line 3 again, with other features",
	} {
		set, err := Open(t.Context(), []string{writeFiles(t, edges(rows))}, Options{})
		if want != "" {
			oracle.WantError(t, err, want)
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

// writeRaw writes an instance file without the checks of Arrays.WriteFile.
func writeRaw(t testing.TB, path string, a *Arrays) string {
	t.Helper()
	oracle.OK(t, npy.WriteArchive(path, a.arrays(path).written()...))
	return path
}
