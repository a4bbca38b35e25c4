package job

import (
	"context"
	"errors"
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/oracle"
)

// someInstances are n chains of two nodes, for a model without features.
func someInstances(t *testing.T, n int) (*crf.Model, []*crf.Instance) {
	t.Helper()
	model := oracle.Must(crf.NewModel(crf.Homogeneous(crf.NumberedStates(2), 1, 1)))(t)
	var instances []*crf.Instance
	for range n {
		chain := oracle.Must(gen.Chain(2))(t)
		in := oracle.Must(crf.NewInstance(&model.Schema, crf.InstanceSpec{Graph: chain,
			NodeFeat: []crf.Features{crf.Constant(2, 1)}, EdgeFeat: []crf.Features{crf.Constant(1, 1)}}))(t)
		instances = append(instances, in)
	}
	return model, instances
}

// TestPanicOfWorker: a panic in a thread that predicts goes on in the caller, with
// the stack of where it began, after the instances before it were used.
func TestPanicOfWorker(t *testing.T) {
	t.Parallel()
	model, instances := someInstances(t, 5)
	work := Inference{Model: model, Threads: 2, Counting: func(g *graph.Graph) (*counting.Numbers, error) {
		if g == instances[3].Graph {
			panic("a slip")
		}
		return counting.Convex(g), nil
	}}
	used := 0
	defer func() {
		text, _ := recover().(string)
		oracle.Equal(t, used, 3, "predictions used before the panic")
		oracle.Contains(t, text, "a slip", "inference_test.go")
	}()
	err := work.Each(t.Context(), instances, nil, func(int, *infer.Beliefs) error { used++; return nil })
	t.Errorf("no panic; error %v", err)
}

// TestErrorEndsInference: an error of the caller ends the work at once, and the threads with it.
func TestErrorEndsInference(t *testing.T) {
	t.Parallel()
	model, instances := someInstances(t, 1000)
	predictions := 0
	work := Inference{Model: model, Counting: func(g *graph.Graph) (*counting.Numbers, error) {
		predictions++ // by one thread alone
		time.Sleep(time.Millisecond)
		return counting.Convex(g), nil
	}}
	stop := errors.New("stop")
	if err := work.Each(t.Context(), instances, nil, func(int, *infer.Beliefs) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("error %v, want %v", err, stop)
	}
	if predictions > len(instances)/2 {
		t.Errorf("%d of %d instances were predicted after the first failed", predictions, len(instances))
	}
}

// TestInterruptedInference says how far it came.
func TestInterruptedInference(t *testing.T) {
	t.Parallel()
	model, instances := someInstances(t, 100)
	ctx, cancel := context.WithCancel(t.Context())
	var last []int
	work := Inference{Model: model, Threads: 3, Progress: func(done, total int) { last = []int{done, total} }}
	err := work.Each(ctx, instances, nil, func(i int, _ *infer.Beliefs) error {
		if i == 4 {
			cancel()
		}
		return nil
	})
	var undone *Error
	if !errors.As(err, &undone) || undone.Kind != Interrupted || undone.Error() != "interrupted after 5 of 100 instances" {
		t.Errorf("error %v", err)
	}
	oracle.Equal(t, last, []int{5, 100}, "the progress ends at")
}

// TestEachKeepsOrder: threads do not show in what is predicted, nor in its order.
func TestEachKeepsOrder(t *testing.T) {
	t.Parallel()
	model, instances := someInstances(t, 40)
	for i := range model.Weights {
		model.Weights[i] = float64(i) / 7
	}
	beliefs := func(threads int) (all []float64) {
		next := 0
		oracle.OK(t, Inference{Model: model, Threads: threads}.Each(t.Context(), instances, nil, func(i int,
			b *infer.Beliefs) error {
			oracle.Equal(t, i, next, "instance %d comes in the place", i)
			next++
			all = append(all, b.Node...)
			return nil
		}))
		return all
	}
	if one, eight := beliefs(1), beliefs(8); len(one) != 160 || !slices.Equal(one, eight) {
		t.Errorf("8 threads predict %v, 1 %v", eight, one)
	}
}

// TestUnsettled: nobody is told of what nobody would feel.
func TestUnsettled(t *testing.T) {
	u := (&Inference{}).unsettled()
	u.add("quiet", &infer.Beliefs{Outcome: infer.Outcome{Left: 0.009}})
	u.add("a", &infer.Beliefs{Outcome: infer.Outcome{Left: math.Inf(1)}})
	if got := u.String(); !strings.HasPrefix(got, "inference of 1 of 2 instances is not settled: beliefs of \"a\" do not come to rest; raise") {
		t.Error(got)
	}
}

// TestUniqueNames: no result takes the name of another.
func TestUniqueNames(t *testing.T) {
	instances := numeric.Map([]string{"a2.npz", "x/a", "y/a", "", "a", "."},
		func(name string) *crf.Instance { return &crf.Instance{Name: name} })
	names := UniqueNames(instances)
	oracle.Equal(t, len(slices.Compact(slices.Sorted(slices.Values(names)))), len(instances),
		"different names of %q", names)
	if names[0] != "a2" || names[1] != "a" {
		t.Errorf("the names are %q, where the first two are unique", names)
	}
}

// TestColoursOfNames: pictures of predictions have the labels that are names for pixel values, where these suffice.
func TestColoursOfNames(t *testing.T) {
	red, green := color.RGBA{R: 9, A: 255}, color.RGBA{G: 9, A: 255}
	wide := append(make([]color.RGBA, 254), green)
	wide[1] = red
	for name, want := range map[string][]color.RGBA{"2": {{}, red, green}, "0": {green, red}, "-1": nil,
		"254": wide, "256": nil} {
		set := &dataset.Set{Recipe: dataset.Recipe{LabelNames: []int{0}}}
		set.Schema.NodeTypes = []crf.NodeType{{States: []string{"1", name}}}
		oracle.Equal(t, coloursOfNames(set, []color.RGBA{red, green}), want, "state named %s", name)
	}
}
