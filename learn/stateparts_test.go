package learn

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/blockbp/blockbp/internal/oracle"
)

// dealtCase is a small grid whose blocks are dealt over processes.
func dealtCase(t *testing.T) groupCase {
	p := randomProblem(t, 11, problemOptions{rows: 12, cols: 12, states: 3, nodeDim: 3, edgeDim: 2, l2: 3})
	return groupCase{p, Settings{Method: BBPL, Together: 4, Cut: Cut{Blocks: 12}}, "first order"}
}

// dealt runs a case in so many processes, from the state at a path if there is one, and saves its
// state at the start and at a limit of passes.
func dealt(t *testing.T, c groupCase, size int, from, to string, passes float64) (*Result, error) {
	t.Helper()
	return together(t, size, c.problem, func(rank int) Settings {
		s := c.fresh()
		s.MaxPasses, s.CheckpointEvery, s.RelativeTolerance = passes, time.Hour, 1e-13
		if from != "" {
			s.Resume = must(ReadState(from))
		}
		if to != "" {
			s.Checkpoint = func(x *State) error { return x.WriteFile(to) }
		}
		return s
	})
}

// Any number of processes goes on from what any number has saved to the bits of a run that never ended.
func TestPartsResume(t *testing.T) {
	oracle.Long(t)
	cases := groupCases(t)
	for _, name := range []string{"grid", "grid, trw", "grid, hidden", "grid, whole", "scale-free", "chains, sparse", "untied, first order", "mixed missing, fixed"} {
		c, ok := cases[name]
		if !ok {
			t.Fatalf("no case %s", name)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := must(dealt(t, c, 1, "", "", 16))
			for before := 1; before <= 4; before++ {
				path := filepath.Join(t.TempDir(), "state.safetensors")
				must(dealt(t, c, before, "", path, 8))
				for after := 1; after <= 4; after++ {
					if r := must(dealt(t, c, after, path, "", 16)); !sameBits(want, r) {
						t.Errorf("%d processes, and then %d: %v after %v passes, want %v after %v", before, after, r.Objective, r.Passes, want.Objective, want.Passes)
					}
				}
			}
		})
	}
}

// Where the state cannot be written all processes end with the error, and the state before is whole. So do they
// where the caller has an error.
func TestPartsAreNotWritten(t *testing.T) {
	c := dealtCase(t)
	folder := filepath.Join(t.TempDir(), "folder")
	oracle.OK(t, os.Mkdir(folder, 0o777))
	path := filepath.Join(folder, "state.safetensors")
	want := must(dealt(t, c, 2, "", "", 9))
	must(dealt(t, c, 2, "", path, 4))
	before := must(os.ReadFile(path))
	_, err := together(t, 3, c.problem, func(int) Settings {
		s := c.fresh()
		s.Checkpoint = func(x *State) error { return x.WriteFile(filepath.Join(folder, "missing", "state")) }
		return s
	})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	// A tensor of a wrong length is found out when some parts have been brought together.
	_, err = together(t, 3, c.problem, func(int) Settings {
		s := c.fresh()
		s.Checkpoint = func(x *State) error {
			x.saved.Arrays[len(x.saved.Arrays)-2].Length++
			return x.WriteFile(path)
		}
		return s
	})
	oracle.WantError(t, err, "its shape")
	if !bytes.Equal(must(os.ReadFile(path)), before) || len(must(os.ReadDir(folder))) != 1 {
		t.Error("the state before was changed, or something is left")
	}
	if r := must(dealt(t, c, 2, path, path, 9)); !sameBits(r, want) {
		t.Errorf("it goes on to %v, want %v", r.Objective, want.Objective)
	}
	full := errors.New("disk full")
	_, err = together(t, 3, c.problem, func(int) Settings {
		s := c.fresh()
		s.Checkpoint = func(*State) error { return full }
		return s
	})
	if err == nil || err.Error() != "disk full" {
		t.Errorf("error %v", err)
	}
}
