package job

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/standardise"
	"github.com/blockbp/blockbp/learn"
)

// The values of Options.Scale: each feature of nodes has the deviation 1, or all have one divisor, with which the
// root mean square of their deviations is the number behind scaleOne.
const (
	scaleAuto = "auto"
	scaleEach = "each"
	scaleOne  = "one:"
)

// mostScaling bounds labels times features times states by which a scale is chosen: with more of them the prior,
// and so the scale, hardly matters, and folds would take seconds.
const mostScaling = 1 << 18

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
			p.Options.Scale, p.scaled = made.Chosen.Scale, made.note()
		}
	}
	return onScale(each, p.Options.Scale)
}

// compareScales predicts labels that are held out by node features alone, with each scale; nil: labels are too few,
// or so many that it does not matter. Where labels of a network are hidden, folds choose a prior: to choose twice is
// worse, and what they name has to give the same model.
func (p *Prepared) compareScales(ctx context.Context, each *standardise.Map) (*Choice, error) {
	o := &p.Options
	if each == nil || p.knownShare() <= mostKnown || o.givesL2() || p.Initial != nil ||
		o.Physics != "" || each.Changed() < 2 {
		return nil, nil
	}
	in, of, err := p.labelledNodes()
	if in == nil || err != nil {
		return nil, err
	}
	problem := learn.Problem{Model: p.Problem.Model, Data: []*crf.Instance{in}}
	ctx = context.WithoutCancel(ctx) // it takes seconds, and a run that is interrupted has a folder to go on in
	if o.MaxTime > 0 {
		share, stop := context.WithTimeout(ctx, time.Duration(choiceShare*float64(o.MaxTime)))
		defer stop()
		ctx = share
	}
	c := &selection{p: &Prepared{Options: *o, Problem: problem}, data: map[place]*hopped{}, started: time.Now(),
		known: knownLabels(in)}
	parts := dealLabels(in, o.Seed)
	if last := of[len(of)-1]; last >= 2*mostFolds-1 { // folds of instances
		parts = make([][]int32, mostFolds)
		for s, i := range of {
			parts[i%mostFolds] = append(parts[i%mostFolds], int32(s))
		}
	}
	c.divideBy(in, parts)
	var tried []*trial
	for _, scale := range []string{scaleEach, scaleOne + "1", scaleOne + "0.5"} {
		on, err := onScale(each, scale)
		if err != nil {
			return nil, err
		}
		scaled, err := on.Instance(in, nil)
		if err != nil {
			return nil, err
		}
		c.data[place{scale: scale}] = &hopped{schema: p.Problem.Model.Schema, in: scaled, fitted: map[float64][]*crf.Model{}}
		t, err := c.try(ctx, Candidate{Scale: scale, Edges: noEdges})
		switch {
		case ctx.Err() != nil: // there is no time to find out
			return nil, nil
		case err != nil:
			return nil, err
		}
		tried = append(tried, t)
	}
	usual, others := tried[0].score(), tried[1:]
	slices.SortStableFunc(others, func(a, b *trial) int { return cmp.Compare(a.score(), b.score()) })
	others = slices.DeleteFunc(others, func(t *trial) bool { return !(t.score() <= (1-leastGain)*usual) })
	return c.decide(append(tried[:1], others...)), nil
}

// labelledNodes are the labelled nodes of the first sample of all instances, without edges, and the number of the
// instance that each is of; nil: they are not dense, too few or too many.
func (p *Prepared) labelledNodes() (*crf.Instance, []int, error) {
	schema := &p.Problem.Model.Schema
	if slices.ContainsFunc(schema.NodeTypes, func(t crf.NodeType) bool { return t.Copies > 0 }) {
		return nil, nil, nil
	}
	rows, size, of := make([][]float64, len(schema.NodeTypes)), 0, []int(nil)
	spec := crf.InstanceSpec{Labels: [][]int32{nil}}
	instance := 0
	for _, in := range p.Problem.Data {
		if len(in.Samples()) == 0 {
			continue
		}
		before := len(of)
		for s, y := range in.Samples()[0] {
			a := in.NodeType(int32(s))
			f := in.NodeFeatures(a)
			if y == crf.Unobserved {
				continue
			}
			if size += f.Dim() * schema.NodeStates(a); f.Data().Start != nil || size > mostScaling {
				return nil, nil, nil
			}
			at := len(rows[a])
			rows[a] = slices.Grow(rows[a], f.Dim())[:at+f.Dim()]
			f.Row(rows[a][at:], in.NodeRow(int32(s)))
			spec.NodeType, spec.Labels[0], of = append(spec.NodeType, int32(a)), append(spec.Labels[0], y), append(of, instance)
		}
		if len(of) > before {
			instance++
		}
	}
	if len(of) < 2*leastLabels {
		return nil, nil, nil
	}
	for a, t := range schema.NodeTypes {
		f, err := crf.Dense(rows[a], t.Features)
		if err != nil {
			return nil, nil, fmt.Errorf("scale of node features: %w", err)
		}
		spec.NodeFeat = append(spec.NodeFeat, f)
	}
	for _, t := range schema.EdgeTypes {
		spec.EdgeFeat = append(spec.EdgeFeat, crf.Constant(0, t.Features))
	}
	var err error
	if spec.Graph, err = graph.FromEdges(len(of), nil, nil); err != nil {
		return nil, nil, err
	}
	in, err := crf.NewInstance(schema, spec)
	return in, of, err
}
