package learn

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/infile"
)

// sparedFeatures returns features of a file that are changed in place, as standardising does, and
// are those of the file again wherever a process lets go of them.
func sparedFeatures(t *testing.T, f *crf.FeatureData) crf.Features {
	raw := make([]float64, len(f.Double))
	for i, x := range f.Double {
		raw[i] = 4*x + 8
	}
	path := filepath.Join(t.TempDir(), "features")
	if err := os.WriteFile(path, unsafe.Slice((*byte)(unsafe.Pointer(&raw[0])), 8*len(raw)), 0o600); err != nil {
		t.Fatal(err)
	}
	m := must(infile.MapOwn(path, "numbers", func(int64) error { return nil }))
	x := unsafe.Slice((*float64)(unsafe.Pointer(&m.Bytes()[0])), len(raw))
	change := func(lo, hi int) {
		for i := range x[lo:hi] {
			x[lo+i] = (x[lo+i] - 8) / 4
		}
	}
	change(0, len(x))
	infile.Spare(x, change)
	features := must(crf.Dense(x, f.Dim))
	features.Data().Owner = m // it is mapped as long as somebody has them
	return features
}

// TestSparedFeatures: processes that have let go of each other's features claim a stationary point of
// an objective that is not convex, as one process does, with the same bits.
func TestSparedFeatures(t *testing.T) {
	base := randomProblem(t, 11, problemOptions{rows: 30, cols: 30, states: 6, nodeDim: 6, edgeDim: 3, l2: 0.5}).with("bethe")
	own := func() Problem {
		p := base
		p.Data = slices.Clone(p.Data)
		for i, in := range p.Data {
			spec := in.Spec()
			spec.NodeFeat = []crf.Features{sparedFeatures(t, in.NodeFeatures(0).Data())}
			spec.EdgeFeat = []crf.Features{sparedFeatures(t, in.EdgeFeatures(0).Data())}
			p.Data[i] = must(crf.NewInstance(in.Schema(), spec))
		}
		return p
	}
	var want *Result
	for size := 1; size <= 2; size++ {
		all, problems := make([]*Result, size), make([]Problem, size)
		for rank := range problems {
			problems[rank] = own()
		}
		done := make(chan bool)
		go func() {
			defer close(done)
			processes(t, size, func(g Group) {
				s := Settings{Method: BBPL, Together: 4, Cut: Cut{Kind: "range", Blocks: 20}, Group: g, MaxPasses: 3000, RelativeTolerance: 1e-3}
				r, err := Fit(context.Background(), problems[g.Rank()], s)
				if err != nil {
					t.Errorf("%d processes, process %d: %v", size, g.Rank(), err)
				}
				all[g.Rank()] = r
			})
		}()
		select {
		case <-done:
		case <-time.After(2 * time.Minute):
			t.Fatalf("%d processes wait for each other", size)
		}
		for rank, r := range all {
			switch {
			case r == nil:
			case want == nil:
				if want = r; r.Status != StationaryPoint {
					t.Errorf("one process ends with %s: %s", r.Status, r.Reason)
				}
			case r.Status != want.Status || !slices.Equal(r.Model.Weights, want.Model.Weights):
				t.Errorf("process %d of %d ends with %s (%s), one process with %s (%s), or with other weights", rank, size, r.Status, r.Reason, want.Status, want.Reason)
			}
		}
	}
}
