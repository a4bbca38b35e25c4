package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/bench"
	"github.com/blockbp/blockbp/internal/cli"
)

// scaleLittle makes bench --scale measure next to nothing, with so many bytes, and
// returns what its plans were asked for.
func scaleLittle(t *testing.T, bytes int64) (quick *[]bool) {
	t.Helper()
	before := *cli.ScalePlan
	t.Cleanup(func() { *cli.ScalePlan = before })
	quick = new([]bool)
	*cli.ScalePlan = func(q bool) bench.ScalePlan {
		*quick = append(*quick, q)
		return bench.ScalePlan{
			Grids: []int{8, 16}, BA: []int{64, 128, 512},
			TileHeight: 4, TileWidth: 8, States: 3, Stretches: 2, MostMemory: bytes,
		}
	}
	return quick
}

// scaleJSON is the part of the result that is promised by name.
type scaleJSON struct {
	Quick    bool `json:"quick"`
	Networks []struct {
		Kind      string  `json:"kind"`
		Nodes     int     `json:"nodes"`
		Edges     int     `json:"edges"`
		Blocks    int     `json:"blocks"`
		Build     float64 `json:"build_seconds"`
		Partition float64 `json:"partition_seconds"`
		Setup     float64 `json:"setup_seconds"`
		Pass      float64 `json:"pass_seconds"`
		Ns        float64 `json:"ns_per_edge"`
		Ms        float64 `json:"ms_per_iteration"`
	} `json:"networks"`
	Growth []struct {
		Kind      string  `json:"kind"`
		Ns        float64 `json:"ns_per_edge_ratio"`
		Iteration float64 `json:"ms_per_iteration_ratio"`
	} `json:"growth"`
	Left    []string `json:"left_out"`
	Seconds float64  `json:"seconds"`
}

// TestBenchScale: numbers on standard output and in the folder, a figure beside
// them, and a note of what there was no memory for.
func TestBenchScale(t *testing.T) {
	asked := scaleLittle(t, 300<<10)
	dir := filepath.Join(t.TempDir(), "scale")
	o := mustRun(t, "bench", "--scale", "--quick", "--json", "-o", dir)
	var r scaleJSON
	o.json(t, &r)
	if !r.Quick || !slices.Equal(*asked, []bool{true}) || len(r.Networks) != 4 || len(r.Growth) != 2 || !(r.Seconds > 0) {
		t.Fatalf("plans asked for are quick: %v, result %+v", *asked, r)
	}
	for i, n := range r.Networks {
		kind := []string{"grid", "grid", "ba", "ba"}[i]
		if n.Kind != kind || n.Nodes < 64 || n.Edges <= n.Nodes || n.Blocks != n.Nodes/32 {
			t.Errorf("network %+v", n)
		}
		for _, x := range []float64{n.Build, n.Partition, n.Setup, n.Pass, n.Ns, n.Ms} {
			if !(x > 0) {
				t.Errorf("a number is %v in %+v", x, n)
			}
		}
	}
	for _, g := range r.Growth {
		if !(g.Ns >= 1) || !(g.Iteration >= 1) {
			t.Errorf("growth %+v", g)
		}
	}
	if len(r.Left) != 1 || !strings.Contains(o.stderr, "note: left out BA 512: it needs about") {
		t.Errorf("left out %q, stderr:\n%s", r.Left, o.stderr)
	}
	if text := readFile(t, dir, "scale.json"); !strings.Contains(text, `"peak_bytes"`) {
		t.Errorf("scale.json is\n%s", text)
	}
	svg := readFile(t, dir, "plots", "iteration-by-size.svg")
	for _, part := range []string{"nodes of the network", "ms per iteration", "grid"} {
		if !strings.Contains(svg, part) {
			t.Errorf("the figure does not say %q", part)
		}
	}
	if png, err := os.Stat(filepath.Join(dir, "plots", "iteration-by-size.png")); err != nil || png.Size() == 0 {
		t.Errorf("png: %v", err)
	}
}

// TestBenchScaleTables: people see both tables and the ratios.
func TestBenchScaleTables(t *testing.T) {
	asked := scaleLittle(t, 64<<20)
	o := mustRun(t, "bench", "--scale")
	if !slices.Equal(*asked, []bool{false}) {
		t.Errorf("the plans asked for are quick: %v", *asked)
	}
	for _, part := range []string{
		"Building, partitioning and learning", "graph built", "peak memory", "grid 16×16", "BA 512",
		"by size of the network", "groups a block", "grid, 64 to 256 nodes: ns per edge largest/smallest", "Barabási–Albert, 64 to 512 nodes", "docs/explanation/performance.md",
	} {
		if !strings.Contains(o.stdout, part) {
			t.Errorf("the output does not contain %q:\n%s", part, o.stdout)
		}
	}
	for _, bad := range []string{"NaN", "Inf", "%!"} {
		if strings.Contains(o.stdout, bad) {
			t.Errorf("the output contains %q:\n%s", bad, o.stdout)
		}
	}
}

// TestBenchScaleRefusals: mistakes, full folders, too little memory, interruptions.
func TestBenchScaleRefusals(t *testing.T) {
	scaleLittle(t, 64<<20)
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "bench", "-o", "x").wantFailure(t, 2, "--scale")
	run(t, "bench", "--scale", "-o", "").wantFailure(t, 2, "--out", "folder")
	run(t, "bench", "--scale", "-o", full).wantFailure(t, 2, "not empty", "mine")
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	runContext(ctx, "bench", "--scale").wantFailure(t, 130, "interrupted")
	scaleLittle(t, 0)
	run(t, "bench", "--scale").wantFailure(t, 1, "not enough memory")
}
