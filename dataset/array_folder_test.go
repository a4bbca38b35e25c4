package dataset

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// arrays are the files of an array folder.
type arrays map[string]string

func (a arrays) with(name string, descr, shape string, data any) arrays {
	a[name+".npy"] = string(npyOf(descr, "False", shape, binary.LittleEndian, data))
	return a
}

// threeGraphs are three instances of 2, 1 and 3 nodes.
func threeGraphs() arrays {
	return arrays{}.with("sizes", "<i8", "(3, 2)", []int64{2, 1, 1, 0, 3, 2}).
		with("edges", "<i4", "(3, 2)", []int32{0, 1, 0, 1, 1, 2}).
		with("edge_features", "<f4", "(3, 1)", []float32{1, 2, 3}).
		with("node_features", "<f8", "(6, 2)", []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}).
		with("labels", "<i4", "(6,)", []int32{0, 1, 2, 0, -1, 1}).
		with("weight", "<f8", "(3,)", []float64{1, 2, 3}).
		with("directed", "|b1", "()", []bool{true}).
		with("grid_shape", "<i8", "(3, 2)", []int64{1, 2, 1, 1, 3, 1})
}

// TestArrayFolder: the instances of an array folder are those of instance files.
func TestArrayFolder(t *testing.T) {
	together := mustOpen(t, writeFiles(t, threeGraphs()), Options{})
	apart := t.TempDir()
	for i, a := range []*Arrays{
		{Edges: [][2]int32{{0, 1}}, EdgeFeatures: &Matrix{1, []float64{1}}, NodeFeatures: &Matrix{2, []float64{0, 1, 2, 3}}, Labels: [][]int32{{0, 1}}, Weight: 1, Directed: true, GridShape: [2]int{1, 2}},
		{Edges: [][2]int32{}, EdgeFeatures: &Matrix{1, nil}, NodeFeatures: &Matrix{2, []float64{4, 5}}, Labels: [][]int32{{2}}, Weight: 2, Directed: true, GridShape: [2]int{1, 1}},
		{Edges: [][2]int32{{0, 1}, {1, 2}}, EdgeFeatures: &Matrix{1, []float64{2, 3}}, NodeFeatures: &Matrix{2, []float64{6, 7, 8, 9, 10, 11}}, Labels: [][]int32{{0, -1, 1}}, Weight: 3, Directed: true, GridShape: [2]int{3, 1}},
	} {
		oracle.OK(t, a.WriteFile(filepath.Join(apart, fmt.Sprint(i)+".npz")))
	}
	want := mustOpen(t, apart, Options{})
	oracle.MustEqual(t, [2]int{len(together.Instances), len(together.Sources)}, [2]int{3, 8}, "instances, sources")
	oracle.Equal(t, together.Schema, want.Schema, "schema")
	for i, in := range together.Instances {
		w := want.Instances[i]
		gu, gv := in.Graph.Ends()
		wu, wv := w.Graph.Ends()
		if in.Name != w.Name || !slices.Equal(gu, wu) || !slices.Equal(gv, wv) || in.Weight() != w.Weight() || in.Rows != w.Rows || in.Cols != w.Cols {
			t.Errorf("instance %d is %s, %v–%v, weight %v, %d × %d", i, in.Name, gu, gv, in.Weight(), in.Rows, in.Cols)
		}
		oracle.Equal(t, in.Samples(), w.Samples(), "samples")
		for s := range in.Graph.NumNodes() {
			oracle.Equal(t, row(in.NodeFeatures(0), s), row(w.NodeFeatures(0), s), "instance %d, node %d", i, s)
		}
		for e := range in.Graph.NumEdges() {
			oracle.Equal(t, row(in.EdgeFeatures(0), e), row(w.EdgeFeatures(0), e), "instance %d, edge %d", i, e)
		}
	}
	// Features stay where they are.
	if f := together.Instances[2].NodeFeatures(0).Data(); f.Double == nil || together.Instances[2].EdgeFeatures(0).Data().Single == nil {
		t.Errorf("features were converted")
	}
}

// TestArrayFolderMistakes: errors name the folder, the instance, the array and the index.
func TestArrayFolderMistakes(t *testing.T) {
	nan := []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0}
	nan[11] /= nan[11]
	for _, test := range map[string]struct {
		files arrays
		want  []string
	}{
		"not finite": {threeGraphs().with("node_features", "<f8", "(6, 2)", nan), []string{"[2]:node_features[2,1]: feature is NaN"}},
		"edge":       {threeGraphs().with("edges", "<i4", "(3, 2)", []int32{0, 1, 0, 1, 1, 3}), []string{"[2]:edges[1]: is (1, 3)"}},
		"label":      {threeGraphs().with("labels", "<i4", "(6,)", []int32{0, 1, 2, 0, -2, 1}), []string{"[2]:labels[1]: is -2"}},
		"rows":       {threeGraphs().with("labels", "<i4", "(5,)", []int32{0, 1, 2, 0, 1}), []string{":labels: shape is [5], want 6 rows: sizes has 6 nodes"}},
		"samples":    {threeGraphs().with("labels", "<i4", "(6, 1)", []int32{0, 1, 2, 0, 1, 1}), []string{":labels: shape is [6, 1]", "one sample"}},
		"weights": {threeGraphs().with("weight", "<f8", "()", []float64{1}),
			[]string{":weight: shape is [], want [instances]"}},
		"sizes":           {threeGraphs().with("sizes", "<i8", "(6,)", []int64{2, 1, 1, 0, 3, 2}), []string{":sizes: shape is [6], want [instances, 2]"}},
		"no instances":    {threeGraphs().with("sizes", "<i8", "(0, 2)", []int64{}), []string{":sizes: has no instances, want a row for each"}},
		"a negative size": {threeGraphs().with("sizes", "<i8", "(3, 2)", []int64{2, 1, 1, -1, 3, 2}), []string{":sizes[1,1]: is -1, want at least 0 edges"}},
		"no nodes":        {threeGraphs().with("sizes", "<i8", "(3, 2)", []int64{2, 1, 0, 0, 4, 2}), []string{":sizes[1,0]: is 0, want at least 1 node"}},
		"unknown":         {threeGraphs().with("lables", "<i4", "(6,)", []int32{0, 1, 2, 0, 1, 1}), []string{":lables: unknown array", `did you mean "labels"`}},
		"typed":           {threeGraphs().with("node_features.a", "<f8", "(1, 2)", []float64{0, 1}), []string{"node_features.a: unknown array; give one array node_features for elements of all types"}},
	} {
		folder := writeFiles(t, test.files)
		refuses(t, folder, Options{}, append(test.want, folder)...)
	}
	folder := writeFiles(t, threeGraphs())
	path := filepath.Join(folder, "node_features.npy")
	oracle.OK(t, os.Truncate(path, 150))
	refuses(t, folder, Options{}, "node_features: the array has 150 bytes", "cut short")
	folder = writeFiles(t, threeGraphs())
	oracle.OK(t, os.WriteFile(filepath.Join(folder, "a.npz"), nil, 0o600))
	refuses(t, folder, Options{}, "a.npz: instance files lie beside arrays")
}

// TestArrayFolderHidden: what systems keep beside files is no array, whatever its name.
func TestArrayFolderHidden(t *testing.T) {
	folder := writeFiles(t, threeGraphs())
	for _, name := range []string{".npy", "._edges.npy", ".npz"} {
		oracle.OK(t, os.WriteFile(filepath.Join(folder, name), []byte("no array"), 0o600))
	}
	oracle.Equal(t, len(mustOpen(t, folder, Options{}).Instances), 3, "instances")
}
