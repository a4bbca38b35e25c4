package learn

import (
	"github.com/blockbp/blockbp/crf"
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
	b := l.bundles[0]
	*d = parted.Cut{Of: b.units[0].part.Of, Blocks: l.blocks, Together: l.settings.Together, Part: make([]int32, l.blocks)}
	for x := range d.Part {
		d.Part[x] = b.part[x*len(b.units)]
	}
}

// validateParted reports what does not go with the data.
func validateParted(d *parted.Cut, data []*crf.Instance) error {
	switch {
	case d == nil:
		return nil
	case len(data) != 1 || len(d.Of) != data[0].Graph.NumNodes():
		return violated("Problem.Parted has the block of each node of one network")
	case len(d.Part) != d.Blocks:
		return violated("Problem.Parted has the part of each of %d blocks, got %d", d.Blocks, len(d.Part))
	}
	for x, p := range d.Part {
		if p < 0 || p >= mostParts {
			return violated("0 ≤ Problem.Parted.Part[%d] < %d, got %d", x, mostParts, p)
		}
	}
	return nil
}

// dealAs gives the parts of a network that was partitioned to all units.
func (b *bundle) dealAs(d *parted.Cut) {
	for at := range b.part {
		b.part[at] = d.Part[at/len(b.units)]
	}
}

// hold has the features here that this process needs.
func (l *learner) hold() error {
	d := l.problem.cut()
	if d == nil || d.Hold == nil {
		return l.settings.common(nil) // other processes may hold some: of other data, of which they are told later
	}
	from, to := 0, mostParts
	if r, dealt := l.executor.(*ranks); dealt && l.local() {
		for from < mostParts && !r.owns(int32(from)) {
			from++
		}
		for to > from && !r.owns(int32(to-1)) {
			to--
		}
	}
	err := l.settings.common(d.Hold(from, to))
	machine.GiveBack() // what reading them took
	return err
}

// holdAll has all features here.
func (p *Problem) holdAll(s *Settings) error {
	d := p.cut()
	if d == nil || d.Hold == nil {
		return s.common(nil)
	}
	return s.common(d.Hold(0, mostParts))
}

// local reports whether a process needs the features of its own blocks alone: no linear system, saddle or
// matrix of second moments is one of all the network.
func (l *learner) local() bool {
	layout := &l.model.Layout
	if l.network() == nil || l.response != nil || layout.UntiedSize > 0 || l.settings.unlabelled != nil || l.recovering != nil && !l.convex() || layout.Size > mostPartNumbers {
		return false
	}
	for _, span := range allSpans(layout) {
		if span.Features <= maxRotated && span.Features*span.Features > mostPartNumbers {
			return false
		}
	}
	for _, b := range l.bundles {
		if !b.alone() {
			return false
		}
	}
	return true
}
