package hard

import (
	"context"
	"slices"
	"testing"
)

// small are some problems of every kind, few enough for a test. unsolved are those of them
// that learn does not solve: take a number out once it does.
var (
	small    = []int{3, 19, 40, 44, 59, 77, 87, 102, 108, 116, 131, 133, 149, 160, 162, 174, 188, 201, 214, 261, 278, 288, 300, 315, 333, 347, 352, 363, 380, 391, 426, 439, 454, 477}
	unsolved = []int{40}
)

// TestSmallSuite: learn solves problems of all kinds with default settings. Where it does
// not, it claims nothing that is not true and does not end above its start. What it does
// to others is in the output of reproduce steps --suite hard.
func TestSmallSuite(t *testing.T) {
	for _, number := range small {
		p := must(Draw(number))
		trial := must(p.Try(context.Background()))
		trial.seconds = 0 // tests may run on a machine that does other things, or with a race detector
		o := must(p.Judge(context.Background(), trial, p.Solve()))
		known := slices.Contains(unsolved, number)
		switch {
		case o.False != "" || o.Rose || !o.Solved() && !known:
			t.Errorf("problem %d, %v: %q", number, o.Spec, o.Failures)
		case o.Solved() && known:
			t.Logf("problem %d is solved: take it out of unsolved", number)
		}
	}
}
