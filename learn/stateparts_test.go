package learn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/runstate"
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
	cases := groupCases(t)
	for _, name := range []string{"grid", "grid, trw", "grid, hidden", "grid, whole", "scale-free", "chains, sparse", "untied, first order", "plain, pairs", "mixed missing, fixed"} {
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
				if err := must(ReadState(path)).Verify(); err != nil {
					t.Fatal(err)
				}
				files := len(must(os.ReadDir(filepath.Dir(path))))
				if alone := before == 1; alone != (files == 1) {
					t.Errorf("%d processes leave %d files", before, files)
				}
				for after := 1; after <= 4; after++ {
					if r := must(dealt(t, c, after, path, "", 16)); !sameBits(want, r) {
						t.Errorf("%d processes, and then %d: %v after %v passes, want %v after %v", before, after, r.Objective, r.Passes, want.Objective, want.Passes)
					}
				}
			}
		})
	}
}

// copyFiles copies files into a new folder.
func copyFiles(t *testing.T, paths ...string) string {
	t.Helper()
	folder := t.TempDir()
	for _, path := range paths {
		if err := os.WriteFile(filepath.Join(folder, filepath.Base(path)), must(os.ReadFile(path)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// Whatever of a new state is there when the processes are killed, there is one to go on from: as long as
// not all is written the one before.
func TestPartsAreKilled(t *testing.T) {
	c := dealtCase(t)
	old := filepath.Join(t.TempDir(), "state.safetensors")
	must(dealt(t, c, 2, "", old, 4))
	folder := copyFiles(t, glob(t, filepath.Dir(old))...)
	path := filepath.Join(folder, "state.safetensors")
	must(dealt(t, c, 3, path, path, 9)) // in the place of the one before
	r := must(dealt(t, c, 1, "", "", 12))
	was, is := glob(t, filepath.Dir(old)), glob(t, folder)
	generation := func(path string) int { return must(ReadState(path)).parts.Generation }
	if a, b := generation(old), generation(path); b <= a || len(is) != len(was) || len(is) < 10 {
		t.Fatalf("generations %d and %d, with %d and %d files", a, b, len(was), len(is))
	}
	main := func(path string) bool { return filepath.Base(path) == "state.safetensors" }
	parts := slices.DeleteFunc(slices.Clone(is), main)
	for n := range parts { // some new parts are there
		at := copyFiles(t, append(slices.Clone(was), parts[:n]...)...)
		if got := must(dealt(t, c, 2, filepath.Join(at, "state.safetensors"), "", 12)); !sameBits(r, got) {
			t.Errorf("with %d new parts: %v, want %v", n, got.Objective, r.Objective)
		}
	}
	before := slices.DeleteFunc(slices.Clone(was), main)
	for n := range before { // some old parts are left
		at := filepath.Join(copyFiles(t, append(slices.Clone(is), before[n:]...)...), "state.safetensors")
		got := must(dealt(t, c, 2, at, at, 12))
		if files := glob(t, filepath.Dir(at)); !sameBits(r, got) || len(files) != len(is) {
			t.Errorf("with %d old parts: %v, want %v, and %d files, want %d", len(before)-n, got.Objective, r.Objective, len(files), len(is))
		}
	}
	must(dealt(t, c, 1, path, path, 12))
	if files := glob(t, folder); len(files) != 1 {
		t.Errorf("one process leaves %v", files)
	}
}

func glob(t *testing.T, folder string) []string {
	t.Helper()
	return must(filepath.Glob(filepath.Join(folder, "*")))
}

// Files that are no parts of the state are refused by their name, with what was wanted, in every process.
func TestPartsAreRefused(t *testing.T) {
	c := dealtCase(t)
	path := filepath.Join(t.TempDir(), "state.safetensors")
	must(dealt(t, c, 2, "", path, 6))
	is := must(ReadState(path)).parts
	last := 0
	for part, sum := range is.Checksums {
		if sum != "" {
			last = part
		}
	}
	raw := must(os.ReadFile(runstate.PartPath(path, last, is.Generation)))
	other := filepath.Join(t.TempDir(), "state.safetensors")
	must(dealt(t, c, 2, "", other, 3))
	others := must(os.ReadFile(runstate.PartPath(other, last, must(ReadState(other)).parts.Generation)))
	flipped := slices.Clone(raw)
	flipped[len(flipped)-5] ^= 4
	for name, damage := range map[string]struct {
		do   func(name string) error
		says []string
	}{
		"missing":          {os.Remove, []string{"is missing, which ", "bring back all files of one checkpoint"}},
		"another state's":  {func(name string) error { return os.WriteFile(name, others, 0o666) }, []string{"is of another checkpoint, or damaged: its checksum is", "asks for"}},
		"flipped":          {func(name string) error { return os.WriteFile(name, flipped, 0o666) }, []string{"it is damaged; go back to a copy"}},
		"cut":              {func(name string) error { return os.WriteFile(name, raw[:len(raw)/2], 0o666) }, []string{"bring back all files of one checkpoint"}},
		"a folder, though": {func(name string) error { return errors.Join(os.Remove(name), os.Mkdir(name, 0o777)) }, []string{"bring back all files of one checkpoint"}},
	} {
		at := filepath.Join(copyFiles(t, glob(t, filepath.Dir(path))...), "state.safetensors")
		part := runstate.PartPath(at, last, is.Generation)
		if err := damage.do(part); err != nil {
			t.Fatal(err)
		}
		state, err := ReadState(at)
		if name == "flipped" {
			// The last process alone reads the part, and all are told.
			if err != nil || state.Verify() == nil {
				t.Errorf("%s: error %v, and none of Verify", name, err)
			}
			_, err = dealt(t, c, 3, at, "", 9)
		}
		if err == nil || !errors.Is(err, ErrState) || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: error %v", name, err)
			continue
		}
		for _, text := range damage.says {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s: error %v, want %q", name, err, text)
			}
		}
	}
	i := 0
	for what, damaged := range oracle.Damaged(raw, 1) {
		if i++; i%101 > 0 {
			continue
		}
		if err := os.WriteFile(runstate.PartPath(path, last, is.Generation), damaged, 0o666); err != nil {
			t.Fatal(err)
		}
		if state, err := ReadState(path); err == nil && state.Verify() == nil {
			t.Errorf("%s was changed without an error", what)
		}
	}
}

// A list of parts that no run writes is refused.
func TestPartsList(t *testing.T) {
	sums := strings.TrimSuffix(strings.Repeat(`"",`, mostParts), ",")
	for text, good := range map[string]bool{
		fmt.Sprintf(`{"generation":1,"checksums":[%s]}`, sums):           true,
		fmt.Sprintf(`{"generation":0,"checksums":[%s]}`, sums):           false,
		fmt.Sprintf(`{"generation":1,"checksums":["",%s]}`, sums):        false,
		fmt.Sprintf(`{"generation":1,"checksums":[%s],"other":1}`, sums): false,
		fmt.Sprintf(`{"generation":"one","checksums":[%s]}`, sums):       false,
		"": false,
	} {
		if err := new(State).parseParts(text); (err == nil) != good {
			t.Errorf("%s: error %v", text, err)
		}
	}
}

// Where one process cannot write, all end with its error, nothing of the new state stays, and the one
// before is whole.
func TestPartsAreNotWritten(t *testing.T) {
	c := dealtCase(t)
	path := filepath.Join(t.TempDir(), "state.safetensors")
	want := must(dealt(t, c, 2, "", "", 9))
	must(dealt(t, c, 2, "", path, 4))
	is := must(ReadState(path)).parts
	files := glob(t, filepath.Dir(path))
	last := 0
	for part, sum := range is.Checksums {
		if sum != "" {
			last = part
		}
	}
	obstacle := runstate.PartPath(path, last, is.Generation+1)
	if err := errors.Join(os.Mkdir(obstacle, 0o777), os.WriteFile(filepath.Join(obstacle, "x"), nil, 0o666)); err != nil {
		t.Fatal(err)
	}
	_, err := dealt(t, c, 3, path, path, 9)
	if err == nil || !strings.Contains(err.Error(), "process 2: ") || !strings.Contains(err.Error(), filepath.Base(obstacle)) {
		t.Errorf("error %v", err)
	}
	if err := os.RemoveAll(obstacle); err != nil {
		t.Fatal(err)
	}
	if left := glob(t, filepath.Dir(path)); !slices.Equal(left, files) {
		t.Errorf("files left: %v, want %v", left, files)
	}
	if r := must(dealt(t, c, 2, path, path, 9)); !sameBits(r, want) {
		t.Errorf("it goes on to %v, want %v", r.Objective, want.Objective)
	}
	// An error of the caller's is that of all, too.
	full := errors.New("disk full")
	_, err = together(t, 3, c.problem, func(int) Settings {
		s := c.fresh()
		s.Checkpoint = func(*State) error { return full }
		return s
	})
	if err == nil || err.Error() != "disk full" {
		t.Errorf("error %v", err)
	}
	// Files of others stay.
	stranger := filepath.Join(filepath.Dir(path), "state.part-1.5.safetensors")
	if err := os.WriteFile(stranger, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	must(Fit(context.Background(), c.problem, Settings{Step: must(ParseStep("fixed:0.1")), MaxIterations: 2, Checkpoint: func(x *State) error { return x.WriteFile(path) }}))
	if left := glob(t, filepath.Dir(path)); !slices.Equal(left, []string{stranger, path}) {
		t.Errorf("files left: %v", left)
	}
}
