package learn

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/cut"
	"github.com/blockbp/blockbp/internal/gen"
)

// TestChoose: sizes decide whether networks are cut, and a cut that was asked for comes
// first. The choice does not depend on how many networks there are.
func TestChoose(t *testing.T) {
	grid := func(side, instances int) Problem {
		return randomProblem(t, 1, problemOptions{rows: side, cols: side, states: 2, nodeDim: 1, edgeDim: 1, l2: 1, instances: instances})
	}
	hubs := shape{graph: must(gen.BarabasiAlbert(3000, 2, rand.New(rand.NewPCG(1, 1)))), schema: crf.Homogeneous(crf.NumberedStates(2), 1, 1)}.build(t, 3)
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
		if err != nil || got.Method != BBPL || got.Cut != c.want || !strings.Contains(reason, c.reason) {
			t.Errorf("%s: %s, cut %+v, because %q, error %v; want %+v, because %q", c.name, got.Method, got.Cut, reason, err, c.want, c.reason)
		}
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
	if !slices.Equal(auto.Model.Weights, whole.Model.Weights) || auto.Passes != whole.Passes || auto.Status != Converged {
		t.Errorf("auto: %s, %v passes, weights %v; in one block: %v passes, %v", auto.Reason, auto.Passes, auto.Model.Weights, whole.Passes, whole.Model.Weights)
	}
}

// TestSmallNetworksDoNotLimit: a network of three nodes beside one of 35 leaves the large one its blocks, whatever the
// cut; visits of empty blocks make no iteration, and the optimum is that of whole networks.
func TestSmallNetworksDoNotLimit(t *testing.T) {
	p := randomProblem(t, 1, problemOptions{rows: 5, cols: 7, states: 2, nodeDim: 2, edgeDim: 1, l2: 1})
	p.Data = append(randomProblem(t, 2, problemOptions{rows: 1, cols: 3, states: 2, nodeDim: 2, edgeDim: 1, l2: 1}).Data, p.Data...)
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
			if cuts[i].Kind != c.kinds[i] || blocks != c.inlarge || int(slices.Max(of)) != want-1 {
				t.Errorf("%+v: network %d has cut %+v, %d blocks of which %d have nodes; want %s, %d, %d", c.cut, i, cuts[i], blocks, 1+slices.Max(of), c.kinds[i], c.inlarge, want)
			}
		}
		l := must(newLearner(&p, &[]Settings{Settings{Method: BBPL, Cut: c.cut}.Resolved()}[0]))
		if l.schedule.perPass() != c.inlarge {
			t.Errorf("%+v: %d iterations in a pass, want %d", c.cut, l.schedule.perPass(), c.inlarge)
		}
		l.pool.Close()
		r := fit(t, p, Settings{Method: BBPL, Cut: c.cut, RelativeTolerance: 1e-9})
		if d := r.Objective - whole.Objective; r.Status != Converged || !(math.Abs(d) < 1e-12*whole.Objective) {
			t.Errorf("%+v: %s at %v, whole networks at %v", c.cut, r.Status, r.Objective, whole.Objective)
		}
	}
}
