package learn

import (
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/gen"
)

// TestCirclingMessages: tree-reweighted messages through hubs with strong potentials
// circle for ever unless they are damped. Visits of one sweep have to notice.
func TestCirclingMessages(t *testing.T) {
	p := shape{
		graph: must(gen.BarabasiAlbert(60, 2, source(4))), samples: 3, l2: 0.02,
		schema: crf.Homogeneous(crf.NumberedStates(6), 8, 8),
	}.build(t, 4).with("trw")
	if r := fit(t, p, Settings{MaxPasses: 4000}); r.Status != Converged {
		t.Errorf("%s, gradient norm %v of %v", r.Reason, r.GradientNorm, r.FirstGradientNorm)
	}
}
