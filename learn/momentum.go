package learn

import (
	"fmt"
	"math"

	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/simd"
	"github.com/blockbp/blockbp/internal/spill"
)

// Whole passes over messages that crawl, such as those of strongly coupled pictures, begin with
// momentum, as sweeps of predictions do (package bp): from where the pass before began, messages
// and beliefs go on. F is convex in weights and messages together, so momentum goes on where
// weights move; where F rises it begins anew. Small problems solve for messages (response) instead.

const (
	// momentumFrom is the pass from which on it is kept where passes began. The final checks of
	// short runs are over before, and take no memory for it.
	momentumFrom = fewPasses + 1
	// passMomentum bounds β, and overRelaxed is the damping of over-relaxed sweeps: of β at most 0.7 to
	// 0.9 and 0 to 0.3 the best on example pictures (results/2026-11-momentum-in-learning.md). Visits of
	// Algorithm 2 are over-relaxed, too: they end at the same beliefs after fewer sweeps, and where they
	// are cut off after two they leave less (results/2026-11-printed.md).
	passMomentum, overRelaxed = 0.85, -0.3
)

// gathers reports whether whole passes gather momentum.
func (l *learner) gathers() bool {
	return l.ascends && !l.exact && l.response == nil
}

// beginWholePass moves messages and beliefs on from where the pass before began.
func (l *learner) beginWholePass() {
	p := &l.progress
	if !l.gathers() {
		return
	}
	if p.Momentum++; p.Momentum < momentumFrom {
		return
	}
	if p.Upper > p.Before+meritRounding*(1+math.Abs(p.Before)) {
		p.Momentum = momentumFrom
	}
	p.Before = p.Upper
	if l.units[0].before == nil {
		l.keepBefore()
	}
	beta := min(passMomentum, bp.Momentum(p.Momentum-momentumFrom))
	l.executor.pieces(func(u *unit, at piece) {
		x, before := at.of(u.state.LogMessage, u.state.LogBelief), at.of(u.beforeMessages(), u.beforeBeliefs())
		if p.Momentum == momentumFrom {
			copy(before, x)
			return
		}
		simd.Extrapolate(x, before, beta)
	})
}

// beforeMessages and beforeBeliefs are the two parts of before.
func (u *unit) beforeMessages() []float64 { return u.before[:u.net.Messages()] }
func (u *unit) beforeBeliefs() []float64  { return u.before[u.net.Messages():] }

// keepBefore makes the memory of messages and beliefs at the beginning of the pass before.
func (l *learner) keepBefore() {
	for _, u := range l.units {
		u.before = spill.Zeros[float64](l.space, u.net.Messages()+u.net.Beliefs())
	}
}

// momentumArrays lists what of it a run goes on from.
func (l *learner) momentumArrays() (a []array) {
	if l.progress.Momentum < momentumFrom {
		return nil
	}
	if l.units[0].before == nil {
		l.keepBefore()
	}
	for i, u := range l.units {
		a = append(a, array{name: fmt.Sprintf("unit.%d.before", i), values: u.before})
	}
	return a
}

// momentumMemory lists what keepBefore takes.
func (l *learner) momentumMemory(m *Memory) {
	if !l.gathers() {
		return
	}
	bytes := 0.0
	for _, u := range l.units {
		bytes += doubleBytes * float64(u.net.Messages()+u.net.Beliefs())
	}
	l.addKept(m, "momentum of messages", bytes, true, "messages and beliefs once more, after %d passes at the same weights", momentumFrom)
}
