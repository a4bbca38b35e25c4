package job

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/spill"
	"github.com/blockbp/blockbp/internal/standardise"
)

// The values of Options.Scale: each feature of nodes has the deviation 1, or all have one divisor, with which the
// root mean square of their deviations is the number behind scaleOne.
const (
	scaleAuto = "auto"
	scaleEach = "each"
	scaleOne  = "one:"
)

// A scale is chosen by at most mostScaling labels times features times states, as folds of more would take seconds, and
// by at most labelsPerFeature: with more of them the prior, and so the scale, hardly matters.
const mostScaling, labelsPerFeature = 1 << 21, 64

// leastGain is the share of the log loss that another scale has to gain: less is felt by no prediction, however sure
// folds are of it.
const leastGain = 0.01

// onScale is the change of scale that Options.Scale names, made of the one with which each deviation is 1.
func onScale(each *standardise.Map, scale string) (*standardise.Map, error) {
	text, one := strings.CutPrefix(scale, scaleOne)
	if !one && (scale == scaleAuto || scale == scaleEach) {
		return each, nil
	}
	size, err := strconv.ParseFloat(text, 64)
	if !one || err != nil || !(size > 1e-100 && size < 1e100) {
		return nil, usagef("{scale} %q: want auto, each, or one:D with a deviation D, such as one:0.5", scale)
	}
	if each == nil {
		return nil, nil
	}
	return each.Together(size), nil
}

// scaleOf decides on the scale of features, and notes what was chosen.
func (p *Prepared) scaleOf(ctx context.Context, each *standardise.Map) (*standardise.Map, error) {
	if p.Options.Scale == scaleAuto {
		p.Options.Scale = scaleEach
		made, err := p.compareScales(ctx, each)
		if err != nil {
			return nil, err
		}
		if made != nil && made.Chosen.Scale != scaleEach {
			p.Options.Scale, p.said = made.Chosen.Scale, append(p.said, made.note())
		}
	}
	return onScale(each, p.Options.Scale)
}

// divideOn makes the folds of instances on a scale, as Options.Scale names it.
func (c *selection) divideOn(ctx context.Context, raw []*crf.Instance, each *standardise.Map, name string) error {
	scale, err := onScale(each, name)
	if err != nil {
		return err
	}
	scaled, err := onto(ctx, scale, raw, nil)
	if err != nil {
		return err
	}
	return c.divide(raw, scaled, scale)
}

// onto puts instances on a scale, if there is one, in a space, if there is one, and leaves them as they are.
func onto(ctx context.Context, scale *standardise.Map, raw []*crf.Instance, space *spill.Space) (
	scaled []*crf.Instance, err error) {
	scaled = slices.Clone(raw)
	for i, in := range raw {
		if scale == nil {
			break
		}
		if err = parallel.Ended(ctx); err == nil && space != nil {
			err = space.Reserve(scale.Room(in))
		}
		if err != nil {
			return nil, err
		}
		if scaled[i], err = scale.Instance(in, space); err != nil {
			return nil, fmt.Errorf("instance %d (%s): %w", i, in.Name, err)
		}
	}
	return scaled, nil
}

// compareScales predicts labels that are held out by node features alone, with each scale; nil: labels are too few,
// or so many that it does not matter. Where labels of a network are hidden, folds choose a prior: to choose twice is
// worse, and what they name has to give the same model.
func (p *Prepared) compareScales(ctx context.Context, each *standardise.Map) (*Choice, error) {
	o := p.Options
	if each == nil || p.knownShare() <= mostKnown || o.givesL2() || p.Initial != nil || o.Physics != "" ||
		each.Changed() < 2 || !p.suitScales() {
		return nil, nil
	}
	alone := slices.DeleteFunc(withoutEdges(p.Set.Instances),
		func(in *crf.Instance) bool { return len(in.Samples()) == 0 })
	c := p.newSelection(Watch{})
	var tried []*trial
	for _, scale := range []string{scaleEach, scaleOne + "1", scaleOne + "0.5"} {
		if err := c.divideOn(ctx, alone, each, scale); err != nil || len(c.folds) == 0 || c.late() {
			return nil, err // there is nothing to compare by, or no time
		}
		t, err := c.try(ctx, Candidate{Scale: scale, Edges: noEdges})
		if err != nil {
			return nil, err
		}
		if len(tried) == 0 || t.score() <= tried[0].score()*(1-leastGain) {
			tried = append(tried, t)
		}
	}
	slices.SortStableFunc(tried[1:], func(a, b *trial) int { return cmp.Compare(a.score(), b.score()) })
	return c.decide(tried), nil
}

// suitScales reports whether features of nodes are dense, and their labels neither too few nor too many, to choose a
// scale by.
func (p *Prepared) suitScales() bool {
	labels, size, features := 0, 0, 0
	for a, t := range p.Problem.Model.Schema.NodeTypes {
		for _, in := range p.Problem.Data {
			f := in.NodeFeatures(a)
			if t.Copies > 0 || f.Data().Start != nil {
				return false
			}
			labels, features = labels+f.Rows(), max(features, f.Dim())
			size += f.Rows() * f.Dim() * len(t.States)
		}
	}
	return labels >= 2*leastLabels && size <= mostScaling && labels <= labelsPerFeature*features
}
