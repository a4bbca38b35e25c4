package learn

import "time"

// Sizes says what a run needs, before it is started.
type Sizes struct {
	Instances   int     `json:"instances"`
	Nodes       int     `json:"nodes"`
	Edges       int     `json:"edges"`
	Weights     int     `json:"weights"`
	Blocks      int     `json:"blocks"`
	CutFraction float64 `json:"cut_fraction"` // of the first instance
	StateBytes  int64   `json:"state_bytes"`
	// SecondsPerPass extrapolates one timed visit of the first block, a sweep and
	// its gradient, to the whole network.
	SecondsPerPass float64 `json:"seconds_per_pass"`
}

// Measure sets a run up as Fit does and reports its size. It visits one block, to
// see how long that takes, and changes no weights.
func Measure(p Problem, settings Settings) (*Sizes, error) {
	s := settings.Resolved()
	if err := s.validateResolved(&p); err != nil {
		return nil, err
	}
	if s.Method.Local() {
		return measureLocal(&p, &s)
	}
	l, err := newLearner(&p, &s)
	if err != nil {
		return nil, err
	}
	defer l.pool.close()
	sizes := l.sizes(l.blocks, l.stateBytes())
	sizes.CutFraction = l.bundles[0].units[0].part.Quality().CutFraction
	started := time.Now()
	limits := l.innerLimits()
	limits.MaxSweeps = 1
	if _, err := l.visitBlocks(visit{bundle: l.bundles[0], blocks: l.schedule[0].blocks, limits: limits, contribute: true}); err != nil {
		return nil, err
	}
	if l.progress.Passes > 0 {
		sizes.SecondsPerPass = time.Since(started).Seconds() / l.progress.Passes
	}
	return sizes, nil
}
