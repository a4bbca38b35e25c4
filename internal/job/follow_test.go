package job

import (
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/distributed"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/learn"
)

// alike is the first of several processes, of which all others have and do the same.
type alike struct {
	distributed.Alone
	size int
}

func (a *alike) Size() int { return a.size }
func (a *alike) Gather(dst, own []float64, lengths []int) {
	copy(dst, slices.Repeat(own, len(lengths)))
}
func (a *alike) Bytes(own []byte) [][]byte { return slices.Repeat([][]byte{own}, a.size) }

// TestIdleHints: processes without work of their own are told of: of small networks all do the same,
// even where there are as many networks as processes.
func TestIdleHints(t *testing.T) {
	for _, c := range []struct {
		networks int
		options  Options
		want     string // "": no hint
	}{
		{1, Options{Settings: learn.Settings{Threads: 1}}, "each of 3 processes does all of the work"},
		{5, Options{Settings: learn.Settings{Threads: 1}}, "each of 3 processes does all of the work"},
		{1, Options{Settings: learn.Settings{Threads: 1, Method: learn.InnerDual}, Step: "adagrad:0.1"}, "2 of 3 processes only wait"},
		{1, Options{Settings: learn.Settings{Threads: 1, Method: learn.BBPL, Cut: learn.Cut{Blocks: 6}, Together: 2}, Step: "adagrad:0.1"}, "1 of 3 processes only wait"},
		{5, Options{Settings: learn.Settings{Threads: 1, Method: learn.InnerDual}, Step: "adagrad:0.1"}, ""},
	} {
		set := chains(t, c.networks)
		p := oracle.Must(Prepare(t.Context(), c.options, Task{Set: set, Group: &alike{size: 3}}))(t)
		if hints := strings.Join(p.idleHints(), "\n"); !strings.Contains(hints, c.want) || c.want == "" && hints != "" {
			t.Errorf("%d networks, %s %s: hints %q, want %q", c.networks, c.options.Method, c.options.Step, hints, c.want)
		}
	}
}

// TestProcessesDoNotChoose: where folds of labels would choose in one process, several learn edges
// together and say so, or are refused where few labels are known.
func TestProcessesDoNotChoose(t *testing.T) {
	for known, want := range map[int]string{20: "and 2 learn them together", 60: "and 2 learn them together", 100: ""} {
		b := blocks{nodes: 100, states: 2, degree: 4, same: .9, noise: 1, known: known, seed: 6}
		set := oracle.Must(dataset.Open(t.Context(), b.tables(t), dataset.Options{Observed: "train"}))(t)
		said := ""
		if p, err := Prepare(t.Context(), Options{}, Task{Set: set, Group: &alike{size: 2}}); err != nil {
			said = err.Error()
		} else if said = strings.Join(p.Notes, "\n"); p.choosing {
			t.Errorf("%d labels known: it chooses", known)
		}
		if !strings.Contains(said, want) || want == "" && strings.Contains(said, "learn them together") {
			t.Errorf("%d labels known: %q, want %q", known, said, want)
		}
	}
}
