package job

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/learn"
)

// blocks describes a stochastic block model: which share of the edges join equal states, -1: edges tell nothing.
type blocks struct {
	nodes, states, degree int
	same                  float64
	noise                 float64 // deviation of features, whose means are 1 apart
	known                 int     // nodes with labels to learn from
	seed                  uint64
	bare                  bool // nodes have no features
}

// tables writes the graph as tables with a header.
func (b blocks) tables(t *testing.T) []string {
	t.Helper()
	r := rand.New(rand.NewPCG(b.seed, 5))
	state := make([]int, b.nodes)
	var nodes, edges strings.Builder
	nodes.WriteString("id,label,split")
	columns := 2 * b.states
	if b.bare {
		columns = 0
	}
	for j := range columns {
		fmt.Fprintf(&nodes, ",x%d", j)
	}
	nodes.WriteString("\n")
	for i := range state {
		state[i] = i % b.states
		split := "test"
		if i < b.known {
			split = "train"
		}
		fmt.Fprintf(&nodes, "n%d,s%d,%s", i, state[i], split)
		for j := range columns {
			x := b.noise * r.NormFloat64()
			if j == state[i] {
				x++
			}
			fmt.Fprintf(&nodes, ",%.4f", x)
		}
		nodes.WriteString("\n")
	}
	edges.WriteString("source,target\n")
	seen := map[[2]int]bool{}
	for len(seen) < b.nodes*b.degree/2 {
		i, j := r.IntN(b.nodes), r.IntN(b.nodes)
		if b.same >= 0 && (state[i] == state[j]) != (r.Float64() < b.same) {
			continue
		}
		if i < j && !seen[[2]int{i, j}] {
			seen[[2]int{i, j}] = true
			fmt.Fprintf(&edges, "n%d,n%d\n", i, j)
		}
	}
	return writeTables(t, nodes.String(), edges.String())
}

func writeTables(t *testing.T, texts ...string) []string {
	t.Helper()
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "nodes.csv"), filepath.Join(dir, "edges.csv")}
	for i, text := range texts {
		oracle.OK(t, os.WriteFile(paths[i], []byte(text), 0o666))
	}
	return paths
}

// few reads the graph with the labels to learn from, and the evaluation on all others.
func (b blocks) few(t *testing.T, hopsOpen bool) Task {
	t.Helper()
	return fewOf(t, b.tables(t), dataset.Options{Observed: "train"}, hopsOpen)
}

func fewOf(t *testing.T, paths []string, o dataset.Options, hopsOpen bool) Task {
	t.Helper()
	set := oracle.Must(dataset.Open(t.Context(), paths, o))(t)
	task := Task{Set: set, HopsOpen: hopsOpen}
	e := oracle.Must(task.OpenEvaluation(t.Context(), paths, o, "test", "test", false))(t)
	task.Evaluations = []*Evaluation{e}
	return task
}

// TestChooseByFolds: where edges or neighbourhoods tell something of the states, a training with defaults finds it;
// where they do not, it is about as good as node features alone with the best prior.
func TestChooseByFolds(t *testing.T) {
	oracle.Long(t)
	t.Parallel()
	for _, c := range []struct {
		name       string
		of         blocks
		atLeast    float64 // by how much accuracy is above that of node features alone
		wantsEdges bool
		sign       float64 // of a Potts coupling that may be chosen
		mostHops   int
	}{
		{"equal neighbours", blocks{nodes: 400, states: 3, degree: 6, same: .85, noise: 1.2, known: 60, seed: 1}, .15, true, 1, choiceHops},
		{"other neighbours", blocks{nodes: 400, states: 3, degree: 8, same: .03, noise: .7, known: 60, seed: 2}, .05, true, -1, choiceHops},
		{"no features", blocks{nodes: 400, states: 3, degree: 6, same: .85, known: 60, seed: 1, bare: true}, .3, true, 1, 0},
		{"labels of most", blocks{nodes: 400, states: 3, degree: 8, same: .03, noise: 1.2, known: 280, seed: 2}, .2, true, -1, 0},
		{"any neighbours", blocks{nodes: 400, states: 3, degree: 6, same: -1, noise: .7, known: 60, seed: 3}, -.03, false, 0, 0},
	} {
		task := c.of.few(t, true)
		alone := train(t, Options{NoEdges: true}, baselineTask(t, task), nil)
		r := train(t, Options{}, task, nil)
		made := r.Summary.Choice
		if made == nil {
			t.Fatalf("%s: nothing was chosen; notes %q", c.name, r.Summary.Notes)
		}
		oracle.Contains(t, made.quality(), percent(float64(made.Chosen.Accuracy))+" were predicted right")
		got, want := r.Scores[0].Score, alone.Scores[0].Score
		t.Logf("%s: %v; accuracy %.3f, log loss %.3f; alone %.3f, %.3f", c.name, made.Chosen, got.Accuracy(), got.MeanLogLoss(), want.Accuracy(), want.MeanLogLoss())
		if got.Accuracy() < want.Accuracy()+c.atLeast || got.MeanLogLoss() > want.MeanLogLoss()+.02 {
			t.Errorf("%s: accuracy %.3f, log loss %.3f; of node features alone %.3f, %.3f", c.name, got.Accuracy(), got.MeanLogLoss(), want.Accuracy(), want.MeanLogLoss())
		}
		rule := oracle.Must(parseEdges(r.Summary.Edges))(t)
		if (rule.strength != 0 || learnsEdges(made.Chosen)) != c.wantsEdges || rule.name == edgesPotts &&
			rule.strength*c.sign < 0 || made.Chosen.Hops > c.mostHops {
			t.Errorf("%s: chosen is %v", c.name, made.Chosen)
		}
		if !learnsEdges(made.Chosen) && (!r.Summary.Converged || !r.Summary.Convex) {
			t.Errorf("%s: node weights are %s", c.name, r.Summary.Status)
		}
	}
}

// learnsEdges reports whether a candidate learns edges with nodes.
func learnsEdges(c Candidate) bool { return c.Edges.name == edgesTogether }

// baselineTask is the task of a baseline.
func baselineTask(t *testing.T, task Task) Task {
	t.Helper()
	e := *task.Evaluations[0]
	e.Instances = Instances(e.Set, true)
	task.Evaluations = []*Evaluation{&e}
	return task
}

// TestChoiceIsReproduced: the same weights come of any number of threads, of the options that the note names, and of a
// choice that was interrupted and goes on; and the model that is saved has the scores that the training told.
func TestChoiceIsReproduced(t *testing.T) {
	oracle.Long(t)
	t.Parallel()
	paths := blocks{nodes: 200, states: 3, degree: 6, same: .85, noise: 1, known: 40, seed: 4}.tables(t)
	observed := dataset.Options{Observed: "train"}
	folder := t.TempDir()
	dir := func(name string) *Folder { return &Folder{Dir: filepath.Join(folder, name), NoReport: true} }
	want := train(t, Options{}, fewOf(t, paths, observed, true), dir("whole"))
	best := want.Summary.Choice.Chosen
	if best.Edges.strength == 0 || best.Hops == 0 {
		t.Fatalf("chosen is %v: this tells nothing of edges, or of means", best)
	}
	same := func(what string, r *Result) {
		t.Helper()
		oracle.Equal(t, r.Model.Model.Weights, want.Model.Model.Weights, "%s: weights", what)
		oracle.Equal(t, r.Scores[0].Score.MeanLogLoss(), want.Scores[0].Score.MeanLogLoss(), "%s: log loss", what)
	}
	p := oracle.Must(Prepare(t.Context(), Options{Settings: learn.Settings{Threads: 3}}, fewOf(t, paths, observed, true)))(t)
	r := oracle.Must(p.Train(t.Context(), nil, Watch{}))(t)
	same("three threads", r)

	fixed := observed
	fixed.Hops = best.Hops
	same("the options of the note", train(t, Options{Edges: best.Edges.String(), Prior: best.Prior}, fewOf(t, paths,
		fixed, false), nil))

	ctx, cancel := context.WithCancel(t.Context())
	seen := []int{}
	parts := dir("parts")
	training := prepare(t, Options{}, fewOf(t, paths, observed, true))
	_, err := training.Train(ctx, parts, Watch{Instances: func(work string, done, total int) {
		if work == "comparing candidates" {
			if seen = append(seen, done); done == 4 {
				cancel()
			}
		}
	}})
	oracle.Equal(t, fmt.Sprint(seen[:min(5, len(seen))]), "[0 1 2 3 4]", "candidates that were counted")
	wantError(t, err, Interrupted, "go on with blockbp train "+parts.Dir+" --resume")
	parts = dir("parts")
	parts.Resume = true
	r = oracle.Must(prepare(t, Options{}, fewOf(t, paths, observed, true)).Train(t.Context(), parts, Watch{}))(t)
	same("in two parts", r)
	oracle.Equal(t, r.Summary.Choice.Candidates, want.Summary.Choice.Candidates, "in two parts: candidates")
	// Once more: the run has ended, and nothing is chosen again.
	parts = dir("parts")
	parts.Resume = true
	training = prepare(t, Options{}, fewOf(t, paths, observed, true))
	r = oracle.Must(training.Train(t.Context(), parts, Watch{Instances: func(work string, _, _ int) {
		if work == "comparing candidates" {
			t.Error("candidates were compared again")
		}
	}}))(t)
	same("ended", r)
	if s := r.Summary; !(s.TotalSeconds >= s.Choice.Seconds+s.TrainingSeconds) {
		t.Errorf("%v s in all, of which the choice took %v, and the training %v", s.TotalSeconds, s.Choice.Seconds, s.TrainingSeconds)
	}

	m := oracle.Must(LoadModel(filepath.Join(folder, "whole")))(t)
	set := oracle.Must(dataset.Open(t.Context(), paths, dataset.Options{Schema: &m.Model.Schema, Recipe: m.Recipe}))(t)
	e := oracle.Must(NewEvaluation("test", set, m.Instances(set), "test", "train"))(t)
	scored := oracle.Must(oracle.Must(m.Inference(t.Context(), ""))(t).Score(t.Context(), e, false))(t)
	if a, b := scored.Score.MeanLogLoss(), want.Scores[0].Score.MeanLogLoss(); a != b || scored.Score.Accuracy() != want.Scores[0].Score.Accuracy() {
		t.Errorf("the saved model has log loss %v, and the training told %v", a, b)
	}
}

// TestChoiceHasATime: half of the time is for the choice, and something is chosen in any case.
func TestChoiceHasATime(t *testing.T) {
	oracle.Long(t)
	t.Parallel()
	task := blocks{nodes: 300, states: 3, degree: 6, same: .85, noise: 1, known: 40, seed: 5}.few(t, true)
	whole, some := train(t, Options{}, task, nil), train(t, Options{Settings: learn.Settings{MaxTime: time.Millisecond}}, task, nil)
	if n, all := len(some.Summary.Choice.Candidates), len(whole.Summary.Choice.Candidates); n == 0 || n >= all {
		t.Errorf("%d candidates in a millisecond, and %d in all time", n, all)
	}
	const told = "as far as half of {max-time} went"
	if !strings.Contains(some.Summary.Choice.note(), told) || strings.Contains(whole.Summary.Choice.note(), told) {
		t.Errorf("notes %q and %q", some.Summary.Choice.note(), whole.Summary.Choice.note())
	}
}

// TestWhatIsChosen: options that say how weights come about leave nothing to choose.
func TestWhatIsChosen(t *testing.T) {
	t.Parallel()
	task := blocks{nodes: 100, states: 2, degree: 4, same: .9, noise: 1, known: 20, seed: 6}.few(t, true)
	task.Evaluations = nil
	for name, c := range map[string]struct {
		o    Options
		want bool
	}{
		"defaults":   {Options{}, true},
		"a prior":    {Options{Prior: 2}, true},
		"l2":         {Options{L2: .1}, true},
		"together":   {Options{Edges: edgesTogether}, false},
		"a rule":     {Options{Edges: "potts:1"}, false},
		"a method":   {Options{Settings: learn.Settings{Method: learn.Full}}, false},
		"a cut":      {Options{Settings: learn.Settings{Cut: learn.Cut{Blocks: 2}}}, false},
		"a step":     {Options{Step: "adagrad:0.1"}, false},
		"no edges":   {Options{NoEdges: true}, false},
		"its errors": {Options{Errors: errorsAuto}, false},
	} {
		oracle.Equal(t, prepare(t, c.o, task).grid != nil, c.want, "%s: chooses", name)
	}
	paths := blocks{nodes: 100, states: 2, degree: 4, same: .9, noise: 1, known: 20, seed: 6}.tables(t)
	for known, want := range map[int]bool{leastSigned - 1: false, leastSigned: true, 90: true, 91: false, 100: false} {
		b := blocks{nodes: 100, states: 2, degree: 4, same: .9, noise: 1, known: known, seed: 6}
		set := oracle.Must(dataset.Open(t.Context(), b.tables(t), dataset.Options{Observed: "train"}))(t)
		oracle.Equal(t, prepare(t, Options{}, Task{Set: set}).grid != nil, want, "%d of 100 labels known: chooses", known)
	}
	given := train(t, Options{Prior: 2}, fewOf(t, paths, dataset.Options{Observed: "train", Hops: 3}, false), nil).Summary.Choice
	for _, c := range given.Candidates {
		if c.Hops != 3 || c.Prior != 0 {
			t.Errorf("with 3 hops and a prior given, a candidate is %v", c)
		}
	}
	oracle.Contains(t, given.note(), " {hops=3}")
	large := blocks{nodes: 3000, states: 4, degree: 6, same: .9, noise: 1, known: 20, seed: 7}.few(t, true)
	if prepare(t, Options{}, large).grid == nil {
		t.Error("9000 edges with 16 pairs of states leave nothing to choose")
	}
	large.Set.Schema.EdgeTypes[0].Features = 2
	spec := large.Set.Instances[0].Spec()
	features := oracle.Must(crf.Dense(slices.Repeat([]float64{.5, 1}, spec.Graph.NumEdges()), 2))(t)
	spec.EdgeFeat[0] = features
	large.Set.Schema.EdgeTypes[0].FeatureNames = nil
	large.Set.Instances[0] = oracle.Must(crf.NewInstance(&large.Set.Schema, spec))(t)
	large.Evaluations = nil
	if prepare(t, Options{}, large).grid != nil {
		t.Error("features of edges are left out")
	}
	net := planted(12, 100, 8, .3, 5).weighed(5)
	bare := net.task(t, net.some(5, 1))
	bare.Set.Schema.EdgeTypes[0].FeatureNames[0] = "distance"
	if prepare(t, Options{}, bare).grid == nil {
		t.Error("few labels without features of nodes learn what distances of 4800 edges say")
	}
	for edges, want := range map[string]string{
		"pots:1": `--edges "pots:1": want auto or together; or potts:J`, "potts": `--edges "potts": want`, "potts:x": "want", "moments:-1": "want", "potts:Inf": "want",
	} {
		wantError(t, refused(Options{Edges: edges}), Usage, want)
	}
	for _, o := range []Options{{Edges: "potts:1", NoEdges: true}, {Edges: "potts:1", Errors: errorsAuto}, {Edges: "potts:1", Physics: Ising}} {
		wantError(t, refused(o), Usage, "goes with none of")
	}
}

// TestClimbsGoOn: with means over neighbours a climb begins where one without has come to, far from the grid.
func TestClimbsGoOn(t *testing.T) {
	task := blocks{nodes: 120, states: 3, degree: 6, same: .85, noise: 1, known: 40, seed: 4}.few(t, true)
	c, weak := prepare(t, Options{}, task).newSelection(Watch{}), edgeRule{name: edgesPotts, strength: .02}
	ends := oracle.Must(c.compare(t.Context(), []Candidate{{Edges: weak}, {Hops: 1, Edges: weak}}))(t)
	on, step := ends[0].asked, weak
	on.Hops, step.strength = 1, rounded(weak.strength*math.Sqrt2)
	tried := func(hops int) bool { return c.tried[Candidate{Hops: hops, Prior: 1, Edges: step}] != nil }
	if c.tried[on] == nil || !tried(0) || tried(1) {
		t.Errorf("from %v to %v, and with a hop to %v: tried %d", weak, ends[0].asked, ends[1].asked, len(c.tried))
	}
}

// TestEdgeRules: weights are those of an independent derivation.
func TestEdgeRules(t *testing.T) {
	g := oracle.Must(graph.FromEdges(4, []int32{0, 1, 2}, []int32{1, 2, 3}))(t)
	for _, symmetric := range []bool{false, true} {
		schema := crf.Homogeneous([]string{"a", "b"}, 1, 2)
		schema.EdgeTypes[0].Symmetric = symmetric
		features := oracle.Must(crf.Dense([]float64{3, 1, 4, 1, 5, 1}, 2))(t)
		in := oracle.Must(crf.NewInstance(&schema, crf.InstanceSpec{Graph: g, NodeFeat: []crf.Features{crf.Constant(4, 1)}, EdgeFeat: []crf.Features{features}, Labels: [][]int32{{0, 0, 1, -1}}}))(t)
		nodes := oracle.Must(crf.NewModel(schema))(t)
		nodes.Weights[nodes.Layout.Node[0].At+1] = math.Log(3 * 5) // b with 3/4, a label of which counts 5
		// Pairs of states: (a, a), (a, b), and b with a quarter a and three quarters b; and a
		// quarter of an edge for each pair.
		pairs := [4]float64{1.25, 1.25, .5, 1}
		if symmetric {
			pairs[1], pairs[2] = .875, .875
		}
		var logs [4]float64
		for i, x := range pairs {
			row, column := pairs[i/2*2]+pairs[i/2*2+1], pairs[i%2]+pairs[2+i%2]
			logs[i] = math.Log(x * 4 / row / column)
		}
		span := slices.Max(logs[:]) - slices.Min(logs[:])
		check := func(rule string, want [4]float64) {
			t.Helper()
			r := oracle.Must(parseEdges(rule))(t)
			m := nodes.Clone()
			r.put(m, carriers(&schema, []*crf.Instance{in}, r.name), nodes, [][]float64{{1, 5}}, []*crf.Instance{in})
			at := m.Layout.Edge[0].At
			for i := range want {
				if m.Weights[at+i] != 0 || math.Abs(m.Weights[at+4+i]-want[i]) > 1e-12 {
					t.Errorf("%s: weights %v, want zeros and %v", rule, m.Weights[at:], want)
				}
			}
			oracle.OK(t, m.CheckSymmetry())
		}
		for i := range logs {
			logs[i] *= 1.5 / span
		}
		check("moments:1.5", logs)
		check("potts:-0.7", [4]float64{-.7, 0, 0, -.7})
	}
}

// TestDecide: within one standard error the simplest wins, and within two what is usual, or edges that do
// not make neighbours differ.
func TestDecide(t *testing.T) {
	t.Parallel()
	const n, none = 100, "potts:0"
	made := func(edges string, loss float64) *trial {
		asked := Candidate{Edges: oracle.Must(parseEdges(edges))(t), Loss: runfolder.Float(loss + .5)}
		x := &trial{Candidate: asked, asked: asked, losses: make([]float64, n)}
		x.Edges.power = 1
		for i := range n {
			x.losses[i] = loss + float64(i%2) // all differ by a constant, but for the noise of one
		}
		return x
	}
	noisy := func(x *trial, deviation float64) *trial {
		for i := range x.losses {
			x.losses[i] += deviation * float64(1-i/2%2*2)
		}
		return x
	}
	sure := made("potts:1", .38)
	sure.surprise = 20 // half of which is more than 100 labels gain
	alone := made("potts:1", .5)
	alone.Prior = evenPrior
	for name, c := range map[string]struct {
		finalists []*trial
		want      string
	}{
		"surer than proved":     {[]*trial{made(none, .4), sure}, none},
		"clearly the best":      {[]*trial{made(none, 1), made("potts:1", .5)}, "potts:1"},
		"no more than by noise": {[]*trial{noisy(made(none, .51), .2), made("potts:1", .5)}, none},
		"neighbours differ":     {[]*trial{noisy(made(none, .53), .2), made("potts:-1", .5)}, none},
		"they surely differ":    {[]*trial{noisy(made(none, .55), .2), made("potts:-1", .5)}, "potts:-1"},
		"edges without weights": {[]*trial{noisy(made(none, .51), .2), alone}, "potts:1"},
		"but of a larger loss":  {[]*trial{made(none, .4), made("potts:1", .5)}, none},
		// With labels of most nodes, what is usual stays unless another is surely better.
		"usual, surely":       {[]*trial{made(edgesTogether, .5), made("potts:1", .4)}, "potts:1"},
		"usual, by noise":     {[]*trial{made(edgesTogether, .5), noisy(made("potts:1", .47), .2)}, edgesTogether},
		"usual, of more loss": {[]*trial{made(edgesTogether, .5), made("potts:1", .6)}, edgesTogether},
	} {
		got := (&selection{p: &Prepared{}}).decide(c.finalists)
		oracle.Equal(t, got.Chosen.Edges.String(), c.want, "%s", name)
	}
}

// TestChoiceOfManyLabels: where all folds would take too long, one of them chooses among what costs little.
func TestChoiceOfManyLabels(t *testing.T) {
	oracle.Long(t)
	t.Parallel()
	b := blocks{nodes: 6000, states: 3, degree: 6, same: .85, noise: 1.2, known: mostLabels + 50, seed: 1}
	task := b.few(t, true)
	r := train(t, Options{}, task, nil)
	made := r.Summary.Choice
	if made == nil {
		t.Fatalf("nothing was chosen; notes %q", r.Summary.Notes)
	}
	got, learned := r.Scores[0].Score, train(t, Options{Settings: learn.Settings{MaxPasses: 100}, Edges: edgesTogether}, task, nil).Scores[0].Score
	t.Logf("%s: %v; accuracy %.3f, log loss %.3f; together %.3f, %.3f", made.Metric, made.Chosen, got.Accuracy(), got.MeanLogLoss(), learned.Accuracy(), learned.MeanLogLoss())
	if made.Metric != "log_loss by one fold of 411 labels" || got.Accuracy() < learned.Accuracy()+.05 || got.MeanLogLoss() > learned.MeanLogLoss() {
		t.Errorf("%s: %v", made.Metric, made.Candidates)
	}
	for _, c := range made.Candidates {
		if c.Hops != 0 || c.Prior != 1 {
			t.Errorf("%v was tried", c)
		}
	}
	// One fold of few labels tells nothing: there, all are quick.
	for known, want := range map[int]int{45: mostFolds, 54: 1} {
		b := blocks{nodes: 1500, states: 9, degree: 20, same: .85, known: known, seed: 1, bare: true}
		p := prepare(t, Options{}, b.few(t, true))
		c := p.newSelection(Watch{})
		if _, err := c.see(t.Context(), Candidate{}); err != nil || p.grid == nil || !p.large() || len(c.folds) != want {
			t.Errorf("%d labels of a large network are in %d folds, want %d; %v", known, len(c.folds), want, err)
		}
	}
	b.known = b.nodes * 3 / 4
	set := oracle.Must(dataset.Open(t.Context(), b.tables(t), dataset.Options{Observed: "train"}))(t)
	if prepare(t, Options{}, Task{Set: set}).grid != nil {
		t.Error("edges are not learned together, and yet compared with that")
	}
	b.nodes, b.known, b.degree = 2000, 3*mostOfMost, 8
	r = train(t, Options{}, b.few(t, true), nil)
	if made = r.Summary.Choice; made == nil || made.Metric != "log_loss by one fold of 300 labels" ||
		learnsEdges(made.Chosen) || !learnsEdges(made.Candidates[0]) {
		t.Errorf("with labels of most nodes: %+v", made)
	}
}

// TestUnseenState: where one state of several has no label, candidates are compared all the same, but edges that are
// learned with nodes are none of them. A type of nodes without any label leaves nothing to compare.
func TestUnseenState(t *testing.T) {
	t.Parallel()
	paths := blocks{nodes: 400, states: 4, degree: 6, same: .85, noise: 1.2, known: 80, seed: 1}.tables(t)
	text := bytes.ReplaceAll(oracle.Must(os.ReadFile(paths[0]))(t), []byte(",s3,train,"), []byte(",s3,test,"))
	oracle.OK(t, os.WriteFile(paths[0], text, 0o666))
	task := fewOf(t, paths, dataset.Options{Observed: "train"}, false)
	r := oracle.Must(prepare(t, Options{}, task).Train(t.Context(), nil, Watch{}))(t)
	made := r.Summary.Choice
	if made == nil {
		t.Fatal("nothing was compared")
	}
	if made.Chosen.Edges == noEdges || slices.ContainsFunc(made.Candidates, learnsEdges) {
		t.Errorf("chosen is %v of %v", made.Chosen, made.Candidates)
	}
	if got, alone := r.Scores[0].Score, train(t, Options{NoEdges: true}, baselineTask(t, task),
		nil).Scores[0].Score; got.Accuracy() < alone.Accuracy()+.1 {
		t.Errorf("accuracy %.3f, of node features alone %.3f", got.Accuracy(), alone.Accuracy())
	}
	p := prepare(t, Options{}, task)
	other := *p.Problem.Model
	other.Schema.NodeTypes = append(slices.Clone(other.Schema.NodeTypes), other.Schema.NodeTypes[0])
	p.grid = nil
	p.Problem.Model = &other
	if said := oracle.Must(p.openEdges(t.Context()))(t); said != "" || p.grid != nil {
		t.Error("a type of nodes without a label leaves something to compare")
	}
}

// TestTwoTypesOfNodes: where edges join two types, no candidate has a rule of equal states.
func TestTwoTypesOfNodes(t *testing.T) {
	a := &dataset.Arrays{NodeFeatures: &dataset.Matrix{Columns: 1}, Labels: [][]int32{slices.Repeat([]int32{-1}, 60)}}
	for s := range int32(60) {
		a.NodeFeatures.Data, a.NodeTypes = append(a.NodeFeatures.Data, 1), append(a.NodeTypes, s%2)
		a.Edges = append(a.Edges, [2]int32{s &^ 1, ((s | 1) + s%2*2) % 60})
		a.Labels[0][s/3] = s / 6 % 2 // of a third
	}
	set := oracle.Must(dataset.FromArrays(dataset.Manifest{States: []string{"off", "on"}}, dataset.Options{}, a))(t)
	grid := fmt.Sprint(prepare(t, Options{}, Task{Set: set}).grid)
	if !strings.Contains(grid, "moments:") || strings.Contains(grid, edgesBalanced) {
		t.Errorf("compared are %s", grid)
	}
}

// TestScale: like features, of which most hardly vary, get one divisor; features with units of their own do not, nor
// where the options name a scale; and what is chosen is what its name gives.
func TestScale(t *testing.T) {
	t.Parallel()
	data := func(telling int, unit float64) *dataset.Set { // the other features are noise of that unit
		r, all := rand.New(rand.NewPCG(1, 2)), []*dataset.Arrays(nil)
		for range 12 {
			a := &dataset.Arrays{NodeFeatures: &dataset.Matrix{Columns: 1101}, Labels: [][]int32{nil}}
			for s := range int32(10) {
				y := int32(r.IntN(2))
				a.Labels[0], a.NodeFeatures.Data = append(a.Labels[0], y), append(a.NodeFeatures.Data, 1)
				a.Edges = append(a.Edges, [2]int32{s, (s + 1) % 10})
				for j := range 1100 { // 264,240 labels times features times states
					x := unit * r.NormFloat64()
					if j < telling {
						x = r.NormFloat64() + 2*float64(y)
					}
					a.NodeFeatures.Data = append(a.NodeFeatures.Data, x)
				}
			}
			all = append(all, a)
		}
		return oracle.Must(dataset.FromArrays(dataset.Manifest{}, dataset.Options{States: []string{"off", "on"}}, all...))(t)
	}
	alike, apart, sparse := data(4, .05), data(1, 100), filepath.Join(t.TempDir(), "alike.crfsuite")
	var lines strings.Builder
	for _, in := range alike.Instances {
		f := in.NodeFeatures(0)
		row := make([]float64, f.Dim())
		for v, label := range in.Samples()[0] {
			f.Row(row, v)
			lines.WriteString([]string{"off", "on"}[label])
			for j, x := range row[1:] {
				fmt.Fprintf(&lines, "\tx%d:%g", j, x)
			}
			lines.WriteByte('\n')
		}
		lines.WriteByte('\n')
	}
	oracle.OK(t, os.WriteFile(sparse, []byte(lines.String()), 0o666))
	for _, c := range []struct {
		set  *dataset.Set
		o    Options
		want string
	}{
		{alike, Options{}, "one:"}, {alike, Options{Scale: "each"}, "each"},
		{oracle.Must(dataset.Open(t.Context(), []string{sparse}, dataset.Options{}))(t), Options{}, "one:"},
		{alike, Options{L2: 1, Standardise: true}, "each"},
		{apart, Options{}, "each"}, {apart, Options{Scale: "one:2"}, "one:2"}, {apart, Options{Scale: "one:3", L2: 1}, "one:3"},
	} {
		p := prepare(t, c.o, Task{Set: c.set})
		noted := strings.Contains(strings.Join(p.Notes, "\n"), "and chosen is {scale="+p.Options.Scale)
		if !strings.HasPrefix(p.Options.Scale, c.want) || noted != (p.asked.Scale == "" && c.want != "each") {
			t.Errorf("%+v: scale %s, want %s; notes %q", c.o, p.Options.Scale, c.want, p.Notes)
		}
		if idle := slices.ContainsFunc(p.Notes, func(text string) bool { return strings.Contains(text, "has no effect") }); idle != (c.o.Scale == "one:3") {
			t.Errorf("%+v: notes %q", c.o, p.Notes)
		}
		given := c.o
		given.Scale = p.Options.Scale
		a, b := train(t, c.o, Task{Set: c.set}, nil), train(t, given, Task{Set: c.set}, nil)
		oracle.Equal(t, a.Model.Model.Weights, b.Model.Model.Weights, "%+v: weights, and with --scale %s", c.o, given.Scale)
	}
	for _, text := range []string{"one", "one:0", "one:x", "two"} {
		wantError(t, refused(Options{Scale: text}), Usage, "want auto, each, or one:D")
	}
}
