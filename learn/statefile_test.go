package learn

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/runstate"
	"github.com/blockbp/blockbp/internal/safetensors"
)

// tinyProblem has four nodes and a few weights, so that its states are small.
func tinyProblem(t testing.TB) Problem {
	return randomProblem(t, 3, problemOptions{rows: 2, cols: 2, states: 2, nodeDim: 1, edgeDim: 1, l2: 0.3})
}

// tinyRuns are settings whose states hold different things.
func tinyRuns() map[string]func() Settings {
	best := func(m *crf.Model) (map[string]float64, error) {
		return map[string]float64{"size@dev": norm(m.Weights)}, nil
	}
	return map[string]func() Settings{
		"bbpl": func() Settings { return Settings{Assign: blocksOf(2)} },
		"full": func() Settings { return Settings{Method: Full} },
		"pseudo, with a best model": func() Settings {
			return Settings{Method: Pseudo, Evaluate: best, EvaluateEvery: 1, EarlyStop: &EarlyStop{Metric: "size@dev", Patience: 99}}
		},
	}
}

// stateFile is the file of a state after a few iterations.
func stateFile(t testing.TB, s Settings) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state")
	s.MaxIterations, s.RelativeTolerance = 5, 1e-12
	s.Checkpoint = func(state *State) error { return state.WriteFile(path) }
	oracle.Must(Fit(context.Background(), tinyProblem(t), s))(t)
	return must(os.ReadFile(path))
}

func readStateBytes(raw []byte, verify bool) (*State, error) {
	kept, in, err := runstate.ReadFrom("state", func() (*safetensors.File, error) {
		f, err := safetensors.NewFile(bytes.NewReader(raw), int64(len(raw)))
		if err == nil && verify {
			err = f.Verify()
		}
		return f, err
	})
	if err != nil {
		return nil, err
	}
	return &State{Iteration: in.Iteration, saved: kept}, nil
}

// TestStateFileDamageIsFound: a checkpoint that was changed anywhere is refused.
func TestStateFileDamageIsFound(t *testing.T) {
	oracle.Long(t)
	holds := map[string]bool{}
	for name, settings := range tinyRuns() {
		raw := stateFile(t, settings())
		state := oracle.Must(readStateBytes(raw, true))(t)
		for _, a := range must(state.saved.Open()).Tensors() {
			holds[a.Name] = true
		}
		// The kinds differ in their arrays alone, and package safetensors has every bit of a file flipped.
		for at := range raw {
			bit := byte(1) << (at % 8)
			for _, damaged := range [][]byte{slices.Concat(raw[:at], []byte{raw[at] ^ bit}, raw[at+1:]), raw[:at:at]} {
				if _, err := readStateBytes(damaged, true); err == nil {
					t.Errorf("%s: byte %d of %d was changed, or the rest cut off, without an error", name, at, len(raw))
				}
			}
		}
	}
	for _, name := range []string{"weights", "best", "part.16", "gradient", "step.incremental.mean", "step.descent.origin",
		"step.pairs.s.0"} {
		if !holds[name] {
			t.Errorf("no state holds %s: the test tests too little; there are %v", name, slices.Sorted(maps.Keys(holds)))
		}
	}
}

// TestStateFilesOfBefore: a state of another format is refused by its number, with what to do.
func TestStateFilesOfBefore(t *testing.T) {
	path := filepath.Join("..", "internal", "cli", "testdata", "v0.1.0", "run", "checkpoint", "state.safetensors")
	oracle.Fails(ReadState(path))(t, fmt.Sprintf("format 16, this version reads %d: start a new run", runstate.Format),
		"to which the command's --init")
}

// FuzzState: no text and no arrays make a panic. Checksums
// are not looked at, so that fuzzing comes to what is behind them.
func FuzzState(f *testing.F) {
	runs := tinyRuns()
	names := slices.Sorted(maps.Keys(runs))
	for _, name := range names {
		f.Add(stateFile(f, runs[name]()))
	}
	p := tinyProblem(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		state, err := readStateBytes(raw, false)
		if err != nil {
			return
		}
		for _, name := range names {
			s := runs[name]()
			s.Resume, s.Threads, s.MaxIterations = state, 1, 50
			_, _ = Fit(&countdown{context.Background(), 1}, p, s) // an error, or an end
		}
	})
}
