package learn

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/parted"
)

// unread is an instance whose dense features are no numbers, until hold fills in those of some parts.
func unread(t *testing.T, in *crf.Instance, cut *parted.Cut) (other *crf.Instance, hold func(from, to int)) {
	t.Helper()
	spec := in.Spec()
	blank := func(f *crf.Features) {
		x := f.Data()
		*f = crf.Constant(x.Rows, x.Dim)
		f.Data().Double = slices.Repeat([]float64{math.NaN()}, x.Rows*x.Dim)
	}
	blank(&spec.NodeFeat[0])
	blank(&spec.EdgeFeat[0])
	other = must(crf.NewInstance(in.Schema(), spec))
	return other, func(from, to int) {
		has := func(s int32) bool { p := int(cut.Part[cut.Of[s]]); return from <= p && p < to }
		for s := range int32(in.Graph.NumNodes()) {
			if r := in.NodeRow(s); has(s) {
				in.NodeFeatures(0).Row(other.NodeFeatures(0).Data().Double[r*in.NodeFeatures(0).Dim():], r)
			}
		}
		for e := range int32(in.Graph.NumEdges()) {
			if r := in.EdgeRow(e); has(in.Graph.U(e)) || has(in.Graph.V(e)) {
				in.EdgeFeatures(0).Row(other.EdgeFeatures(0).Data().Double[r*in.EdgeFeatures(0).Dim():], r)
			}
		}
	}
}

// A network that was partitioned is learned from as it would be otherwise, to the last bit, by any number of
// processes; where the network is large each looks at the features of its own parts alone.
func TestParted(t *testing.T) {
	grid := problemOptions{rows: 26, cols: 30, states: 4, nodeDim: 5, edgeDim: 3, l2: 3, samples: 2}
	hidden, small := grid, grid
	small.rows, small.cols = 8, 9
	hidden.missing = 0.2
	for name, c := range map[string]struct {
		options  problemOptions
		settings Settings
		step     string
		own      bool
	}{
		"fixed steps":   {grid, Settings{Cut: Cut{Blocks: 30}, Together: 6}, "fixed:0.3", true},
		"curvature":     {grid, Settings{Cut: Cut{Blocks: 30}}, "auto", true},
		"linear system": {small, Settings{Cut: Cut{Blocks: 12}}, "auto", false},
		"one block":     {grid, Settings{Cut: Cut{Blocks: 1}}, "fixed:0.3", false},
		"hidden labels": {hidden, Settings{Cut: Cut{Blocks: 12}, Together: 3}, "fixed:0.3", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := randomProblem(t, 7, c.options)
			settings := func(cut Cut) Settings {
				s := c.settings
				s.Cut, s.Method, s.Step, s.MaxPasses = cut, BBPL, must(ParseStep(c.step)), 12
				return s
			}
			want := must(Fit(context.Background(), p, settings(c.settings.Cut)))
			cut, asked := &parted.Cut{}, p
			asked.Parted = cut
			must(Forecast(asked, settings(c.settings.Cut)))
			cut.Features = "those of the test"
			for size := 1; size <= 4; size++ {
				results, errs := make([]*Result, size), make([]error, size)
				processes(t, size, func(g Group) {
					other, hold := unread(t, p.Data[0], cut)
					own, q := *cut, p
					own.Hold = func(from, to int) error {
						if part := to-from < mostParts; part != (c.own && size > 1) {
							t.Errorf("process %d of %d is given the parts from %d to %d", g.Rank(), size, from, to)
						}
						hold(from, to)
						return nil
					}
					q.Data, q.Parted = []*crf.Instance{other}, &own
					s := settings(Cut{})
					s.Group, s.Threads = g, 1+g.Rank()%2
					results[g.Rank()], errs[g.Rank()] = Fit(context.Background(), q, s)
				})
				for rank, r := range results {
					if errs[rank] != nil {
						t.Fatal(errs[rank])
					}
					if !sameBits(want, r) {
						t.Errorf("process %d of %d: objective %v, otherwise it is %v", rank, size, r.Objective, want.Objective)
					}
				}
			}
		})
	}
}

// Processes of which one has the data whole, and another in parts, are told that they have other data.
func TestPartedElsewhere(t *testing.T) {
	p := randomProblem(t, 7, problemOptions{rows: 8, cols: 9, states: 3, nodeDim: 2, edgeDim: 2, l2: 3})
	cut := &parted.Cut{}
	asked := p
	asked.Parted = cut
	s := Settings{Method: BBPL, Cut: Cut{Blocks: 12}, MaxPasses: 3}
	must(Forecast(asked, s))
	cut.Features = "those of the test"
	cut.Hold = func(int, int) error { return nil }
	for whole := range 2 {
		processes(t, 2, func(g Group) {
			own, q := s, p
			own.Group = g
			if g.Rank() != whole {
				q.Parted = cut
			}
			if _, err := Fit(context.Background(), q, own); err == nil || !strings.Contains(err.Error(), "process 1 has other data than process 0") {
				t.Errorf("process %d, the data are whole in %d: %v", g.Rank(), whole, err)
			}
		})
	}
}
