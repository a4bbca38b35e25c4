package learn

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/lbfgs"
)

// A small gradient is no minimum where the objective is not convex. So before a stationary
// point is claimed, the smallest curvature there is estimated (lbfgs.Lanczos). From a saddle the
// weights leave along it, to the side where the objective is lower, and learning goes on.

// randomStatistics returns M (w(y) − w(y')) of labels y and y', random where they are hidden
// or, without hidden ones, everywhere: a direction of the range and scale of gradients, in
// which states that are alike come apart.
func randomStatistics(m *crf.Model, data []*crf.Instance) []float64 {
	rng := rand.New(rand.NewPCG(1, 0x6c616e637a6f73)) // of no seed: it decides little
	hidden, sum := instances.AnyHidden(data), make([]float64, m.Layout.Size)
	var adjoint ground.Adjoint
	for _, in := range data {
		for _, sample := range in.Samples() {
			for _, sign := range []float64{1, -1} {
				labels := slices.Clone(sample)
				for s, y := range sample {
					t := &m.Schema.NodeTypes[in.NodeType(int32(s))]
					for again := y == crf.Unobserved || !hidden; again; again = slices.Contains(t.Forbidden, int(labels[s])) {
						labels[s] = int32(rng.IntN(len(t.States)))
					}
				}
				adjoint.AddStatistics(sum, m, in, labels, sign*in.Weight())
			}
		}
	}
	for b, t := range m.Schema.EdgeTypes {
		_, states := m.Schema.EdgeStates(b)
		span := &m.Layout.Edge[b]
		for _, pair := range t.Forbidden {
			for i := pair[0]*states + pair[1]; i < span.Len; i += span.States {
				sum[span.At+i] = 0
			}
		}
	}
	m.Layout.Symmetrise(sum)
	return sum
}

// probe begins to look for a saddle where convergence is about to be claimed, if there can
// be one. It reports whether it did.
func (l *learner) probe() bool {
	const least = (lbfgs.Products + 1) * 2 * wholeSweeps // of the passes that it takes
	if l.lanczos == nil || l.convex || !l.lanczos.Due(l.progress.Upper) || l.progress.Passes+least > l.settings.MaxPasses {
		return false
	}
	z := l.auto.saddles()
	if z == nil {
		return false
	}
	z.Begin(l.model.Weights, l.gradient, l.apart, l.progress.Upper, lbfgs.ProductStep*math.Sqrt(l.variables))
	l.probeNext()
	return true
}

// probeNext infers at the next point.
func (l *learner) probeNext() {
	l.lanczos.Point(l.model.Weights)
	l.startCheck(checkCurvature)
	l.progress.Watched = false
}

// endProbe leaves the saddle that was found, or goes back, to make the claim.
func (l *learner) endProbe(leaves bool) {
	z := l.lanczos
	if leaves {
		z.Point(l.model.Weights)
		l.auto.restart(l.model.Weights, z.Theta(), z.Value())
		l.progress.SmallPromises, l.progress.Promised = 0, 0
	} else {
		copy(l.model.Weights, z.Theta())
		l.startCheck(checkConvergence)
		l.progress.Check.Again = true
		z.Stay()
	}
	l.progress.Watched = false
}

// endProbeEarly goes back to where the curvature was to be measured, if it was.
func (l *learner) endProbeEarly() {
	if c := &l.progress.Check; c.Active && c.Purpose == checkCurvature {
		copy(l.model.Weights, l.lanczos.Theta())
	}
}
