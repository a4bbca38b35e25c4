package blockbp_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/learn"
)

// writeNetworks writes two networks, whose features stay in their file, as arrays.
func writeNetworks(t *testing.T) (folder string) {
	folder = t.TempDir()
	g := stripes(1, 6, 7)
	n, m := len(g.Nodes), len(g.Edges)
	var edges, labels []int32
	for _, ends := range g.Edges {
		edges = append(edges, int32(ends[0]), int32(ends[1]))
	}
	for _, name := range g.Labels {
		labels = append(labels, int32(slices.Index([]string{"dark", "light"}, name)))
	}
	write := func(name string, array func(w io.Writer) error) {
		var file bytes.Buffer
		oracle.OK(t, array(&file))
		oracle.OK(t, os.WriteFile(filepath.Join(folder, name+".npy"), file.Bytes(), 0o644))
	}
	write("edges", func(w io.Writer) error { return npy.Write(w, []int{2 * m, 2}, slices.Repeat(edges, 2)) })
	write("labels", func(w io.Writer) error { return npy.Write(w, []int{2 * n}, slices.Repeat(labels, 2)) })
	write("node_features", func(w io.Writer) error {
		return npy.Write(w, []int{2 * n, 2}, slices.Repeat(slices.Concat(g.Nodes...), 2))
	})
	write("sizes", func(w io.Writer) error {
		return npy.Write(w, []int{2, 2}, []int32{int32(n), int32(m), int32(n), int32(m)})
	})
	return folder
}

// TestFilesOfTraining: what a training reads stays in files until it ends, and instances keep theirs.
func TestFilesOfTraining(t *testing.T) {
	folder, ctx, within := writeNetworks(t), t.Context(), 0
	mapped := func() int { return strings.Count(string(must(os.ReadFile("/proc/self/maps"))), folder) }
	must(blockbp.Train(ctx, must(blockbp.Open(folder)), blockbp.Options{Watch: func(learn.Event) { within = mapped() }}))
	if within == 0 || mapped() != 0 {
		t.Errorf("%d maps in a training, %d behind it", within, mapped())
	}
	in := must(dataset.Open(ctx, []string{folder}, dataset.Options{})).Instances[1]
	runtime.GC()
	runtime.GC()
	x := make([]float64, 2)
	for s := range in.Graph.NumNodes() {
		in.NodeFeatures(0).Row(x, s)
	}
	if x[1] != 1 || mapped() == 0 {
		t.Error("instances do not keep their files")
	}
	runtime.KeepAlive(in)
}
