package job

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/learn"
)

// chains are chains of nodes whose feature tells of their label, which their neighbours share more often than not.
func chains(t *testing.T, n int) *dataset.Set { return chainsHiding(t, n, nil) }

// chainsHiding are chains of which some nodes have hidden labels.
func chainsHiding(t *testing.T, n int, hidden []int) *dataset.Set {
	t.Helper()
	const nodes = 12
	source := rand.New(rand.NewPCG(3, uint64(n)))
	var all []*dataset.Arrays
	for range n {
		a := &dataset.Arrays{Directed: true, NodeFeatures: &dataset.Matrix{Columns: 2}, Labels: [][]int32{make([]int32, nodes)}}
		label := int32(source.IntN(2))
		for s := range nodes {
			if s > 0 {
				a.Edges = append(a.Edges, [2]int32{int32(s) - 1, int32(s)})
			}
			if source.Float64() < 0.3 {
				label = 1 - label
			}
			a.Labels[0][s] = label
			a.NodeFeatures.Data = append(a.NodeFeatures.Data, 1, float64(label)+source.NormFloat64())
		}
		for _, s := range hidden {
			a.Labels[0][s] = -1
		}
		all = append(all, a)
	}
	return oracle.Must(dataset.FromArrays(dataset.Manifest{}, dataset.Options{States: []string{"off", "on"}}, all...))(t)
}

func prepare(t *testing.T, o Options, task Task) *Prepared {
	t.Helper()
	o.Threads = 1
	return oracle.Must(Prepare(t.Context(), o, task))(t)
}

func train(t *testing.T, o Options, task Task, folder *Folder) *Result {
	t.Helper()
	return oracle.Must(prepare(t, o, task).Train(t.Context(), folder, Watch{}))(t)
}

// namesIn lists what is in a folder.
func namesIn(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries := oracle.Must(os.ReadDir(folder))(t)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestTrainInMemory: without a folder nothing touches the disk, and the model is the one that a folder would hold.
func TestTrainInMemory(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	set := chains(t, 6)
	e := oracle.Must(NewEvaluation("self", set, set.Instances, "", ""))(t)
	task := Task{Set: set, Evaluations: []*Evaluation{e}}
	r := train(t, Options{}, task, nil)
	if names := namesIn(t, folder); len(names) > 0 {
		t.Errorf("a training in memory left %q", names)
	}
	if r.Status != learn.Converged || r.Summary.L2 != 1.0/6 || len(r.Scores) != 1 || r.Summary.Eval["accuracy@self"] < 0.6 || r.Model.Path != "" {
		t.Errorf("the result is %+v", r.Summary)
	}
	kept := train(t, Options{}, task, &Folder{Dir: "run"})
	if r.Summary.ThetaSHA256 != kept.Summary.ThetaSHA256 || !reflect.DeepEqual(r.Model.Meta, kept.Model.Meta) {
		t.Errorf("in a folder the model is %v %v, without %v %v", kept.Summary.ThetaSHA256, kept.Model.Meta, r.Summary.ThetaSHA256, r.Model.Meta)
	}
	if train(t, Options{Settings: learn.Settings{MaxIterations: 1}}, task, &Folder{NoReport: true}); len(namesIn(t, folder)) != 2 {
		t.Errorf("a folder without a name was not made: %q", namesIn(t, folder))
	}
	loaded := oracle.Must(LoadModel("run"))(t)
	if !slices.Equal(loaded.Model.Weights, r.Model.Model.Weights) || !reflect.DeepEqual(loaded.Recipe, r.Model.Recipe) {
		t.Error("the model read back is another")
	}
}

// TestWeightsWithin: the optimum is in the ball that a result tells of, and outside one half as large somewhere.
func TestWeightsWithin(t *testing.T) {
	t.Parallel()
	set, tight := chains(t, 6), 0.0
	for _, method := range []learn.Method{learn.BBPL, learn.Exact} {
		of := func(gap float64) *Result {
			settings := learn.Settings{Method: method, Gap: gap, Threads: 1}
			return train(t, Options{L2: 0.3, Settings: settings}, Task{Set: set}, nil)
		}
		best := of(1e-11)
		for gap := 0.3; gap > 1e-6; gap /= 3 {
			r, w := of(gap), best.Model.Model.Weights
			far, within := numeric.RelativeDistance(r.Model.Model.Weights, w)*numeric.Norm(w), float64(r.Summary.WeightsWithin)
			if !(far <= within+float64(best.Summary.WeightsWithin)) {
				t.Errorf("%s: %g from the optimum, said to be within %g", method, far, within)
			} else {
				tight = max(tight, far/within)
			}
		}
	}
	if tight < 0.5 {
		t.Errorf("the optimum is at most %g of the radius away", tight)
	}
	rows := fmt.Sprint(train(t, Options{}, Task{Set: set}, nil).Summary.Rows())
	oracle.Contains(t, rows, "; standardised weights within")
}

// TestOptionsAreValues: a preparation changes neither options nor task, so that both serve again.
func TestOptionsAreValues(t *testing.T) {
	t.Parallel()
	set := chains(t, 4)
	o, task := Options{Settings: learn.Settings{Threads: 1, MaxPasses: 30}}, Task{Set: set}
	p := oracle.Must(Prepare(t.Context(), o, task))(t)
	before := *p
	var hashes []string
	for range 2 {
		hashes = append(hashes, oracle.Must(p.Train(t.Context(), nil, Watch{}))(t).Summary.ThetaSHA256)
	}
	if !reflect.DeepEqual(o, Options{Settings: learn.Settings{Threads: 1, MaxPasses: 30}}) || !reflect.DeepEqual(p.Options, before.Options) || p.Problem.L2 != before.Problem.L2 || len(p.Notes) != len(before.Notes) {
		t.Errorf("options became %+v", p.Options)
	}
	oracle.Equal(t, hashes[0], hashes[1], "hash of the weights")
}

// TestCountingFor: what is asked for is taken, and data decide where nothing is.
func TestCountingFor(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ asked, kind, want string }{
		{"", "images", "convex"}, {"", "npz", "trw"}, {"auto", "npz", "trw"}, {"cover", "images", "cover"},
	} {
		o, err := Options{Counting: test.asked}.withDefaults()
		if err != nil || refused(o) != nil {
			t.Fatalf("%q: %v, %v", test.asked, err, refused(o))
		}
		oracle.Equal(t, o.countingFor(&dataset.Set{Recipe: dataset.Recipe{Kind: test.kind}}, nil), test.want,
			"%q for %s", test.asked, test.kind)
	}
}

// refused is why options cannot be used, nil where they can.
func refused(o Options) error {
	_, err := o.Resolved()
	return err
}

func wantError(t *testing.T, err error, kind Kind, part string) {
	t.Helper()
	var undone *Error
	if !errors.As(err, &undone) || undone.Kind != kind || !strings.Contains(option.Command(option.References(err)), part) {
		t.Errorf("error %v, want one of kind %d that contains %q", err, kind, part)
	}
}

// TestClassWeightsOfAnyName: an object of JSON has names that a list cannot have.
func TestClassWeightsOfAnyName(t *testing.T) {
	types := []crf.NodeType{{States: []string{"a,b", "c=d", "e"}}}
	got := oracle.Must(classWeights(&Options{ClassWeights: `{"c=d": 0.5, "a,b": 2}`}, types, nil))(t)
	oracle.Equal(t, got[0], []float64{2, 0.5, 1}, "weights")
}

// TestRestrict compares on one split of nodes and holds the labels of another.
func TestRestrict(t *testing.T) {
	t.Parallel()
	set := chains(t, 1)
	splits := make([]string, 12)
	for s := range splits {
		splits[s] = []string{"train", "test", ""}[s%3]
	}
	_, err := NewEvaluation("test", set, set.Instances, "test", "")
	wantError(t, err, Usage, "graph tables only")
	set.Splits = [][]string{splits}
	e := oracle.Must(NewEvaluation("test", set, set.Instances, "test", "train"))(t)
	for s, label := range set.Instances[0].Samples()[0] {
		held := int32(-1)
		if splits[s] == "train" {
			held = label
		}
		if e.Held[0][s] != held || e.Count[0][s] != (splits[s] == "test") {
			t.Errorf("node %d of %q: holds %d, counts %v", s, splits[s], e.Held[0][s], e.Count[0][s])
		}
	}
	oracle.Equal(t, UnknownSplit(set, "tset"), `no node is in a split "tset"; did you mean test?`, "an unknown split")
	// Held labels are what is predicted.
	model := train(t, Options{Settings: learn.Settings{MaxIterations: 3}}, Task{Set: set}, nil).Model
	err = Inference{Model: model.Model}.Each(t.Context(), set.Instances, e.Held, func(_ int, b *infer.Beliefs) error {
		for s, held := range e.Held[0] {
			if held >= 0 && b.Labels[s] != held {
				t.Errorf("node %d is held at %d and predicted %d", s, held, b.Labels[s])
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	scored := oracle.Must(Inference{Model: model.Model, Joint: true}.Score(t.Context(), e, true))(t)
	if n := scored.Score.Count(); n != 4 || scored.Likelihood.Labels != 4 || scored.Unproved != 0 || len(scored.Measures()) != 11 {
		t.Errorf("%d nodes were compared, want 4: %+v", n, scored.Measures())
	}
}

// TestHarm: where edges make predictions worse it is said, with the likely reason, and nowhere else.
func TestHarm(t *testing.T) {
	t.Parallel()
	alike, other := chains(t, 60), chains(t, 30)
	// Neighbours that never agree, and features that tell as much as before.
	source := rand.New(rand.NewPCG(5, 5))
	var all []*dataset.Arrays
	for range 30 {
		a := &dataset.Arrays{NodeFeatures: &dataset.Matrix{Columns: 2}, Labels: [][]int32{make([]int32, 12)}}
		for s := range 12 {
			if s > 0 {
				a.Edges = append(a.Edges, [2]int32{int32(s) - 1, int32(s)})
			}
			a.Labels[0][s] = int32(s % 2)
			a.NodeFeatures.Data = append(a.NodeFeatures.Data, 1, float64(s%2)+source.NormFloat64())
		}
		all = append(all, a)
	}
	opposed := oracle.Must(dataset.FromArrays(dataset.Manifest{}, dataset.Options{Schema: &alike.Schema, Recipe: &alike.Recipe}, all...))(t)
	var sets []*Evaluation
	for name, set := range map[string]*dataset.Set{"alike": other, "opposed": opposed} {
		sets = append(sets, oracle.Must(NewEvaluation(name, set, set.Instances, "", ""))(t))
	}
	some := chainsHiding(t, 60, []int{3, 4})
	for _, test := range []struct {
		o    Options
		set  *dataset.Set
		want bool
	}{
		{Options{L2: 0.01}, alike, true}, {Options{L2: 0.01}, some, true},
		{Options{L2: 0.01, NoEdges: true}, alike, false},
	} {
		r := oracle.Must(prepare(t, test.o, Task{Set: test.set, Evaluations: sets}).Train(t.Context(), nil, Watch{}))(t)
		said := strings.TrimPrefix(strings.Join(r.Summary.Notes, "\n"), "{note=hidden}120 of 720 labels are hidden (-1)\n")
		told := strings.HasPrefix(said, "on opposed the model predicts worse than one of node features")
		oracle.Equal(t, told, test.want, "%+v: noted, in %q", test.o, said)
	}
}

// TestIsWorse: beliefs may be better, and labels nearly all of one class. Ten nodes tell nothing of that.
func TestIsWorse(t *testing.T) {
	score := func(right, wrong int64, loss float64) *infer.Score {
		return &infer.Score{Confusion: [][]int64{{right, wrong}, {0, 0}}, LogLoss: loss * float64(right+wrong)}
	}
	for i, c := range [][2]*infer.Score{ // worse, and not worse
		{score(60, 40, 0.5), score(90, 10, 0.9)}, {score(6, 4, 0.5), score(9, 1, 0.9)},
		{score(80, 20, 0.9), score(81, 19, 0.8)}, {score(80, 20, 0.7), score(81, 19, 0.8)},
		{score(81, 19, 1.7), score(80, 20, 0.8)}, {score(81, 19, 0.9), score(80, 20, 0.8)},
	} {
		oracle.Equal(t, isWorse(c[0], c[1]), i%2 == 0, "%+v", c)
	}
}

// TestPrior: a prior of deviation σ is l2 = 1/(N σ²) on standardised features, the weights
// are those for features as they are, whatever their units, and the data do not change.
func TestPrior(t *testing.T) {
	set := chains(t, 8)
	train := func(set *dataset.Set, o Options) *Result {
		t.Helper()
		o.RelativeTolerance = 1e-9
		return oracle.Must(prepare(t, o, Task{Set: set}).Train(t.Context(), nil, Watch{}))(t)
	}
	near := func(what string, got, want float64) {
		t.Helper()
		oracle.Near(t, got, want, 1e-6*(1+math.Abs(want)), "%s", what)
	}
	byDefault := train(set, Options{})
	if s := byDefault.Summary; s.L2 != 1.0/8 || s.Prior != 1 || !s.Standardised {
		t.Errorf("by default l2 is %v, of a prior %v, standardised %v", s.L2, s.Prior, s.Standardised)
	}
	given := train(set, Options{L2: 1.0 / 8, Standardise: true})
	near("objective of the same l2", given.Objective, byDefault.Objective)
	if s := train(set, Options{L2: 1.0 / 8}).Summary; s.Standardised || !math.IsNaN(float64(s.Prior)) {
		t.Errorf("with l2: standardised %v, prior %v", s.Standardised, s.Prior)
	}
	if s := train(set, Options{Prior: 2, NoStandardise: true}).Summary; s.Standardised || s.L2 != 1.0/32 {
		t.Errorf("prior of 2: standardised %v, l2 %v", s.Standardised, s.L2)
	}

	// The same in other units: x → 1000 x + 500.
	units := chains(t, 8)
	for i, in := range units.Instances {
		x := in.NodeFeatures(0).Data()
		for r := range x.Rows {
			x.Double[2*r+1] = 1000*x.Double[2*r+1] + 500
		}
		units.Instances[i] = in
	}
	other := train(units, Options{})
	near("objective in other units", other.Objective, byDefault.Objective)
	w, v := byDefault.Model.Model.Weights, other.Model.Model.Weights
	for k := range 2 { // [feature][state]
		near("slope in other units", 1000*v[2+k], w[2+k])
		near("constant in other units", v[k]+500*v[2+k], w[k])
	}
	resumed := train(units, Options{})
	oracle.Equal(t, resumed.Model.Model.Weights, v, "weights of a second training: did the first change the data?")

	// A training that begins where another ended has nothing to do.
	again := oracle.Must(prepare(t, Options{}, Task{Set: units, Initial: other.Model}).Train(t.Context(), nil, Watch{}))(t)
	near("objective at the start", again.Objective, other.Objective)
	if again.FirstGradientNorm > 1e-6 {
		t.Errorf("the gradient at the weights of the optimum is %v", again.FirstGradientNorm)
	}
	oracle.WantError(t, refused(Options{Prior: 1, L2: 1}), "Options.Prior and Options.L2")
}

// TestFoldsOfLabels: each label is held out once, and learned from in all other folds; candidates are learned once.
func TestFoldsOfLabels(t *testing.T) {
	lone := chainsHiding(t, 1, []int{3, 7})
	folds := prepare(t, Options{}, Task{Set: lone}).newSelection(Watch{})
	folds.divide(lone.Instances, lone.Instances)
	held := make([]int, 12)
	for k, f := range folds.folds {
		for s, y := range f.data[0].Samples()[0] {
			if out := f.Instances[0].Samples()[0][s] != crf.Unobserved; out {
				held[s]++
			} else if y != lone.Instances[0].Samples()[0][s] {
				t.Errorf("fold %d: the label of node %d is %d", k, s, y)
			}
			oracle.Equal(t, f.Held[0][s], y, "fold %d: node %d is held at", k, s)
		}
	}
	oracle.Equal(t, held, []int{1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1}, "times that each label is held out")
	first := oracle.Must(folds.try(t.Context(), Candidate{Edges: noEdges}, nil))(t)
	oracle.Equal(t, oracle.Must(folds.try(t.Context(), first.asked, nil))(t), first, "a candidate asked for again")
	other, best, worst := first.asked, *first, *first
	n := len(first.losses)
	other.Prior, best.losses, worst.losses = 2, make([]float64, n), slices.Repeat([]float64{9}, n)
	oracle.Equal(t, oracle.Must(folds.try(t.Context(), other, &best))(t) == nil, true, "given up behind a rival")
	oracle.Equal(t, folds.folds[raceFolds].nodes[2] == nil, true, "the third fold is spared")
	oracle.Equal(t, len(oracle.Must(folds.try(t.Context(), other, &worst))(t).losses), n, "labels of one ahead")
}

// TestTimeKeepsTheBest: where the time ends a training that has become worse on the first evaluation set, the weights
// of its best evaluation are kept; and evaluations in training give what the final one gives.
func TestTimeKeepsTheBest(t *testing.T) {
	set := chains(t, 4) // few, without a prior: it soon learns them by heart
	dev := chains(t, 40)
	e := oracle.Must(NewEvaluation("dev", dev, dev.Instances, "", ""))(t)
	o := Options{Settings: learn.Settings{RelativeTolerance: 1e-300, MaxTime: 2 * time.Second, EvaluateEvery: 1}, NoL2: true, NoStandardise: true}
	var seen []float64
	r, err := prepare(t, o, Task{Set: set, Evaluations: []*Evaluation{e}}).Train(t.Context(), nil,
		Watch{Iteration: func(e learn.Event) {
			if value, ok := e.Eval["log_loss@dev"]; ok {
				seen = append(seen, value)
			}
		}})
	oracle.OK(t, err)
	got := float64(r.Summary.Eval["log_loss@dev"])
	if r.Status != learn.TimeLimit || got != slices.Min(seen) || got >= seen[len(seen)-1] || r.Best != nil ||
		r.Summary.TotalSeconds > 4 {
		t.Errorf("%s after %v s: log loss %v of what was kept; on the way %v", r.Status, r.Summary.TotalSeconds, got, seen)
	}
}

// TestLateRun: where all time went by before, a quarter of it is still for learning, and no other model is
// trained. The final score is of all data with few sweeps, as a note says, which an inference of as many gives, too.
func TestLateRun(t *testing.T) {
	graph := blocks{nodes: 4000, states: 3, degree: 4, same: .85, noise: 1, known: 4000, seed: 4}
	set := oracle.Must(dataset.Open(t.Context(), graph.tables(t), dataset.Options{}))(t)
	e := oracle.Must(NewEvaluation("dev", set, set.Instances, "", ""))(t)
	task := Task{Set: set, Evaluations: []*Evaluation{e}, Began: time.Now().Add(-time.Hour)}
	p := prepare(t, Options{Settings: learn.Settings{MaxTime: time.Second, RelativeTolerance: 1e-300}}, task)
	r := oracle.Must(p.Train(t.Context(), nil, Watch{}))(t)
	oracle.Equal(t, r.Status, learn.TimeLimit, "status after %d iterations", r.Iterations)
	oracle.Contains(t, strings.Join(r.Summary.Notes, ""), "gives it 1: training", "no time to train a model without edges")
	late := &run{p: p, began: p.Began, took: times{expected: time.Hour, sweeps: 100}}
	edges, w := r.Model.Model.Layout.Edge[0], r.Model.Model.Weights
	for i := range w { // strong edges and weak nodes settle slowly
		w[i] = 0.1 * math.Sin(float64(i))
	}
	for y := range 3 {
		w[edges.At+edges.Len/9*4*y] = 1.5
	}
	got := oracle.Must(late.score(t.Context(), r, 0))(t)
	few := p.inference(r.Model.Model, PredictLimits)
	few.Limits.MaxSweeps, few.Settled = foldLimits.MaxSweeps, PredictTolerance
	want := oracle.Must(few.Score(t.Context(), e, false))(t)
	oracle.Equal(t, got.Score.MeanLogLoss(), want.Score.MeanLogLoss(), "log loss")
	if want.Unsettled.Count == 0 || !strings.Contains(got.Note, "30 sweeps over each network of dev") {
		t.Errorf("%d are not settled, and the note is %q", want.Unsettled.Count, got.Note)
	}
	late.took.expected, late.began = time.Microsecond, time.Now()
	if all := oracle.Must(late.score(t.Context(), r, 0))(t); all.Note != "" || all.sweeps <= got.sweeps {
		t.Errorf("in time: %v sweeps, and before %v; %s", all.sweeps, got.sweeps, all.Note)
	}
}

// TestReserve: a tenth, and half as much again as the last evaluation took, or what all sweeps there may be take; but
// not more than another tenth, unless the fewest sweeps take that.
func TestReserve(t *testing.T) {
	for _, test := range []struct{ sweeps, want float64 }{{0, 96}, {100, 24}, {250, 13.2}, {300, 12}} {
		took := times{expected: time.Minute, sweeps: test.sweeps}
		oracle.Near(t, took.reserve(time.Minute).Seconds(), test.want, 1e-9, "after %v sweeps", test.sweeps)
	}
	slow := times{expected: time.Minute, sweeps: 300, start: 7 * time.Second} // leaves no time for a model to compare with
	oracle.Near(t, slow.reserve(time.Minute).Seconds(), 9, 1e-9, "after a slow start")
	oracle.Equal(t, slow.compares(0), true, "compares without a limit")
	for left, want := range map[time.Duration]int{0: 300, time.Second: 30, 36 * time.Second: 60, time.Hour: 300} {
		took := times{expected: time.Minute, sweeps: 100}
		oracle.Equal(t, took.within(left), want, "sweeps in %v", left)
	}
}

// TestEvaluationsTakeATenth: where nobody says how often, evaluations that take long are put off.
func TestEvaluationsTakeATenth(t *testing.T) {
	set := chains(t, 3)
	e := oracle.Must(NewEvaluation("dev", set, set.Instances, "", ""))(t)
	p := prepare(t, Options{}, Task{Set: set, Evaluations: []*Evaluation{e}})
	var took times
	evaluate := p.evaluateDuring(Watch{Instances: func(_ string, done, _ int) {
		if done == 1 {
			time.Sleep(evaluationGrace)
		}
	}}, &took, 0, nil)
	for range 2 { // it would take 1.5 s
		if values, err := evaluate(p.Problem.Model); err != nil || values != nil || took.evaluating > 2*evaluationGrace {
			t.Errorf("values are %v, %v, after %v", values, err, took.evaluating)
		}
	}
	p.Options.EvaluateEvery = 1
	drawn := ""
	draw := func(s *Scored) error { drawn += s.Name; return nil }
	if v := oracle.Must(p.evaluateDuring(Watch{}, &took, 0, draw)(p.Problem.Model))(t); v == nil || drawn != "dev" {
		t.Errorf("what was asked for is %v, and drawn is %q", v, drawn)
	}
	values, err := p.evaluateDuring(Watch{}, &took, time.Nanosecond, draw)(p.Problem.Model)
	if err != nil || values != nil {
		t.Errorf("behind the limit of time it is %v, %v", values, err)
	}
}

// TestKeptWeights: what is said of weights that an earlier evaluation found best is not that of the last ones.
func TestKeptWeights(t *testing.T) {
	t.Parallel()
	set, dev := chains(t, 3), chains(t, 40)
	task := Task{Set: set, Evaluations: []*Evaluation{oracle.Must(NewEvaluation("dev", dev, dev.Instances, "", ""))(t)}}
	settings := learn.Settings{Method: learn.Exact, MaxPasses: 40, EvaluateEvery: 1}
	last := train(t, Options{Settings: settings, NoL2: true}, task, nil)
	best := train(t, Options{Settings: settings, NoL2: true, EarlyStop: "log_loss@dev:1000"}, task, nil)
	if s := last.Summary; !s.Checked || math.IsNaN(float64(s.Objective)) {
		t.Fatalf("of the last weights: %+v", s)
	}
	s := best.Summary
	if s.ThetaSHA256 == last.Summary.ThetaSHA256 || !(s.Eval["log_loss@dev"] < last.Summary.Eval["log_loss@dev"]) {
		t.Fatal("the last weights are kept: the test shows nothing")
	}
	for _, x := range []runfolder.Float{s.Objective, s.GradNorm, s.Suboptimality, s.Gap, s.Residual} {
		if !math.IsNaN(float64(x)) {
			t.Errorf("objective and the like are known of weights that they were not computed of: %+v", s)
		}
	}
	if s.Checked || s.InferenceConverged || s.Converged || s.Optimum != "none" {
		t.Errorf("the best weights are said to be an optimum: %+v", s)
	}
}
