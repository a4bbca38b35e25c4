package learn

// checkpoint saves the state of the last iteration.
func (l *localLearner) checkpoint() error {
	if l.settings.Checkpoint == nil {
		return nil
	}
	state, err := l.state(1, l.identify(), nil, l.arrays(l.best != nil))
	if err != nil {
		return err
	}
	return l.settings.Checkpoint(state)
}

// arrays lists every slice of the state, in a fixed order.
func (l *localLearner) arrays(withBest bool) []array {
	return l.course.arrays(withBest, append(l.curvature.memory(), l.lanczos.scalars), array{"gradient", l.gradient})
}

// restore puts a saved state in the place of the fresh one.
func (l *localLearner) restore(state *State) error {
	in, err := state.parse()
	if err != nil {
		return err
	}
	if err := l.sameRun(in, 1, l.identify()); err != nil {
		return err
	}
	if in.Progress.Iterations < 0 || !(in.Progress.Passes >= 1) {
		return stateErrorf("%d iterations and %v passes: the file is damaged", in.Progress.Iterations, in.Progress.Passes)
	}
	if err := state.fill(l.arrays(in.HasBest)); err != nil {
		return err
	}
	if l.progress, err = in.restored(); err != nil {
		return err
	}
	l.value = l.progress.Objective
	l.progress.Status, l.progress.Reason = "", ""
	return l.possibleMemory()
}

// possibleMemory refuses curvature that no run can have kept.
func (l *localLearner) possibleMemory() error {
	c := l.curvature.scalars
	if pairs, next := c[memoryPairs], c[memoryNext]; !(pairs >= 0 && pairs <= pairsKept && next >= 0 && next < pairsKept) {
		return stateErrorf("%v pairs of curvature, the next in place %v: the file is damaged", pairs, next)
	}
	return nil
}

// identify returns the fingerprint of data and class weights. There are no blocks, and counting
// numbers play no part in learning.
func (l *localLearner) identify() fingerprint {
	if l.fingerprint == (fingerprint{}) {
		l.fingerprint = fingerprint{Data: digestProblem(l.problem), Partition: "none", Counting: "none"}
	}
	return l.fingerprint
}
