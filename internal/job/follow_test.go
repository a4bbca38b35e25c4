package job

import (
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/distributed"
	"github.com/blockbp/blockbp/learn"
)

// TestWholeHints: a partitioned network whose features all processes keep is told of, of several processes.
func TestWholeHints(t *testing.T) {
	whole := opened(t, arrays(t))
	for _, c := range []struct {
		hidden, processes int
		step              string
		want              int
	}{
		{0, 2, "adagrad:0.1", 0}, {1, 2, "adagrad:0.1", 0}, {40, 2, "adagrad:0.1", 1}, {40, 1, "adagrad:0.1", 0},
		{1, 2, autoStep, 0}, // small: each process does all of the work, which is told instead
	} {
		labels := whole.Instances[0].Samples()[0]
		spec := whole.Instances[0].Spec()
		hidden := slices.Clone(labels)
		for s := range c.hidden {
			hidden[s] = crf.Unobserved
		}
		spec.Labels = [][]int32{hidden}
		in, err := crf.NewInstance(&whole.Schema, spec)
		if err != nil {
			t.Fatal(err)
		}
		some := *whole
		some.Instances = []*crf.Instance{in}
		n, err := Partition(t.Context(), &some, Options{Threads: 1}, 3)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := n.Write(t.Context(), writing(dir, 99)); err != nil {
			t.Fatal(err)
		}
		o := Options{Threads: 1, Step: c.step, Edges: "together"}
		err = distributed.Local(c.processes, distributed.Options{}, func(g *distributed.Group) error {
			p, err := Prepare(t.Context(), o, Task{Set: opened(t, dir), Group: g, Owned: true})
			if err == nil {
				if got := strings.Count(strings.Join(p.Hints, "\n"), "keeps the features of the whole network"); got != c.want {
					t.Errorf("%+v: told %d times: %q", c, got, p.Hints)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestIdleHints: processes without work of their own are told of: of small networks all do the same,
// even where there are as many networks as processes.
func TestIdleHints(t *testing.T) {
	for _, c := range []struct {
		networks int
		options  Options
		want     string // "": no hint
	}{
		{1, Options{Threads: 1}, "each of 3 processes does all of the work"},
		{5, Options{Threads: 1}, "each of 3 processes does all of the work"},
		{1, Options{Threads: 1, Step: "adagrad:0.1", Method: learn.InnerDual}, "2 of 3 processes only wait"},
		{1, Options{Threads: 1, Step: "adagrad:0.1", Method: learn.BBPL, Cut: learn.Cut{Blocks: 6}, Together: 2}, "1 of 3 processes only wait"},
		{5, Options{Threads: 1, Step: "adagrad:0.1", Method: learn.InnerDual}, ""},
	} {
		set := chains(t, c.networks)
		err := distributed.Local(3, distributed.Options{}, func(g *distributed.Group) error {
			p, err := Prepare(t.Context(), c.options, Task{Set: set, Group: g})
			if err == nil {
				if hints := strings.Join(p.idleHints(), "\n"); !strings.Contains(hints, c.want) || c.want == "" && hints != "" {
					t.Errorf("%d networks, %s %s: hints %q, want %q", c.networks, c.options.Method, c.options.Step, hints, c.want)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestProcessesDoNotChoose: where folds of labels would choose in one process, several learn edges
// together and say so, or are refused where few labels are known.
func TestProcessesDoNotChoose(t *testing.T) {
	for known, want := range map[int]string{20: `give Options.Edges = "together"`, 60: "and 2 learn them together", 100: ""} {
		b := blocks{nodes: 100, states: 2, degree: 4, same: .9, noise: 1, known: known, seed: 6}
		set, err := dataset.Open(t.Context(), b.tables(t), dataset.Options{Observed: "train"})
		if err != nil {
			t.Fatal(err)
		}
		notes := make([]string, 2)
		err = distributed.Local(2, distributed.Options{}, func(g *distributed.Group) error {
			p, err := Prepare(t.Context(), Options{}, Task{Set: set, Group: g})
			if err == nil {
				notes[g.Rank()] = strings.Join(p.Notes, "\n")
				if p.choosing {
					t.Errorf("%d labels known: it chooses", known)
				}
			}
			return err
		})
		said := notes[0]
		if err != nil {
			said = err.Error()
		}
		if !strings.Contains(said, want) || want == "" && strings.Contains(said, "learn them together") {
			t.Errorf("%d labels known: %q, want %q", known, said, want)
		}
	}
}
