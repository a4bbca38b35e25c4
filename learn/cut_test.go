package learn

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/cut"
	"github.com/blockbp/blockbp/internal/gen"
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
	_, _, err = (cut.Cut{Rows: 2, Cols: 3}).Resolve(p.Model, p.Data, cut.Cache())
	oracle.WantError(t, err, "tiles need a grid")
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

// TestChoose: sizes decide whether networks are cut, and a cut that was asked for comes
// first. The choice does not depend on how many networks there are.
func TestChoose(t *testing.T) {
	grid := func(side, instances int) Problem {
		return randomProblem(t, 1, problemOptions{rows: side, cols: side, states: 2, nodeDim: 1, edgeDim: 1, l2: 1,
			instances: instances})
	}
	hubs := shape{graph: must(gen.BarabasiAlbert(3000, 2, rand.New(rand.NewPCG(1, 1)))),
		schema: crf.Homogeneous(crf.NumberedStates(2), 1, 1)}.build(t, 3)
	large := grid(120, 1)
	chain := func(numbers string) Problem {
		p := randomProblem(t, 1, problemOptions{rows: 1, cols: 14400, states: 2, nodeDim: 1, edgeDim: 1, l2: 1})
		p.Counting = must(counting.Parse(t.Context(), numbers, 1))
		return p
	}
	mixed := grid(4, 1)
	mixed.Data = append(mixed.Data, large.Data...)
	for _, c := range []struct {
		name   string
		p      Problem
		s      Settings
		parts  float64 // of the largest network that half the cache holds
		want   Cut
		reason string
	}{
		{"large", large, Settings{}, 25, Cut{}, "25 times"},
		{"fits", large, Settings{}, 19, Cut{Blocks: 1}, "would fill 19"},
		{"many", grid(30, 30), Settings{}, 19, Cut{Blocks: 1}, "whole networks"},
		{"a chain", chain("trw"), Settings{}, 25, Cut{Blocks: 1}, "a sweep back and forth"},
		{"a chain by looser numbers", chain("convex"), Settings{}, 25, Cut{}, "25 times"},
		{"hubs", hubs, Settings{}, 50, Cut{Blocks: 1}, "25 % of its"},
		{"a small one beside", mixed, Settings{}, 25, Cut{}, "14400 nodes"},
		{"asked", grid(6, 1), Settings{Cut: Cut{Blocks: 4}}, 1, Cut{Blocks: 4}, "asked"},
		{"asked for several", grid(6, 1), Settings{Together: 2}, 1, Cut{}, "asked"},
	} {
		_, largest := cut.Needed(c.p.Model, c.p.Data, 1)
		cache := cut.Bytes(c.p.Model, largest) / c.parts / cut.CacheShare * 1.0001
		got, reason, err := c.s.choose(&c.p, cache)
		oracle.OK(t, err)
		oracle.Equal(t, []any{got.Method, got.Cut}, []any{BBPL, c.want}, "%s, because %q", c.name, reason)
		oracle.Contains(t, reason, c.reason)
	}
	for _, m := range Methods[1:] {
		s := Settings{Method: m, Seed: 3}
		if got, reason, err := s.Choose(&large); got.Method != m || got.Cut != s.Cut || reason != "" || err != nil {
			t.Errorf("%s: became %s, %q, %v", m, got.Method, reason, err)
		}
	}
}

// TestAutoIsWhatItChooses: the run is that of the method and the cut that were chosen.
func TestAutoIsWhatItChooses(t *testing.T) {
	p := problems(t)["plain"]
	auto := must(Fit(t.Context(), p, Settings{}))
	whole := must(Fit(t.Context(), p, Settings{Method: BBPL, Cut: Cut{Blocks: 1}}))
	oracle.Equal(t, auto.Model.Weights, whole.Model.Weights, "weights, and those in one block")
	oracle.Equal(t, []any{auto.Passes, auto.Status}, []any{whole.Passes, Converged}, "the end, for %s", auto.Reason)
}

// TestSmallNetworksDoNotLimit: a network of three nodes beside one of 35 leaves the large one its blocks, whatever the
// cut; visits of empty blocks make no iteration, and the optimum is that of whole networks.
func TestSmallNetworksDoNotLimit(t *testing.T) {
	p := randomProblem(t, 1, problemOptions{rows: 5, cols: 7, states: 2, nodeDim: 2, edgeDim: 1, l2: 1})
	small := randomProblem(t, 2, problemOptions{rows: 1, cols: 3, states: 2, nodeDim: 2, edgeDim: 1, l2: 1})
	p.Data = append(small.Data, p.Data...)
	whole := fit(t, p, Settings{Cut: Cut{Blocks: 1}, RelativeTolerance: 1e-9})
	for _, c := range []struct {
		cut     Cut
		kinds   [2]string
		rows    int // of tiles, of the small network
		filled  int // its blocks
		inlarge int
	}{
		{Cut{}, [2]string{"bfs", "tiles"}, 0, 3, 20},
		{Cut{Kind: "range"}, [2]string{"range", "range"}, 0, 3, 20},
		{Cut{Blocks: 8}, [2]string{"bfs", "bfs"}, 0, 3, 8},
		{Cut{Kind: "bfs", Blocks: 30}, [2]string{"bfs", "bfs"}, 0, 3, 30},
		{Cut{Kind: "tiles", Rows: 2, Cols: 3}, [2]string{"tiles", "tiles"}, 1, 3, 6},
		{Cut{Kind: "tiles", Blocks: 4}, [2]string{"tiles", "tiles"}, 1, 3, 4},
	} {
		cuts, together, err := cut.Cut(c.cut).Resolve(p.Model, p.Data, cut.Cache())
		if err != nil || together != 1 {
			t.Fatalf("%+v: %d together, %v", c.cut, together, err)
		}
		for i, want := range []int{c.filled, c.inlarge} {
			of, blocks := cuts[i].Assign(p.Data[i])
			oracle.Equal(t, cuts[i].Kind, c.kinds[i], "%+v: how network %d is cut", c.cut, i)
			oracle.Equal(t, []int{blocks, int(slices.Max(of))}, []int{c.inlarge, want - 1},
				"%+v: blocks of network %d, and the last that has nodes", c.cut, i)
		}
		l := must(newLearner(&p, &[]Settings{Settings{Method: BBPL, Cut: c.cut}.Resolved()}[0]))
		oracle.Equal(t, l.schedule.perPass(), c.inlarge, "%+v: iterations in a pass", c.cut)
		l.pool.Close()
		r := fit(t, p, Settings{Method: BBPL, Cut: c.cut, RelativeTolerance: 1e-9})
		if d := r.Objective - whole.Objective; r.Status != Converged || !(math.Abs(d) < 1e-12*whole.Objective) {
			t.Errorf("%+v: %s at %v, whole networks at %v", c.cut, r.Status, r.Objective, whole.Objective)
		}
	}
}
