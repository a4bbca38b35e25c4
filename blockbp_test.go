package blockbp_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/learn"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// same reports whether two models have the same bits.
func same(a, b *blockbp.Model) bool {
	return slices.EqualFunc(a.CRF().Weights, b.CRF().Weights, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}

// TestFilesAndMemory: the same data in memory and in files, and any number of threads,
// give the same bits; a saved model predicts as the one that was trained.
func TestFilesAndMemory(t *testing.T) {
	ctx := t.Context()
	picture := stripes(5, 12, 9)
	picture.Labels[3], picture.Labels[40] = "", ""
	model := must(blockbp.Train(ctx, must(blockbp.NewData(picture)), blockbp.Options{Threads: 1}))

	folder := t.TempDir()
	states := []string{"dark", "light"}
	a := &dataset.Arrays{GridShape: [2]int{12, 9}, Labels: make([][]int32, 1), NodeFeatures: &dataset.Matrix{Columns: 2, Data: slices.Concat(picture.Nodes...)}}
	for _, ends := range picture.Edges {
		a.Edges = append(a.Edges, [2]int32{int32(ends[0]), int32(ends[1])})
	}
	for _, name := range picture.Labels {
		a.Labels[0] = append(a.Labels[0], int32(slices.Index(states, name)))
	}
	oracle.OK(t, a.WriteFile(filepath.Join(folder, "0.npz")))
	files := must(blockbp.OpenWith(dataset.Options{States: states}, folder))
	if other := must(blockbp.Train(ctx, files, blockbp.Options{Threads: 3})); !same(model, other) {
		t.Error("files give other weights than memory")
	}

	path := filepath.Join(t.TempDir(), "m.safetensors")
	oracle.OK(t, model.Save(path))
	loaded := must(blockbp.Load(path))
	memory := must(blockbp.NewData(picture))
	before, after := must(model.Predict(ctx, memory)), must(loaded.Predict(ctx, memory))
	if !samePrediction(before, after) || loaded.Training() != nil {
		t.Error("the saved model predicts otherwise")
	}
	unlabelled := picture
	unlabelled.Labels = nil
	if !samePrediction(must(model.Predict(ctx, files)), must(model.Predict(ctx, must(blockbp.NewData(unlabelled))))) {
		t.Error("labels in files are looked at")
	}
	for p, name := range picture.Labels {
		if got := before[0].Labels[p]; name != "" && got != name || name == "" && got == "" {
			t.Errorf("node %d: label %q became %q", p, name, got)
		}
	}
}

func samePrediction(a, b []blockbp.Prediction) bool {
	return slices.Equal(a[0].Labels, b[0].Labels) && slices.Equal(slices.Concat(a[0].Beliefs...), slices.Concat(b[0].Beliefs...))
}

// TestZeroOptions: the zero value trains to convergence and beats features alone.
func TestZeroOptions(t *testing.T) {
	ctx := t.Context()
	data, test := must(blockbp.NewData(stripes(1, 20, 30))), must(blockbp.NewData(stripes(2, 20, 20)))
	model := must(blockbp.Train(ctx, data, blockbp.Options{}))
	alone := must(blockbp.Train(ctx, data, blockbp.Options{NoEdges: true}))
	with, without := must(model.Evaluate(ctx, test)), must(alone.Evaluate(ctx, test))
	if !model.Training().Converged || !(with.Accuracy > without.Accuracy+0.02) || !(with.LogLoss < without.LogLoss) {
		t.Errorf("with edges: %v %v; features alone: %v %v", model.Training().Status, with, alone.Training().Status, without)
	}
	if with.Nodes != 400 || with.Confusion[0][0]+with.Confusion[0][1]+with.Confusion[1][0]+with.Confusion[1][1] != 400 || !strings.Contains(with.String(), "accuracy") {
		t.Errorf("the report is %+v", with)
	}
}

// TestFolder: a training in a folder that was interrupted goes on to the same bits.
func TestFolder(t *testing.T) {
	data, validation := must(blockbp.NewData(stripes(1, 15, 15))), must(blockbp.NewData(stripes(2, 15, 15)))
	whole := must(blockbp.Train(t.Context(), data, blockbp.Options{Validation: validation}))
	ctx, cancel := context.WithCancel(t.Context())
	folder := filepath.Join(t.TempDir(), "run")
	o := blockbp.Options{Validation: validation, Folder: folder, Watch: func(e learn.Event) {
		if e.Iteration != 3 {
			return
		}
		for _, resume := range []bool{false, true} { // the folder is this training's alone
			oracle.Fails(blockbp.Train(ctx, data, blockbp.Options{Folder: folder, Resume: resume}))(t,
				"in use by this very process")
		}
		cancel()
	}}
	if m := must(blockbp.Train(ctx, data, o)); m.Training().Status != learn.Interrupted {
		t.Fatalf("%+v", m.Training())
	}
	o.Resume, o.Watch, o.Seed = true, nil, 7
	oracle.Fails(blockbp.Train(t.Context(), data, o))(t, "Options.Seed 7")
	o.Seed = 0
	resumed := must(blockbp.Train(t.Context(), data, o))
	if !same(whole, resumed) || !(resumed.Training().Validation["accuracy"] > 0.6) {
		t.Errorf("resumed: %+v", resumed.Training())
	}
	if loaded := must(blockbp.Load(o.Folder)); !same(whole, loaded) {
		t.Error("the folder holds another model")
	}
}

// TestDoorErrors: what cannot be used is named, with its place.
func TestDoorErrors(t *testing.T) {
	ctx := t.Context()
	ok := stripes(1, 6, 6)
	model := must(blockbp.Train(ctx, must(blockbp.NewData(ok)), blockbp.Options{MaxPasses: 3}))
	change := func(f func(g *blockbp.Graph)) blockbp.Graph {
		g := stripes(1, 6, 6)
		f(&g)
		return g
	}
	for want, graphs := range map[string][]blockbp.Graph{
		"at least one graph": {},
		"no Nodes: want":     {{}},
		"graph 1: Nodes[7] has 1 features, the first of all has 2": {ok, change(func(g *blockbp.Graph) { g.Nodes[7] = []float64{1} })},
		"2 Labels for 36 Nodes":              {change(func(g *blockbp.Graph) { g.Labels = g.Labels[:2] })},
		"only some graphs have EdgeFeatures": {ok, change(func(g *blockbp.Graph) { g.EdgeFeatures = make([][]float64, len(g.Edges)) })},
		"edge 2 joins 99 and 0":              {change(func(g *blockbp.Graph) { g.Edges[2] = [2]int{99, 0} })},
		"name 1 states, [\"dark\"]: want at least": {change(func(g *blockbp.Graph) {
			for p := range g.Labels {
				g.Labels[p] = "dark"
			}
		})},
	} {
		data, err := blockbp.NewData(graphs...)
		if err == nil {
			_, err = blockbp.Train(ctx, data, blockbp.Options{})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	strange := must(blockbp.NewData(change(func(g *blockbp.Graph) { g.Labels[4] = "grey" })))
	oracle.Fails(model.Evaluate(ctx, strange))(t,
		`label 4 is "grey", which is no state of the model: want one of ["dark" "light"]`)
	oracle.Fails(blockbp.Open(filepath.Join(t.TempDir(), "missing")))(t, "missing")
	oracle.Fails(blockbp.Train(ctx, must(blockbp.NewData(ok)), blockbp.Options{Counting: "convx"}))(t, "convex")
	for want, o := range map[string]blockbp.Options{
		"Options.NoL2 is set beside L2 = 3":          {L2: 3, NoL2: true},
		"Options.Resume is set without Folder":       {Resume: true},
		"Options.Patience is set without Validation": {Patience: 2},
		"Options.Patience is -1":                     {Patience: -1},
		"Options.Threads is -1":                      {Threads: -1},
		"Options.L2 -1: want a finite number":        {L2: -1},
		"Cut.Rows and Cols are both set":             {Cut: learn.Cut{Rows: 2}},
		"Options.Method \"bbp\"":                     {Method: "bbp"},
	} {
		oracle.Fails(blockbp.Train(ctx, must(blockbp.NewData(ok)), o))(t, want)
	}
	oracle.Fails(blockbp.Train(ctx, nil, blockbp.Options{}))(t, "the data are nil")
	oracle.Fails(model.Predict(ctx, nil))(t, "the data are nil")
	oracle.Fails((*blockbp.Model)(nil).Predict(ctx, must(blockbp.NewData(ok))))(t, "the model is nil")
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := model.Predict(ended, must(blockbp.NewData(ok))); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	numbers := must(blockbp.NewData(blockbp.Graph{Nodes: [][]float64{{1}, {2}, {3}}, Labels: []string{"10", "9", "x"}}))
	oracle.Equal(t, must(blockbp.Train(ctx, numbers, blockbp.Options{})).States(), []string{"9", "10", "x"}, "states")
}

// TestSplits: labels of all splits are learned from only with a word; those of one are held where another is compared.
func TestSplits(t *testing.T) {
	oracle.Long(t)
	ctx, folder := t.Context(), filepath.Join(t.TempDir(), "graph")
	makeExample("graph", folder)
	all := must(blockbp.Open(folder))
	quick := blockbp.Options{MaxPasses: 400, Counting: "trw"}
	model := must(blockbp.Train(ctx, all, quick))
	oracle.Contains(t, strings.Join(model.Training().Notes, "\n"),
		`the splits test, train, val are all learned from; dataset.Options.Observed = "train" keeps those of one`)
	few := must(blockbp.OpenWith(dataset.Options{Observed: "train"}, folder))
	model = must(blockbp.Train(ctx, few, quick))
	if notes := strings.Join(model.Training().Notes, "\n"); strings.Contains(notes, "splits") {
		t.Errorf("notes %q", notes)
	}
	test := must(model.EvaluateSplit(ctx, few, "train", "test"))
	if test.Nodes < 100 || test.Nodes > 390 || !(test.Accuracy > 0.6) {
		t.Errorf("%d nodes, accuracy %v", test.Nodes, test.Accuracy)
	}
	oracle.Fails(model.EvaluateSplit(ctx, few, "trian", "test"))(t, "trian")
}

// TestImagesWithoutLabels: new pictures are labelled, and a model of the best validation tells its own scores.
func TestImagesWithoutLabels(t *testing.T) {
	oracle.Long(t)
	ctx, folder := t.Context(), filepath.Join(t.TempDir(), "images")
	makeExample("images", folder)
	train := must(blockbp.OpenWith(dataset.Options{List: "train.txt"}, folder))
	test := must(blockbp.OpenWith(dataset.Options{List: "test.txt"}, folder))
	model := must(blockbp.Train(ctx, train, blockbp.Options{Counting: "trw", MaxPasses: 200, Validation: test, Patience: 2}))
	report := must(model.Evaluate(ctx, test))
	if got := model.Training().Validation["accuracy"]; got != report.Accuracy || !(got > 0.85) {
		t.Errorf("Training says %v, Evaluate %v", got, report.Accuracy)
	}
	labelled := must(model.Predict(ctx, test))
	oracle.OK(t, os.RemoveAll(filepath.Join(folder, "labels")))
	if again := must(model.Predict(ctx, test)); !samePrediction(labelled, again) {
		t.Error("labels change predictions")
	}
}
