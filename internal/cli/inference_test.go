package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/gen"
)

// someInstances are n chains of two nodes, for a model without features.
func someInstances(t *testing.T, n int) (*crf.Model, []*crf.Instance) {
	t.Helper()
	model, err := crf.NewModel(crf.Homogeneous(crf.NumberedStates(2), 1, 1))
	if err != nil {
		t.Fatal(err)
	}
	var instances []*crf.Instance
	for range n {
		chain, err := gen.Chain(2)
		if err != nil {
			t.Fatal(err)
		}
		in, err := crf.NewInstance(&model.Schema, crf.InstanceSpec{Graph: chain, NodeFeat: []crf.Features{crf.Constant(2, 1)}, EdgeFeat: []crf.Features{crf.Constant(1, 1)}})
		if err != nil {
			t.Fatal(err)
		}
		instances = append(instances, in)
	}
	return model, instances
}

// TestPanicOfWorker: a panic in a thread that predicts is reported like one in the
// command itself: exit code 70, and what a developer needs to know.
func TestPanicOfWorker(t *testing.T) {
	t.Parallel()
	model, instances := someInstances(t, 5)
	work := inference{instances: instances, threads: 2, predictor: func() *infer.Predictor {
		return &infer.Predictor{Model: model, Limits: predictLimits, Counting: func(g *graph.Graph) (*counting.Numbers, error) {
			if g == instances[3].Graph {
				panic("a slip")
			}
			return counting.Convex(g), nil
		}}
	}}
	used := 0
	err := work.run(t.Context(), func(int, *infer.Beliefs) error { used++; return nil })
	if used != 3 || !strings.Contains(err.Error(), "instance 3") {
		t.Errorf("%d predictions were used before the error %v, want 3", used, err)
	}
	var stderr bytes.Buffer
	a := &app{ctx: t.Context(), stderr: &stderr}
	if code := a.end(err); code != exitBug {
		t.Errorf("exit code %d, want %d", code, exitBug)
	}
	for _, part := range []string{"internal error: a slip", "inference_test.go", "please report it"} {
		if !strings.Contains(stderr.String(), part) {
			t.Errorf("stderr does not contain %q:\n%s", part, &stderr)
		}
	}
	// And one in the command itself.
	if code := a.end(guard(func() error { panic("another") })); code != exitBug {
		t.Errorf("exit code %d, want %d", code, exitBug)
	}
}

// TestErrorEndsInference: an error of the caller ends the work at once, and the
// threads with it.
func TestErrorEndsInference(t *testing.T) {
	t.Parallel()
	model, instances := someInstances(t, 1000)
	predictions := 0
	work := inference{instances: instances, threads: 1, predictor: func() *infer.Predictor {
		return &infer.Predictor{Model: model, Limits: predictLimits, Counting: func(g *graph.Graph) (*counting.Numbers, error) {
			predictions++ // by one thread alone
			time.Sleep(time.Millisecond)
			return counting.Convex(g), nil
		}}
	}}
	stop := errors.New("stop")
	if err := work.run(t.Context(), func(int, *infer.Beliefs) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("error %v, want %v", err, stop)
	}
	if predictions > len(instances)/2 {
		t.Errorf("%d of %d instances were predicted after the first failed", predictions, len(instances))
	}
}

func TestCounter(t *testing.T) {
	t.Parallel()
	model, instances := someInstances(t, 3)
	work := inference{instances: instances, threads: 1, predictor: func() *infer.Predictor {
		return &infer.Predictor{Model: model, Limits: predictLimits}
	}}
	lines := func(c *counter) string {
		var out bytes.Buffer
		if c != nil {
			c.out = &out
		}
		work.progress = c
		if err := work.run(t.Context(), func(int, *infer.Beliefs) error { return nil }); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got := lines(&counter{label: "predicting"}); !strings.HasPrefix(got, "predicting: 1 of 3 instances\n") {
		t.Errorf("a counter that is due printed %q", got)
	}
	if got := lines(&counter{label: "predicting", next: time.Now().Add(time.Hour)}); got != "" {
		t.Errorf("a counter that is not due printed %q", got)
	}
	if got := lines(newCounter(nil, true, "quiet")); got != "" {
		t.Errorf("a quiet counter printed %q", got)
	}
}
