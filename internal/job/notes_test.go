package job

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
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
		{learn.Result{Damping: 0.3}, "sweeps were damped"},
	} {
		texts := resultNotes(&test.result)
		if said := strings.Join(texts, "\n"); len(texts) > 1 || !strings.Contains(said, test.want) || test.want == "" && said != "" {
			t.Errorf("%+v: %q, want %q", test.result, texts, test.want)
		}
	}
}

// TestDrawn: where nearly all nodes get one class, as in no network of the training, that is said, but not of labels
// that are held; half of the labels tell nothing of the others.
func TestDrawn(t *testing.T) {
	set, half, want := chains(t, 6), chainsHiding(t, 6, []int{0, 2, 4, 6, 8, 10}), 0.0
	for _, in := range set.Instances {
		ones := float64(numeric.Sum(in.Samples()[0])) / 12
		want = max(want, ones, 1-ones)
	}
	oracle.Equal(t, commonest(half.Schema.NodeTypes, half.Instances), 0., "the largest share, half hidden")
	m := prepare(t, Options{}, Task{Set: set}).result(&learn.Result{Model: oracle.Must(crf.NewModel(set.Schema))(t)}).Model
	oracle.Contains(t, m.Meta[MetaTraining], fmt.Sprintf(`"commonest_label":%v}`, want))
	write := func(int, *infer.Beliefs, *infer.Beliefs) (string, error) { return "", nil }
	for learned, says := range map[string]bool{"0.6": true, "0.8": false, "0": false} {
		for _, held := range [][][]int32{nil, slices.Repeat([][]int32{slices.Repeat([]int32{1}, 12)}, 6)} {
			m.Meta[MetaTraining] = `{"commonest_label":` + learned + `}`
			p, err := Inference{Model: m.Model}.predict(t.Context(), "", set, set.Instances, held, write)
			oracle.OK(t, err)
			said := strings.HasPrefix(m.Drawn(p), "100.00 % of the nodes are labelled off, and in no network")
			oracle.Equal(t, said, says && held == nil, "share %s, held %v", learned, held)
		}
	}
}

// TestDataError: a program is told where the file's name is, although the message has its letters before.
func TestDataError(t *testing.T) {
	for path, text := range map[string]string{
		"m": "model: m: has no end", "model": "model: model: has no end", "x": "has no end",
	} {
		parts := option.Parts(option.References(DataError(path, errors.New(text))))
		at := slices.IndexFunc(parts, func(p option.Part) bool { return len(p.At) > 0 && p.At[0] == path })
		if at < 0 || parts[at+1].Text != ": has no end" || at > 0 && parts[0].Text != "model: " {
			t.Errorf("%s: parts %+v", path, parts)
		}
	}
}
