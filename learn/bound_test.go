package learn

import (
	"math"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestBoundIsFlat: where labels are missing F is no bound, but its error is as the square of
// what messages lack, in the dual values of the free and of the clamped units alike.
func TestBoundIsFlat(t *testing.T) {
	for _, states := range []int{2, 3} {
		p := randomProblem(t, 1, problemOptions{rows: 6, cols: 6, states: states, nodeDim: 2, edgeDim: 1, samples: 2, missing: 0.3, l2: 0.01})
		rng := source(7)
		for i := range p.Model.Weights {
			p.Model.Weights[i] = rng.NormFloat64()
		}
		l := blockLearner(t, &p)
		pass := func() float64 {
			for i := range l.schedule.wholePass {
				set := l.schedule.wholePass[i]
				v := visit{kind: consistentVisit, blocks: set, limits: l.messages.wholeLimits()}
				oracle.Must(l.visitBlocks(v))(t)
			}
			oracle.OK(t, l.endWholePass())
			return l.progress.Upper
		}
		var exact float64
		for range 300 {
			exact = pass()
		}
		e := must(NewEvaluator(p, 1))
		defer e.Close()
		nearly(t, settled(t, e, p.Model.Weights).Objective, exact, 1e-10, "F of %d states", states)
		var settledMessages [][]float64
		for _, u := range l.units {
			settledMessages = append(settledMessages, append([]float64(nil), u.state.LogMessage...))
		}
		errorAt := func(size float64) float64 {
			rng := source(9)
			for i, u := range l.units {
				for j, x := range settledMessages[i] {
					u.state.LogMessage[j] = x + size*rng.NormFloat64()
				}
			}
			return math.Abs(pass() - exact)
		}
		if far, near := errorAt(1e-2), errorAt(1e-3); !(near <= 0.02*far) {
			t.Errorf("%d states: errors %.3g and %.3g of messages ten times as far: not as their square", states, near, far)
		}
	}
}
