package job

import (
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/learn"
)

// TestGapUnknown: a --gap that nothing was compared with is told of, and one that was is not.
func TestGapUnknown(t *testing.T) {
	for _, c := range []struct {
		last     int32 // label
		counting string
		method   learn.Method
		gap      float64
		want     string // "": nothing is said
	}{
		{-1, "trw", learn.Full, 1e-9, "{counting=convex}, in place of trw, has a gap"},
		{0, "bethe", learn.Full, 1e-9, "{counting=convex}, in place of bethe, has a gap"},
		{-1, "trw", learn.Exact, 1e-9, "a smaller {tol} asks for more"},
		{-1, "trw", learn.Full, 0, ""},
		{-1, "convex", learn.Full, 1e-9, ""},
		{0, "trw", learn.Full, 1e-9, ""},
	} {
		set := oracle.Must(dataset.FromArrays(dataset.Manifest{}, dataset.Options{States: []string{"off", "on"}},
			&dataset.Arrays{
				Edges: [][2]int32{{0, 1}, {1, 2}, {2, 3}, {0, 3}}, Labels: [][]int32{{1, 0, 1, c.last}}, NodeFeatures: &dataset.Matrix{Columns: 1, Data: []float64{1, 2, 0, 1}},
			}))(t)
		p := oracle.Must(Prepare(t.Context(), Options{Settings: learn.Settings{Threads: 1, Method: c.method, Gap: c.gap}, Edges: edgesTogether, Counting: c.counting}, Task{Set: set}))(t)
		var notes []string
		oracle.Must(p.Train(t.Context(), nil, Watch{Note: func(text string) { notes = append(notes, text) }}))(t)
		i := slices.IndexFunc(notes, func(text string) bool { return strings.HasPrefix(text, "nothing proves {gap}") })
		if c.want == "" && i >= 0 || c.want != "" && (i < 0 || !strings.Contains(notes[i], c.want)) {
			t.Errorf("%+v: notes %q", c, notes)
		}
	}
}

// TestLearnedFrom: folders of arrays that share the edges of a network alone are not the same data.
func TestLearnedFrom(t *testing.T) {
	of := func(names ...string) *dataset.Set {
		s := &dataset.Set{Recipe: dataset.Recipe{Kind: dataset.KindNPZ}}
		for _, name := range names {
			s.Sources = append(s.Sources, dataset.Source{Path: name, Bytes: 1, SHA256: name})
		}
		return s
	}
	for name, want := range map[string]int{"edges.npy": 0, "node_features.npy": 0, "labels.npy": 1, "a.npz": 1, dataset.ManifestName: 0} {
		if got := learnedFrom(of("b.npz", name), []*Evaluation{{Name: "val", Set: of(name)}}); len(got) != want {
			t.Errorf("%s is in both sets: %q", name, got)
		}
	}
}

// TestResult: what is wrong with a result is named once, with a remedy.
func TestResult(t *testing.T) {
	for _, test := range []struct {
		result learn.Result
		want   string
	}{
		{learn.Result{}, ""},
		{learn.Result{Separable: true}, "the data are separable"},
		{learn.Result{Unsettled: "block 3 of instance x", Residual: 0.5}, "messages in block 3 of instance x still changed by 0.5"},
		{learn.Result{Unsettled: "block 3", Residual: 0.001}, ""},
		{learn.Result{Seeded: []string{"topic", "kind"}}, `some states of node type "topic", "kind" alike, as states that no label has: their weights began at small random numbers of {seed}`},
		{learn.Result{AtStart: true, Status: learn.PassLimit, Iterations: 7}, "7 iterations, none of which is known to have made the objective smaller, so that the model has the weights that the run began with; go on with a higher limit"},
		{learn.Result{Damping: 0.3}, "were damped by 0.3"},
	} {
		texts := resultNotes(&test.result)
		if said := strings.Join(texts, "\n"); len(texts) > 1 || !strings.Contains(said, test.want) || test.want == "" && said != "" {
			t.Errorf("%+v: %q, want %q", test.result, texts, test.want)
		}
	}
}
