package learn

// Messages that ascend a dual are carried on from visit to visit (bp.Momentum), by a
// factor that grows from pass to pass as in Nesterov's method, and begins anew where
// sweeps turned back against the velocities (O'Donoghue and Candès 2015): a rule that
// needs no constant of the problem.

// momentum is the state of it, of all messages together.
type momentum struct {
	Passes  int     `json:"passes"`                    // since it began anew
	Factor  float64 `json:"share"`                     // of their velocities by which messages were carried on before this pass
	Product float64 `json:"-" bits:"momentum_product"` // of new and old velocities in this pass so far
	Square  float64 `json:"-" bits:"momentum_square"`  // of the new ones
	Before  float64 `json:"-" bits:"momentum_before"`  // Square of the pass before
}

// largestFactor bounds the part of its velocity that a message is carried on by.
const largestFactor = 0.95

// fastest is how much larger the square of the velocities may become in a pass.
const fastest = 1.5

// quickest is the part of the square of the velocities that must be left after a pass of
// a check for messages to be carried on from then on: those that halve what is left of
// their way in every pass arrive without.
const quickest = 0.25

// endPass decides on the factor of the next pass: 1/4, 2/5, 3/6, … from one to the next,
// or 0 where sweeps turned back, or where messages move much faster than in the pass
// before, as they do where the weights, which move too, follow them. In a check it does
// not begin where they settle quickly.
func (m *momentum) endPass(checking bool) {
	switch {
	case m.Factor*m.Product > m.Square || m.Square > fastest*m.Before:
		m.Passes = 0
	case m.Passes > 0 || !checking || m.Square > quickest*m.Before:
		m.Passes++
	}
	m.Factor = min(largestFactor, float64(m.Passes)/float64(m.Passes+3))
	m.Product, m.Square, m.Before = 0, 0, m.Square
}

// pause is for a pass that begins in the middle of another, some of whose blocks have
// not been visited since they were carried on.
func (m *momentum) pause() { m.Factor, m.Product, m.Square, m.Before = 0, 0, 0, 0 }

// follows reports whether visits find velocities in learning. Full belief propagation
// ends where the messages have settled, and has no use for them outside of checks.
func (l *learner) follows() bool { return l.carries && l.settings.Method != Full }

// carryOn ends a pass and carries all messages on.
func (l *learner) carryOn() error {
	l.progress.Momentum.endPass(l.progress.Check.Active)
	if l.progress.Momentum.Factor == 0 {
		return nil
	}
	for _, t := range l.checkSchedule {
		if _, err := l.visitBlocks(visit{bundle: l.bundles[t.bundle], blocks: t.blocks, carry: true}); err != nil {
			return err
		}
	}
	return nil
}

// carriesMessages decides whether messages are carried on: for a recovering rule, if
// every inference ascends a dual, as others would circle, and each pass visits every block
// once.
func (l *learner) carriesMessages() bool {
	return l.recovering != nil && l.ascends && !l.settings.RandomOrder
}

// prepareMomentum makes room for velocities, where messages are carried on; unitsMemory
// lists it.
func (l *learner) prepareMomentum() {
	if !l.carries {
		return
	}
	for _, u := range l.units {
		u.velocity = u.net.NewVelocity()
	}
}
