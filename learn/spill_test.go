package learn

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/spill"
)

// TestSpill: what lies in a file is what lies in memory, for all problems and ways to run: the same
// weights, the same checkpoints, and a run that goes on from either. Nothing is left in the folder.
func TestSpill(t *testing.T) {
	oracle.Long(t)
	folder := t.TempDir()
	for kind, p := range problems(t) {
		for name, settings := range runs {
			p := p.with("trw")
			fit := func(folder string, from *State) (*Result, *State) {
				s := settings
				s.Step, s.Spill, s.Resume, s.MaxPasses = must(ParseStep("auto")), folder, from, 12
				var last *State
				s.Checkpoint = func(state *State) error {
					last = state.clone()
					return nil
				}
				r, err := Fit(context.Background(), p, s)
				if err != nil {
					t.Fatalf("%s, %s: %v", kind, name, err)
				}
				return r, last
			}
			memory, kept := fit("", nil)
			file, spilled := fit(folder, nil)
			if !slices.Equal(memory.Model.Weights, file.Model.Weights) || memory.Passes != file.Passes || memory.Status != file.Status {
				t.Errorf("%s, %s: weights differ, or %v passes and %v", kind, name, memory.Passes, file.Passes)
			}
			oracle.MustEqual(t, len(spilled.saved.Arrays), len(kept.saved.Arrays), "%s, %s: arrays of a state", kind, name)
			for i, a := range kept.saved.Arrays {
				if b := spilled.saved.Arrays[i]; a.Name != b.Name || !slices.EqualFunc(a.Values, b.Values, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) }) {
					t.Errorf("%s, %s: array %s differs", kind, name, a.Name)
				}
			}
			if resumed, _ := fit(folder, kept); !slices.Equal(resumed.Model.Weights, memory.Model.Weights) {
				t.Errorf("%s, %s: a run of a file that goes on from one of memory differs", kind, name)
			}
		}
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
		t.Errorf("the folder has %v: %v", entries, err)
	}
}

// TestSpillForecast: what lies in the file counts apart, is all of it, and no limit refuses it.
func TestSpillForecast(t *testing.T) {
	p := problems(t)["plain"].with("trw")
	s := Settings{Method: BBPL, Cut: Cut{Blocks: 4}, MaxPasses: 2}
	memory := must(Forecast(p, s))
	s.Spill = t.TempDir()
	file := must(Forecast(p, s))
	pieces := must(s.resolve(&p)).Threads * int(spill.PagesBytes)
	if memory.Spilled != 0 || file.Spilled == 0 || file.AtMost+file.Spilled != memory.AtMost+int64(pieces) {
		t.Errorf("in memory %d, of a file %d and %d beside it, with %d of pieces", memory.AtMost, file.Spilled, file.AtMost, pieces)
	}
	s.Memory = file.AtMost
	oracle.Must(Fit(context.Background(), p, s))(t)
	s.Memory--
	var tooMuch *MemoryError
	if _, err := Fit(context.Background(), p, s); !errors.As(err, &tooMuch) || slices.ContainsFunc(tooMuch.Items, func(i MemoryItem) bool { return i.Spilled }) {
		t.Error(err)
	}
	s.Memory, s.Spill = 0, filepath.Join(s.Spill, "missing")
	var no *spill.Error
	if _, err := Fit(context.Background(), p, s); !errors.As(err, &no) {
		t.Error(err)
	}
}
