package learn

import "errors"

// checkpoint saves the state of the last iteration.
func (l *localLearner) checkpoint() error {
	if l.settings.Checkpoint == nil {
		return nil
	}
	state, err := l.state(1, l.identify(), nil, l.steps(), l.arrays())
	if err != nil {
		return err
	}
	return l.settings.Checkpoint(state)
}

// steps returns what makes them goes on from.
func (l *localLearner) steps() any {
	return &struct {
		pairs *quasiNewtonState
		probe *lanczosState
	}{&l.curvature.quasiNewtonState, &l.lanczos.lanczosState}
}

func (l *localLearner) arrays() []array { return []array{{name: "gradient", values: l.gradient}} }

// restore puts a saved state in the place of the fresh one.
func (l *localLearner) restore(state *State) error {
	in, err := state.parse()
	if err != nil {
		return err
	}
	if err := l.sameRun(in, 1, l.identify()); err != nil {
		return err
	}
	if err := l.restoreProgress(in); err != nil {
		return err
	}
	if l.progress.Iterations < 0 || !(l.progress.Passes >= 1) {
		return stateErrorf("%d iterations and %v passes: the file is damaged", l.progress.Iterations, l.progress.Passes)
	}
	if err := l.restoreArrays(in, state, l.steps(), l.arrays()); err != nil {
		return err
	}
	l.value = l.progress.Objective
	l.progress.Status, l.progress.Reason = "", ""
	return errors.Join(l.curvature.possible(), l.lanczos.possible())
}

// identify returns the fingerprint of data and class weights. There are no blocks, and counting
// numbers play no part in learning.
func (l *localLearner) identify() fingerprint {
	if l.fingerprint == (fingerprint{}) {
		l.fingerprint = fingerprint{Data: digestProblem(l.problem), Partition: "none", Counting: "none"}
	}
	return l.fingerprint
}
