package learn

import (
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/cut"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestCutErrors: fields that contradict each other are named; rows and columns ask for tiles.
func TestCutErrors(t *testing.T) {
	p := randomProblem(t, 1, problemOptions{rows: 6, cols: 6, states: 2, nodeDim: 1, edgeDim: 1, l2: 1})
	for want, cut := range map[string]Cut{
		`Cut.Kind is one of`:              {Kind: "tile"},
		"≥ 0, got -1":                     {Blocks: -1},
		"both set or both 0, got 2 and 0": {Rows: 2},
		"both set or both 0, got 0 and 2": {Cols: 2},
		"got 9 beside 2 × 2":              {Blocks: 9, Rows: 2, Cols: 2},
		`"tiles" with Rows and Cols`:      {Kind: "bfs", Rows: 2, Cols: 2},
	} {
		oracle.Fails(Fit(t.Context(), p, Settings{Cut: cut}))(t, want)
	}
	cuts, _, err := cut.Cut{Rows: 2, Cols: 3}.Resolve(p.Model, p.Data, cut.Cache())
	if want := (Cut{Kind: "tiles", Blocks: 6, Rows: 2, Cols: 3}); err != nil || Cut(cuts[0]) != want {
		t.Errorf("cut %+v, %v; want %+v", cuts, err, want)
	}
	p.Data[0].Rows, p.Data[0].Cols = 0, 0
	if _, _, err := (cut.Cut{Rows: 2, Cols: 3}).Resolve(p.Model, p.Data, cut.Cache()); err == nil || !strings.Contains(err.Error(), "tiles need a grid") {
		t.Errorf("error %v", err)
	}
}

// mixedShapes are grids that lie, stand, are a little smaller, and too thin for tiles.
func mixedShapes(t *testing.T, edges bool) Problem {
	var p Problem
	for i, shape := range [][2]int{{48, 64}, {64, 48}, {43, 64}, {2, 60}, {48, 48}, {1, 25}} {
		one := randomProblem(t, uint64(i+1), problemOptions{rows: shape[0], cols: shape[1], states: 2, nodeDim: 2, edgeDim: 1, l2: 1})
		in := one.Data[0]
		if in.Rows != shape[0] || in.Cols != shape[1] {
			t.Fatalf("grid of %d×%d, want %v", in.Rows, in.Cols, shape)
		}
		if !edges {
			in = in.WithoutEdges()
		}
		p.Model, p.L2, p.Data = one.Model, one.L2, append(p.Data, in)
	}
	return p
}

// TestCutMixedShapes: networks of any mixture of shapes get as many blocks, whatever the cache: tiles that are turned
// where a network stands, blocks grown breadth-first where tiles do not fit, and empty ones where there are fewer
// nodes. They can be learned from, with and without edges.
func TestCutMixedShapes(t *testing.T) {
	for _, edges := range []bool{true, false} {
		p := mixedShapes(t, edges)
		for _, kib := range []float64{16, 33, 64, 128, 4096} {
			cuts, together, err := cut.Cut{}.Resolve(p.Model, p.Data, kib*1024)
			if err != nil {
				t.Fatalf("edges %v, %v KiB: %v", edges, kib, err)
			}
			if together < 1 || cuts[0].Kind != "tiles" || cuts[1].Rows != cuts[0].Cols || cuts[1].Cols != cuts[0].Rows || cuts[3].Kind != "bfs" {
				t.Errorf("edges %v, %v KiB: cuts %+v, %d together", edges, kib, cuts, together)
			}
			at := map[*crf.Instance]cut.Cut{}
			for i, in := range p.Data {
				at[in] = cuts[i]
				if cuts[i].Blocks != cuts[0].Blocks || cuts[i].Blocks < cut.Usual {
					t.Errorf("edges %v, %v KiB: instance %d has %d blocks, the first %d", edges, kib, i, cuts[i].Blocks, cuts[0].Blocks)
				}
			}
			r := fit(t, p, Settings{Together: together, MaxPasses: 3, Assign: func(in *crf.Instance) ([]int32, int, error) {
				of, blocks := at[in].Assign(in)
				return of, blocks, nil
			}})
			if r.Iterations == 0 || !(r.GradientNorm < r.FirstGradientNorm) {
				t.Errorf("edges %v, %v KiB: gradient %v after %d iterations, %v at the start", edges, kib, r.GradientNorm, r.Iterations, r.FirstGradientNorm)
			}
		}
	}
	// 32 blocks of which the smallest network, with 25 nodes, fills 25.
	p := mixedShapes(t, true)
	of, blocks := cut.Cut{Kind: "bfs", Blocks: 32}.Assign(p.Data[5])
	if blocks != 32 || slices.Max(of) != 24 {
		t.Errorf("%d blocks, the last with a node is %d; want 32 and 24", blocks, slices.Max(of))
	}
}
