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

// TestClose: data that are closed are used no more; one who is at work ends it first.
func TestClose(t *testing.T) {
	folder, ctx := writeNetworks(t), t.Context()
	data := must(blockbp.Open(folder))
	mapped := func() int { return strings.Count(string(must(os.ReadFile("/proc/self/maps"))), folder) }
	model := must(blockbp.Train(ctx, data, blockbp.Options{Threads: 1}))
	if mapped() == 0 {
		t.Error("features do not stay in their files")
	}
	at := 0
	again := must(blockbp.Train(ctx, data, blockbp.Options{Threads: 1, Watch: func(learn.Event) {
		if at++; at > 1 {
			return
		}
		if err := data.Close(); err != nil || mapped() == 0 {
			t.Errorf("files of a training are closed: %v", err)
		}
	}}))
	if !same(model, again) || mapped() != 0 {
		t.Errorf("%d maps are left", mapped())
	}
	for what, err := range map[string]error{
		"Train": second(blockbp.Train(ctx, data, blockbp.Options{})), "Predict": second(model.Predict(ctx, data)), "Evaluate": second(model.Evaluate(ctx, data)),
		"Physics": second(blockbp.Train(ctx, data, blockbp.Options{Physics: "ising"})),
		"Folder":  second(blockbp.Train(ctx, data, blockbp.Options{Folder: filepath.Join(folder, "run")})),
	} {
		if err == nil || !strings.Contains(err.Error(), "the data are closed") {
			t.Errorf("%s of closed data: %v", what, err)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "run")); err == nil {
		t.Error("a folder is made for closed data")
	}
	// Sets that nobody closes are kept by their instances alone.
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

func second[T any](_ T, err error) error { return err }
