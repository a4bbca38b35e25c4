package job

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/learn"
)

// TestFeaturesFirst: where most labels are hidden, a training begins with the weights that
// one without edges ends with, and ends no higher.
func TestFeaturesFirst(t *testing.T) {
	few := []int{0, 1, 3, 4, 6, 7, 9, 10}
	set := chainsHiding(t, 20, few)
	alone := train(t, Options{Settings: learn.Settings{RelativeTolerance: 1e-5}, NoEdges: true, NoStandardise: true}, Task{Set: set}, nil)
	var first []float64
	p := prepare(t, Options{NoStandardise: true}, Task{Set: set})
	r := oracle.Must(p.Train(t.Context(), nil, Watch{Iteration: func(e learn.Event) {
		if first == nil {
			first = slices.Clone(e.Theta)
		}
	}}))(t)
	oracle.Equal(t, first, alone.Model.Model.Weights, "it begins at")
	if r.Objective > alone.Objective+1e-6 {
		t.Errorf("it ends at %v, and begins at %v", r.Objective, alone.Objective)
	}
	noted := func(p *Prepared) bool {
		return slices.ContainsFunc(p.Notes, func(n string) bool { return strings.Contains(n, "begin with those of node features alone") })
	}
	for name, c := range map[string]struct {
		set  *dataset.Set
		o    Options
		init bool
		want bool
	}{
		"few labels":    {set: set, want: true},
		"many labels":   {set: chainsHiding(t, 20, []int{0, 1, 3})},
		"without edges": {set: set, o: Options{NoEdges: true}},
		"from a model":  {set: set, init: true},
		"pseudo":        {set: set, o: Options{Settings: learn.Settings{Method: learn.Pseudo}}},
		"one state":     {set: withoutState(t, set)},
	} {
		task := Task{Set: c.set}
		if c.init {
			task.Initial = alone.Model
		}
		oracle.Equal(t, noted(prepare(t, c.o, task)), c.want, "%s: noted", name)
	}
}

// withoutState hides the labels of the last state.
func withoutState(t *testing.T, set *dataset.Set) *dataset.Set {
	t.Helper()
	other := *set
	other.Instances = slices.Clone(set.Instances)
	for i, in := range set.Instances {
		labels := slices.Clone(in.Samples()[0])
		for s, y := range labels {
			if y == 1 {
				labels[s] = crf.Unobserved
			}
		}
		other.Instances[i] = relabelled(in, [][]int32{labels}, nil)
	}
	return &other
}

// TestFeaturesFirstResumes: a run that a limit ended, and that goes on, ends in the weights and
// the words of one in one go.
func TestFeaturesFirstResumes(t *testing.T) {
	folder := t.TempDir()
	task := Task{Set: chainsHiding(t, 3, []int{1, 2, 3, 4, 6, 7, 9, 10})}
	run := func(dir string, iterations int, resume bool) string {
		t.Helper()
		train(t, Options{Settings: learn.Settings{MaxIterations: iterations, RelativeTolerance: 1e-300}}, task, &Folder{Dir: filepath.Join(folder, dir), NoReport: true, Resume: resume})
		text := oracle.Must(os.ReadFile(filepath.Join(folder, dir, ModelFile)))(t)
		return string(text)
	}
	want := run("whole", 12, false)
	if first := run("parts", 2, false); first == want {
		t.Error("two iterations are as good as twelve")
	}
	oracle.Equal(t, run("parts", 12, true), want, "the model of a run that went on")
}
