package job

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/learn"
)

// TestCalibrateKnown: maximum likelihood of node features alone is calibrated on its own
// data, and weights c times as large have the temperature c, to the nearest step: beliefs are proportional to exp(θ/T).
func TestCalibrateKnown(t *testing.T) {
	t.Parallel()
	set := chains(t, 40)
	e := oracle.Must(NewEvaluation("self", set, Instances(set, true)))(t)
	r := train(t, Options{Settings: learn.Settings{RelativeTolerance: 1e-12}, NoL2: true, NoEdges: true}, Task{Set: set}, nil)
	weights := slices.Clone(r.Model.Model.Weights)
	for _, factor := range []float64{0.2, 1, 3} {
		for i, w := range weights {
			r.Model.Model.Weights[i] = factor * w
		}
		w := Inference{Model: r.Model.Model, Threads: 2}
		c := oracle.Must(w.calibrate(t.Context(), e))(t)
		if math.Abs(math.Log2(c.Temperature/factor)) > 0.51*calibrationStep || factor != 1 && !(c.LogLoss < c.LogLossBefore) {
			t.Errorf("weights %v times: %+v", factor, c)
		}
	}
}

// TestCalibrate: no other temperature, a step or more away, has a smaller log loss, the model has it when it is
// loaded, and predictions use it; accuracy stays.
func TestCalibrate(t *testing.T) {
	t.Parallel()
	set, dev := chains(t, 60), chains(t, 30)
	e := oracle.Must(NewEvaluation("dev", dev, dev.Instances))(t)
	task := Task{Set: set, Evaluations: []*Evaluation{e}}
	folder := &Folder{Dir: filepath.Join(t.TempDir(), "run")}
	before := train(t, Options{}, task, nil)
	r := train(t, Options{Calibrate: "dev"}, task, folder)
	loaded := oracle.Must(LoadModel(folder.Dir))(t)
	c := r.Calibration
	if c == nil || r.Summary.Calibration != c || loaded.Temperature() != c.Temperature || c.Temperature == 1 || before.Model.Temperature() != 1 {
		t.Fatalf("%+v, the file has temperature %v", c, loaded.Temperature())
	}
	loss := func(temperature float64) *infer.Score {
		w := Inference{Model: r.Model.Model, Counting: prepare(t, Options{}, task).Problem.Counting, Temperature: temperature}
		s := oracle.Must(w.Score(t.Context(), e, false))(t)
		return s.Score
	}
	least := loss(c.Temperature).MeanLogLoss()
	for _, factor := range []float64{0.5, 0.84, 1.19, 2} {
		if other := loss(factor * c.Temperature).MeanLogLoss(); other < least {
			t.Errorf("log loss is %v at the temperature %v, and %v at %v times as much", least, c.Temperature, other, factor)
		}
	}
	if math.Abs(float64(c.LogLoss)-least) > 1e-9 || math.Abs(float64(c.LogLossBefore)-loss(1).MeanLogLoss()) > 1e-9 {
		t.Errorf("%+v, want a log loss of %v after %v", c, least, loss(1).MeanLogLoss())
	}
	if r.Summary.Eval["accuracy@dev"] != before.Summary.Eval["accuracy@dev"] || math.Abs(float64(r.Summary.Eval["log_loss@dev"]-c.LogLoss)) > 1e-9 || r.Summary.ThetaSHA256 != before.Summary.ThetaSHA256 {
		t.Errorf("evaluations are %v, without a temperature %v", r.Summary.Eval, before.Summary.Eval)
	}
	if !strings.Contains(c.Text(), "chosen on dev: log loss") {
		t.Error(c.Text())
	}
}

// TestNoTemperature: where labels are all right, none is made up; nor where a set has another
// name, or metadata are no temperature.
func TestNoTemperature(t *testing.T) {
	t.Parallel()
	set := chains(t, 6)
	e := oracle.Must(NewEvaluation("dev", set, set.Instances))(t)
	for _, test := range []struct {
		sets []*Evaluation
		want string
	}{{nil, "Options.Calibrate dve: it needs Options.Validation"}, {[]*Evaluation{e}, "no Options.Validation set has that name; valid are dev"}} {
		oracle.Fails(Prepare(t.Context(), Options{Calibrate: "dve"}, Task{Set: set, Evaluations: test.sets}))(t, test.want)
	}
	for _, text := range []string{"0", "-1", "x", "NaN", "Inf", ""} {
		if err := checkMeta("m", map[string]string{MetaTemperature: text}); err == nil {
			t.Errorf("metadata say temperature %q: no error", text)
		}
	}
	// Compared are the nodes alone that are predicted right.
	var notes []string
	p := prepare(t, Options{Calibrate: "dev"}, Task{Set: set, Evaluations: []*Evaluation{e}})
	r := oracle.Must(p.Train(t.Context(), nil, Watch{}))(t)
	e.Count = make([][]bool, len(set.Instances))
	for i, in := range set.Instances {
		e.Count[i] = make([]bool, in.Graph.NumNodes())
	}
	w := p.inference(r.Model.Model, infer.Limits{})
	oracle.OK(t, w.Each(t.Context(), set.Instances, nil, func(i int, b *infer.Beliefs) error {
		for s, y := range b.Labels {
			e.Count[i][s] = y == set.Instances[i].Samples()[0][s]
		}
		return nil
	}))
	r.Calibration, r.Model.Meta = nil, nil
	if _, err := p.calibrate(t.Context(), r, Watch{Note: func(text string) { notes = append(notes, text) }}); err != nil || r.Calibration != nil || r.Model.Temperature() != 1 || len(notes) != 1 || !strings.Contains(notes[0], "{calibrate} dev: no temperature fits") {
		t.Errorf("%v, %+v, notes %q", err, r.Calibration, notes)
	}
}

func twoTypes() []crf.NodeType {
	return []crf.NodeType{{Name: "user", States: []string{"ok", "fraud"}}, {Name: "item", States: []string{"ok", "bad", "worse"}}}
}

// beliefsOf are beliefs of nodes that are user and item in turn.
func beliefsOf(t *testing.T, beliefs ...[]float64) (*crf.Instance, *infer.Beliefs) {
	t.Helper()
	schema := crf.Schema{NodeTypes: twoTypes()}
	b, types := &infer.Beliefs{NodeAt: []int{0}, Labels: make([]int32, len(beliefs))}, make([]int32, len(beliefs))
	for s, belief := range beliefs {
		b.Node = append(b.Node, belief...)
		b.NodeAt = append(b.NodeAt, len(b.Node))
		types[s] = int32(s % 2)
	}
	g := oracle.Must(graph.FromEdges(len(beliefs), nil, nil))(t)
	in := oracle.Must(crf.NewInstance(&schema, crf.InstanceSpec{Graph: g, NodeType: types, NodeFeat: make([]crf.Features, 2)}))(t)
	return in, b
}

// TestCostsDecide: no other state has a smaller expected cost.
func TestCostsDecide(t *testing.T) {
	types, missed := twoTypes(), map[string]float64{"ok": 1.5, "bad": 4, "worse": 1, "fraud": 20}
	c := oracle.Must(ParseCosts("fraud=20,ok=1.5,bad=4", types))(t)
	rng := rand.New(rand.NewPCG(1, 2))
	moved := 0
	for range 500 {
		p, q := rng.Float64(), rng.Float64()
		in, b := beliefsOf(t, []float64{p, 1 - p}, []float64{p * q, p * (1 - q), 1 - p})
		c.decide(in, b)
		for s, label := range b.Labels {
			states := types[s].States
			expected := func(predicted int32) (sum float64) {
				for i, truth := range states {
					if int32(i) != predicted {
						sum += b.Of(s)[i] * missed[truth]
					}
				}
				return sum
			}
			for other := range int32(len(states)) {
				if expected(other) < expected(label)-1e-12 {
					t.Fatalf("beliefs %v: %s costs %v, %s costs %v", b.Of(s), states[label], expected(label), states[other], expected(other))
				}
				if b.Of(s)[other] > b.Of(s)[label] {
					moved++
				}
			}
		}
		truth := []int32{1, crf.Unobserved}
		if got, want := c.sum(in, func(s int) int { return s }, b.Labels, truth, nil), missed["fraud"]*float64(1-b.Labels[0]); got != want {
			t.Fatalf("labels cost %v, want %v", got, want)
		}
		if got := c.sum(in, func(s int) int { return s }, b.Labels, []int32{0, 0}, []bool{false, false}); got != 0 {
			t.Fatalf("labels of no node cost %v", got)
		}
	}
	if moved == 0 {
		t.Error("the largest belief won everywhere: the test shows nothing")
	}
}

// TestCostsOfTheImpossible: what is held, or forbidden, stays so.
func TestCostsOfTheImpossible(t *testing.T) {
	types := twoTypes()
	c := oracle.Must(ParseCosts("fraud=1000", types))(t)
	in, b := beliefsOf(t, []float64{1, 0})
	if c.decide(in, b); b.Labels[0] != 0 {
		t.Error("a state of belief 0 was chosen")
	}
}

// TestBadCosts: what is wrong is named, with its place.
func TestBadCosts(t *testing.T) {
	for spec, wanted := range map[string]string{
		"fraud":           "want STATE=COST",
		"fruad=2":         `no state "fruad"; did you mean fraud?`,
		"fraud=-2":        "0 or more",
		"fraud=":          "0 or more",
		"fraud=0x10":      "0 or more",
		"fraud=NaN":       "0 or more",
		"fraud=2,fraud=3": `state "fraud" is there twice`,
	} {
		if c, err := ParseCosts(spec, twoTypes()); err == nil || !strings.Contains(err.Error(), wanted) {
			t.Errorf("costs %q: %v, %v, want %q", spec, c, err, wanted)
		}
	}
}
