package job

import (
	"strings"
	"testing"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/learn"
)

// TestLearnedFrom: folders of arrays that share the edges of a network alone are not the same data.
func TestLearnedFrom(t *testing.T) {
	of := func(names ...string) *dataset.Set {
		s := &dataset.Set{Recipe: dataset.Recipe{Kind: "npz"}}
		for _, name := range names {
			s.Sources = append(s.Sources, dataset.Source{Path: name, Bytes: 1, SHA256: name})
		}
		return s
	}
	for name, want := range map[string]int{"edges.npy": 0, "node_features.npy": 0, "labels.npy": 1, "a.npz": 1, dataset.ManifestName: 0} {
		got := learnedFrom(of("b.npz", name), []*Evaluation{{Name: "val", Set: of(name)}})
		oracle.Equal(t, len(got), want, "notes of %s", name)
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
