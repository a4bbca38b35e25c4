package learn

import (
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/linear"
	"github.com/blockbp/blockbp/internal/machine"
	"github.com/blockbp/blockbp/internal/parted"
)

// cut returns how the network of the problem was cut before; nil: it was not.
func (p *Problem) cut() *parted.Cut {
	if d, _ := p.Parted.(*parted.Cut); d != nil && d.Of != nil {
		return d
	}
	return nil
}

// tellCut fills in an empty cut, where one was given: as a training by BBPL, whose plan this is, cuts and deals
// the one network, so that its result is the same with that.
func (l *learner) tellCut() {
	d, _ := l.problem.Parted.(*parted.Cut)
	if d == nil || d.Of != nil || len(l.problem.Data) != 1 {
		return
	}
	*d = parted.Cut{Of: l.units[0].part.Of, Blocks: l.blocks, Together: l.settings.Together, Part: make([]int32, l.blocks)}
	for x := range d.Part {
		d.Part[x] = l.part[x*len(l.units)]
	}
}

// dealAs gives the parts of a network that was partitioned to all units.
func (j *jobs) dealAs(d *parted.Cut) {
	for at := range j.part {
		j.part[at] = d.Part[at/len(j.units)]
	}
}

// hold has the features of the parts from ≤ part < to here, if there are any to read: other processes may have some.
func (p *Problem) hold(s *Settings, from, to int) error {
	if d := p.cut(); d != nil && d.Hold != nil {
		defer machine.GiveBack() // what reading them takes
		return s.common(d.Hold(from, to))
	}
	return s.common(nil)
}

// hold has the features here that this process needs.
func (l *learner) hold() error {
	from, to := 0, mostParts
	if l.local() {
		from, to = l.executor.parts()
	}
	return l.problem.hold(l.settings, from, to)
}

// local reports whether a process needs the features of its own blocks alone: no linear system, saddle or
// matrix of second moments is one of all the network.
func (l *learner) local() bool {
	layout := &l.model.Layout
	if !l.network() || !l.alone() || layout.UntiedSize > 0 || layout.Size > instances.MostPartNumbers {
		return false
	}
	if l.response != nil || l.settings.unlabelled != nil || l.auto != nil && !l.convex {
		return false
	}
	moments := func(features int) int { return oneIf(features <= linear.MaxRotated) * features * features }
	largest := 0
	for _, span := range allSpans(layout) {
		largest = max(largest, moments(span.Features))
	}
	return largest <= instances.MostPartNumbers
}
