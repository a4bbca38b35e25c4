package job

import (
	"strings"
	"testing"

	"github.com/blockbp/blockbp/learn"
)

// TestResult: what is wrong with a result is named once, with a remedy.
func TestResult(t *testing.T) {
	for _, test := range []struct {
		result learn.Result
		want   string
	}{
		{learn.Result{}, ""},
		{learn.Result{Separable: true}, "the data are separable"},
		{learn.Result{Unsettled: "block 3 of instance x", Residual: 0.5}, "messages in block 3 of instance x still changed by 0.5"},
		{learn.Result{Unsettled: "block 3", Residual: 0.5}, "use counting numbers that are convex"},
		{learn.Result{Unsettled: "block 3", Residual: 0.5, ConvexCounting: true}, "approximate; messages need more passes: {rtol=1e-5}"},
		{learn.Result{Status: learn.PassLimit, Unsettled: "block 3", Residual: 0.5, ConvexCounting: true}, "more passes: raise {max-passes}"},
		{learn.Result{Unsettled: "block 3", Residual: 0.001}, ""},
		{learn.Result{Seeded: []string{"topic", "kind"}}, `some states of node type "topic", "kind" alike, as states that no label has: their weights began at small random numbers of {seed}`},
		{learn.Result{AtStart: true, Status: learn.TimeLimit}, "before its first step, so that the model has the weights that the run began with; go on with a longer {max-time}"},
		{learn.Result{AtStart: true, Status: learn.PassLimit, Iterations: 7, ConvexCounting: true}, "7 iterations, none of which is known to have made the objective smaller, so that the model has the weights that the run began with; go on with more {max-passes}"},
		{learn.Result{AtStart: true, Status: learn.PassLimit, Iterations: 7}, "or use counting numbers that are convex"},
		{learn.Result{AtStart: true, Status: learn.IterationLimit, Iterations: 7}, "go on with a larger {max-iter}"},
		{learn.Result{Damping: 0.3}, "were damped by 0.3"},
	} {
		texts := resultNotes(&test.result)
		if said := strings.Join(texts, "\n"); len(texts) > 1 || !strings.Contains(said, test.want) || test.want == "" && said != "" {
			t.Errorf("%+v: %q, want %q", test.result, texts, test.want)
		}
	}
}
