package learn

import (
	"math"

	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/linear"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/simd"
)

// Messages may crawl, such as those of strongly coupled pictures. So whole passes have momentum, as sweeps of
// predictions do (bp/momentum.go): each begins with messages and beliefs moved on in the direction in which they have
// come since the pass before began. F is convex in weights and messages together, so that momentum goes on where
// weights move; where messages go back, or F rises at the same weights, it begins anew. Where some c_s is negative
// there is none: messages circle in directions that F hardly feels. Small problems solve for messages instead.

// passMomentum bounds β while messages lag. Later what is left goes round loops, changes no belief, and falls as 1/t in
// t passes, or as 1/t² with a growing β. overRelaxed is the damping of passes with momentum, though not of visits with
// a step, as messages may circle with it (results/README.md).
const passMomentum, overRelaxed = 0.7, -0.3

// Where sweeps need not lower a dual value messages may circle for ever, and a visit of few sweeps does not notice.
// Weights that move also move messages, but not by a large residual in pass after pass. While weights stay, messages
// alone are the cause of a residual that does not fall. They are damped from then on, unless F falls.

// circling is what damp has seen, from pass to pass, of messages that may circle.
type circling struct {
	Passes   int     // since the residual was smallest
	Smallest float64 // 0: none yet
}

// mostWhileMoving bounds the damping of messages while weights move: more is for messages that circle while they stay.
const mostWhileMoving = 0.5

// messages are what a run does to its messages beside plain sweeps. It keeps copies, to go back to where a step is
// refused and to go on from with momentum; it damps messages that circle, and solves for them in small problems.
type messages struct {
	*inference
	response *linear.Response // nil: the problem is too large for it
	auto     *auto            // steps that go back to messages; nil: they are not automatic
}

// usesResponse reports a problem so small that there is time to solve the linear system that says how messages change
// with the weights (linear.Response).
func (m *messages) usesResponse() bool { return m.response != nil }

// keepsCopies reports whether whole passes remember messages: not where these are solved for, and not on forests.
func (m *messages) keepsCopies() bool { return !m.holds.forests && !m.usesResponse() }

// hasMomentum reports whether whole passes have momentum.
func (m *messages) hasMomentum() bool { return m.keepsCopies() && m.holds.monotone }

// beginPass gives momentum to a whole pass: messages and beliefs go on in the direction in which they have come since
// the pass before began.
func (m *messages) beginPass() {
	p := &m.progress
	final := p.Check.Active && p.Check.Purpose == checkFinal
	if !m.hasMomentum() || final && p.Check.Passes == 0 && p.Pass.Momentum == 0 { // often no other pass needs the copy
		return
	}
	still := m.auto.passesHere() > 1 || p.Check.Active && p.Check.Passes > 1
	if still && p.Upper > p.Pass.StartUpper+valueRounding*(1+math.Abs(p.Pass.StartUpper)) {
		p.Pass.Momentum = 0
	}
	p.Pass.StartUpper = p.Upper
	m.makeRoom()
	beta := bp.Momentum(p.Pass.Momentum + 1)
	if !(p.Pass.Residual <= lagging) {
		beta = min(passMomentum, beta)
	}
	p.Pass.Momentum++
	m.ranks.pieces(func(u *unit, at piece) {
		x, before := at.of(u.state.LogMessage, u.state.LogBelief), at.of(u.passStart.halves(u))
		if p.Pass.Momentum == 1 {
			copy(before, x)
			return
		}
		simd.Extrapolate(x, before, beta)
	})
}

// messageCopy has the messages of a unit, and after them its beliefs, as they were.
type messageCopy []float64

func (c messageCopy) halves(u *unit) (messages, beliefs []float64) {
	return c[:u.net.Messages()], c[u.net.Messages():]
}

// makeRoom takes the memory of the copies: of the beginning of the pass before, and of save.
func (m *messages) makeRoom() {
	if !m.keepsCopies() || m.units[0].passStart != nil || m.units[0].acceptedState != nil {
		return
	}
	for _, u := range m.units {
		if m.hasMomentum() {
			u.passStart = u.newCopy(m.spilled.space)
		}
		if m.auto != nil {
			u.acceptedState = u.newCopy(m.spilled.space)
		}
	}
}

// leftAccepted reports that the messages at hand are no longer those which restore goes back to: a pass has
// begun since, or has left open whether F has fallen.
func (m *messages) leftAccepted() bool {
	p := &m.progress
	return !p.Check.Active && (p.Pass.Next > 0 || m.auto.passesHere() > 0)
}

// save copies messages and beliefs for restore, which goes back to them. Both do nothing where linear response moves
// messages along a line, and on forests, where every visit finds them anew.
func (m *messages) save() {
	if !m.keepsCopies() {
		return
	}
	m.makeRoom()
	m.ranks.pieces(func(u *unit, at piece) {
		copy(at.of(u.acceptedState.halves(u)), at.of(u.state.LogMessage, u.state.LogBelief))
	})
}

// restore goes back to the messages and beliefs of the accepted weights.
func (m *messages) restore() {
	if !m.keepsCopies() {
		return
	}
	m.progress.Pass.Momentum = 0
	m.ranks.pieces(func(u *unit, at piece) {
		copy(at.of(u.state.LogMessage, u.state.LogBelief), at.of(u.acceptedState.halves(u)))
	})
}

// reset goes back to those of a run that begins.
func (m *messages) reset() {
	m.progress.Pass.Momentum = 0
	for _, u := range m.units {
		u.state.Reset(u.net)
	}
}

// copiesKept is how many copies makeRoom makes.
func (m *messages) copiesKept() int {
	return numeric.OneIf(m.auto != nil && m.keepsCopies()) + numeric.OneIf(m.hasMomentum())
}

// damp is told of every pass, and whether weights stay after it. It damps sweeps whose messages circle: their residual
// has not fallen for fewPasses. Where F, a bound, falls they do not circle: those through hubs take many sweeps to
// settle, and damping would make that more.
func (m *messages) damp(weightsStay bool) {
	if m.holds.monotone {
		return
	}
	s, residual := &m.progress.Circling, m.progress.Pass.Residual
	falls := m.holds.bounded && m.auto.descends() && !m.progress.Check.Active && m.auto.descent.fell > 0
	switch moving := falls || !weightsStay && (residual < lagging || m.holds.certified); {
	case s.Smallest == 0 || residual < s.Smallest || moving:
		s.Smallest, s.Passes = residual, 0
	case s.Passes+1 < fewPasses:
		s.Passes++
	default:
		if weightsStay || m.progress.MessageDamping < mostWhileMoving {
			m.progress.MessageDamping = bp.MoreDamping(m.progress.MessageDamping)
		}
		*s = circling{}
	}
}

// settle brings messages to where they settle, where they are solved for.
func (m *messages) settle() {
	if m.usesResponse() {
		m.response.Tangents(nil, 0)
	}
}

// innerLimits are those of a visit with a step (iterate).
func (m *messages) innerLimits() bp.Limits {
	limits := bp.Limits{
		Tolerance: m.settings.InnerTolerance, MaxSweeps: m.settings.InnerSweeps, Damping: m.progress.MessageDamping,
		NoProx: m.usesResponse(), Outward: true,
	}
	if m.settings.Method == InnerDual {
		limits.MaxSweeps = 1
	}
	limits.Turns = m.holds.forests && limits.MaxSweeps >= exactSweeps
	return limits
}

// wholeLimits are those of a visit in a whole pass.
func (m *messages) wholeLimits() bp.Limits {
	if m.holds.forests {
		return bp.Limits{MaxSweeps: exactSweeps, Turns: true}
	}
	damping := m.progress.MessageDamping
	if m.hasMomentum() && !m.progress.Check.Uncoupled {
		damping = overRelaxed
	}
	noProx := m.usesResponse() || m.progress.Check.Uncoupled
	return bp.Limits{MaxSweeps: wholeSweeps, Damping: damping, NoProx: noProx}
}

// remainder returns the share of an edge's mass that may be spread anywhere when its belief is made consistent: in a
// whole pass of a large network that is to lead to a step, and in a check while messages lag. Other passes leave
// nothing but rounding, and so do those with forbidden states, to which mass would be spread, too.
func (m *messages) remainder() float64 {
	p := &m.progress
	switch {
	case m.model.Layout.Masked:
		return 0
	case p.Check.Active && !(p.Pass.Residual <= lagging):
		return remainderShare
	case p.Check.Active, !m.keepsCopies(), !m.holds.monotone && !m.holds.certified:
		return 0
	}
	share := min(p.GradientNorm/m.sums.magnitude, p.ofObjective(m.settings.Gap)/m.links)
	if !(share <= 1) {
		return remainderShare
	}
	return remainderShare * share
}

// denseProblem is what the Hessian of all weights together is computed for.
func (m *messages) denseProblem(squares [][]float64) linear.DenseProblem {
	nodes, _ := instances.Size(m.problem.Data)
	return linear.DenseProblem{
		Model: m.model, L2: m.problem.L2, Data: m.sums.data, Convex: m.holds.convex, Each: m.each, Nodes: nodes,
		PerPass: m.schedule.perPass(), PassWork: m.passWork(), Response: m.response, Squares: squares, Sample: m.newSample,
		In: m.units[0].in,
	}
}
