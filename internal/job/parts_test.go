package job

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/atomicfile"
	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/parted"
)

// arrays is a folder of arrays of a grid, with features in single precision for nodes and double for edges.
func arrays(t *testing.T) string {
	t.Helper()
	const rows, cols = 7, 9
	dir := t.TempDir()
	edges, labels, nodes := []int32{}, make([]int32, rows*cols), make([]float32, 3*rows*cols)
	for s := range rows * cols {
		if labels[s] = int32(s * s % 3); s%cols < cols-1 {
			edges = append(edges, int32(s), int32(s+1))
		}
		if s+cols < rows*cols {
			edges = append(edges, int32(s), int32(s+cols))
		}
		copy(nodes[3*s:], []float32{float32(s%5) / 3, float32(s * s % 7), 1})
	}
	ofEdges := make([]float64, len(edges)) // two of each
	for i := range ofEdges {
		ofEdges[i] = float64(i*i%11) / 7
	}
	for _, a := range []npy.Array{
		npy.ArrayOf("edges", edges, len(edges)/2, 2), npy.ArrayOf("labels", labels, len(labels)), npy.ArrayOf("grid_shape", []int32{rows, cols}, 2),
		npy.ArrayOf("node_features", nodes, rows*cols, 3), npy.ArrayOf("edge_features", ofEdges, len(edges)/2, 2),
	} {
		file, err := os.Create(filepath.Join(dir, a.Name+".npy"))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(a.Write(file), file.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, dataset.ManifestName), []byte(`{"states": ["a", "b", "c"]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func opened(t *testing.T, dir string) *dataset.Set {
	t.Helper()
	set, err := dataset.Open(context.Background(), []string{dir}, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// writing returns what Network.Write is given: it writes into a folder, and fails after so many files.
func writing(dir string, files int) func(name string, fill func(path string) error) error {
	return func(name string, fill func(path string) error) error {
		if files--; files < 0 {
			return errors.New("killed")
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), fill(path))
	}
}

// A partitioned network is the one that it was made of, however many files it has; what a kill leaves is
// refused as data, until all is written.
func TestPartition(t *testing.T) {
	oracle.Long(t)
	whole := opened(t, arrays(t))
	in := whole.Instances[0]
	for _, files := range []int{1, 5, parted.Sums} {
		o := Options{Threads: 1}
		o.Cut.Blocks = 10
		n, err := Partition(context.Background(), whole, o, files)
		if err != nil {
			t.Fatal(err)
		}
		dir, all := "", 0
		if files > 10 {
			all = files - 1 // before it is as before
		}
		for ; ; all++ {
			dir = t.TempDir()
			err := n.Write(context.Background(), writing(dir, all))
			if err == nil {
				break
			}
			if set, err := dataset.Open(context.Background(), []string{dir}, dataset.Options{}); err == nil {
				t.Fatalf("%d files: after %d of them it is opened as data, with %d sources", files, all, len(set.Sources))
			}
		}
		if want := files + 7; all != want { // those of parts, arrays, dataset.json and parts.json
			t.Errorf("%d parts: %d files are written, want %d", files, all, want)
		}
		set := opened(t, dir)
		got := set.Instances[0]
		u, v := in.Graph.Ends()
		gu, gv := got.Graph.Ends()
		if !slices.Equal(u, gu) || !slices.Equal(v, gv) || !slices.Equal(in.Samples()[0], got.Samples()[0]) || got.Rows != in.Rows || set.Schema.NodeTypes[0].States[1] != "b" {
			t.Errorf("%d files: it is another network", files)
		}
		if !slices.Equal(in.NodeFeatures(0).Data().Single, got.NodeFeatures(0).Data().Single) || !slices.Equal(in.EdgeFeatures(0).Data().Double, got.EdgeFeatures(0).Data().Double) {
			t.Errorf("%d files: it has other features", files)
		}
		if !PartsOf(set).Here() {
			t.Error("not all features are here")
		}

		// A part holds its nodes and all their edges, and no more.
		set, err = dataset.Open(context.Background(), []string{dir}, dataset.Options{PartsLater: true})
		if err != nil {
			t.Fatal(err)
		}
		parts, some := PartsOf(set), set.Instances[0]
		var filled [2]int
		parts.Filled = func(nodes bool, rows []int32) { filled[map[bool]int{true: 0, false: 1}[nodes]] += len(rows) }
		if err := parts.Hold(0, 20); err != nil {
			t.Fatal(err)
		}
		last := (20 - 1) * files / parted.Sums
		has := func(s int32) bool { return int(n.Part[n.Of[s]])*files/parted.Sums <= last }
		row, want, counts := make([]float64, 3), make([]float64, 3), [2]int{}
		for s := range int32(in.Graph.NumNodes()) {
			some.NodeFeatures(0).Row(row, int(s))
			if in.NodeFeatures(0).Row(want, int(s)); !has(s) {
				clear(want)
			} else {
				counts[0]++
			}
			if !slices.Equal(row, want) {
				t.Errorf("%d files: node %d has %v, want %v", files, s, row, want)
			}
		}
		for e := range int32(in.Graph.NumEdges()) {
			some.EdgeFeatures(0).Row(row[:2], int(e))
			if in.EdgeFeatures(0).Row(want[:2], int(e)); !has(u[e]) && !has(v[e]) {
				clear(want)
			} else {
				counts[1]++
			}
			if !slices.Equal(row[:2], want[:2]) {
				t.Errorf("%d files: edge %d has %v, want %v", files, e, row[:2], want[:2])
			}
		}
		if filled != counts {
			t.Errorf("%d files: it is said that %v nodes and edges are there, want %v", files, filled, counts)
		}

		// Nothing that was changed, left out or added is trusted.
		for _, change := range []struct {
			do  func() error
			say string
		}{
			{func() error { return os.Remove(filepath.Join(dir, "parts", "00.npz")) }, "parts/00.npz: the file of part 0 is not there"},
			{func() error { return flip(filepath.Join(dir, "parts", "00.npz")) }, "parts/00.npz: the file of part 0 has changed"},
			{func() error { return flip(filepath.Join(dir, "labels.npy")) }, "labels.npy: it has changed"},
			{func() error { return flip(filepath.Join(dir, "blocks.npy")) }, "blocks.npy: it has changed"},
			{func() error { return os.WriteFile(filepath.Join(dir, dataset.ManifestName), []byte(`{}`), 0o644) }, "dataset.json: it has changed"},
			{func() error { return os.Remove(filepath.Join(dir, "grid_shape.npy")) }, "grid_shape.npy: it is not there, and it was when the network was partitioned; partition the data again"},
			{func() error { return os.Remove(filepath.Join(dir, parted.Description)) }, "blocks: it is of a partitioned network, and parts.json is not there; partition"},
			{func() error { return os.Link(filepath.Join(dir, "labels.npy"), filepath.Join(dir, "node_types.npy")) }, "node_types.npy: it was not there"},
			{func() error {
				path := filepath.Join(dir, parted.Description)
				text, err := os.ReadFile(path)
				changed := strings.Replace(string(text), `"row_weight": 1,`, `"row_weight": 2,`, 1)
				if changed == string(text) {
					t.Error("the description is as it was")
				}
				return errors.Join(err, os.WriteFile(path, []byte(changed), 0o644))
			}, "parts.json: it has changed"},
			{func() error {
				return os.WriteFile(filepath.Join(dir, parted.Description), []byte(`{"format": 9}`), 0o644)
			}, "parts.json: it has format 9"},
		} {
			dir = t.TempDir()
			if err := errors.Join(n.Write(context.Background(), writing(dir, all)), change.do()); err != nil {
				t.Fatal(err)
			}
			if _, err := dataset.Open(context.Background(), []string{dir}, dataset.Options{}); err == nil || !strings.Contains(filepath.ToSlash(err.Error()), change.say) {
				t.Errorf("%d files: %v, want %q", files, err, change.say)
			}
		}
	}
}

// A partitioned network has the schema of the data, also where the array of edge features has no number.
func TestPartitionOfNoNumbers(t *testing.T) {
	nodes, labels := make([]float64, 12), []int32{0, 1, 1, 0, 1, 0}
	for i := range nodes {
		nodes[i] = float64(i * i % 5)
	}
	for name, own := range map[string][]npy.Array{
		"no edges":               {npy.ArrayOf("edges", []int32{}, 0, 2), npy.ArrayOf("edge_features", []float64{}, 0, 3)},
		"no edges, single":       {npy.ArrayOf("edges", []int32{}, 0, 2), npy.ArrayOf("edge_features", []float32{}, 0, 3)},
		"no columns":             {npy.ArrayOf("edges", []int32{0, 1, 1, 2}, 2, 2), npy.ArrayOf("edge_features", []float64{}, 2, 0)},
		"no columns, single":     {npy.ArrayOf("edges", []int32{0, 1, 1, 2}, 2, 2), npy.ArrayOf("edge_features", []float32{}, 2, 0)},
		"no features":            {npy.ArrayOf("edges", []int32{}, 0, 2)},
		"bins":                   {npy.ArrayOf("edges", []int32{}, 0, 2), npy.ArrayOf("edge_bins", []int32{}, 0)},
		"no columns of features": {npy.ArrayOf("edges", []int32{0, 1}, 1, 2), npy.ArrayOf("edge_features", []float64{1, 2}, 1, 2), npy.ArrayOf("node_features", []float64{}, 6, 0)},
	} {
		dir := t.TempDir()
		all := append([]npy.Array{npy.ArrayOf("labels", labels, 6)}, own...)
		if own[len(own)-1].Name != "node_features" {
			all = append(all, npy.ArrayOf("node_features", nodes, 6, 2))
		}
		for _, a := range all {
			if err := atomicfile.Write(filepath.Join(dir, a.Name+".npy"), a.Write); err != nil {
				t.Fatal(err)
			}
		}
		whole := opened(t, dir)
		n, err := Partition(context.Background(), whole, Options{Threads: 1}, 3)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out := t.TempDir()
		if err := n.Write(context.Background(), writing(out, 99)); err != nil {
			t.Fatal(err)
		}
		if set := opened(t, out); !reflect.DeepEqual(set.Schema, whole.Schema) || !reflect.DeepEqual(set.Recipe, whole.Recipe) {
			t.Errorf("%s: the schema is %+v, %+v, want %+v, %+v", name, set.Schema, set.Recipe, whole.Schema, whole.Recipe)
		}
	}
}

// flip changes the last byte of a file.
func flip(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text[len(text)-1] ^= 1
	return os.WriteFile(path, text, 0o644)
}

// What cannot be partitioned is refused with the remedy.
func TestPartitionRefuses(t *testing.T) {
	two := t.TempDir()
	arrays := &dataset.Arrays{Edges: [][2]int32{{0, 1}}, Labels: [][]int32{{0, 1}}, States: []int32{2}}
	for _, name := range []string{"a.npz", "b.npz"} {
		if err := dataset.WriteNPZ(filepath.Join(two, name), arrays); err != nil {
			t.Fatal(err)
		}
	}
	for path, say := range map[string]string{two: "there are 2 networks, and one is partitioned", filepath.Join(two, "a.npz"): "there are no dense features"} {
		if _, err := Partition(context.Background(), opened(t, path), Options{Threads: 1}, 4); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%s: %v, want %q", path, err, say)
		}
	}
}

// Features of which the squares, with the weight of the network, have no sum are partitioned all the same.
func TestPartitionLargeFeatures(t *testing.T) {
	path, dir := filepath.Join(t.TempDir(), "a.npz"), t.TempDir()
	arrays := &dataset.Arrays{Edges: [][2]int32{{0, 1}}, Labels: [][]int32{{0, 1}}, States: []int32{2}, Weight: 1e12,
		NodeFeatures: &dataset.Matrix{Columns: 1, Data: []float64{1e150, -1e150}}}
	if err := dataset.WriteNPZ(path, arrays); err != nil {
		t.Fatal(err)
	}
	n, err := Partition(context.Background(), opened(t, path), Options{Threads: 1}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Write(context.Background(), writing(dir, 10)); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{path, dir} {
		p, err := Prepare(context.Background(), Options{Threads: 1, Standardise: true}, Task{Set: opened(t, at), Owned: true})
		if err != nil {
			t.Fatal(err)
		}
		if p.scale != nil {
			t.Errorf("%s: such features are scaled", at)
		}
	}
}
