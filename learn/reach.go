package learn

import (
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/simd"
)

// fewReached is how many times as long as what a unit reaches a contribution is, at least,
// for the unit to go over that alone: one run of a feature's weights takes as long as
// some more of a whole vector.
const fewReached = 4

// reach has, by types, the features that occur in an instance, in order; nil: all of a
// type's. Words of a sentence are few of a vocabulary's: going over the weights of all the
// others would take a hundred times as long as inference.
type reach struct{ node, edge [][]int32 }

// findReach gives units with sparse features their reach, where that is little.
func (l *learner) findReach() {
	known := map[*crf.Instance]*reach{}
	for _, u := range l.units {
		r, ok := known[u.in]
		if !ok {
			r = l.reachOf(u.in)
			known[u.in] = r
		}
		u.reach = r
	}
}

func (l *learner) reachOf(in *crf.Instance) *reach {
	r, length, sparse := &reach{}, l.stride-l.model.Layout.TiedSize, false
	add := func(span *crf.Span, f *crf.Features, c *columns) []int32 {
		if c != nil { // they are in no contribution
			sparse = true
			return []int32{}
		}
		m := f.Data()
		if span.Untied || m.Start == nil {
			if !span.Untied {
				length += span.Len
			}
			return nil
		}
		columns := slices.Clone(m.Column)
		slices.Sort(columns)
		columns = slices.Clip(slices.Compact(columns))
		length += len(columns) * span.States
		sparse = true
		return append(make([]int32, 0, len(columns)), columns...) // not nil
	}
	for t := range l.model.Layout.Node {
		r.node = append(r.node, add(&l.model.Layout.Node[t], in.NodeFeatures(t), l.columns[t]))
	}
	for t := range l.model.Layout.Edge {
		r.edge = append(r.edge, add(&l.model.Layout.Edge[t], in.EdgeFeatures(t), nil))
	}
	if !sparse || length*fewReached > l.stride {
		return nil
	}
	return r
}

// eachRun calls use for every run of tied weights that a unit with this reach touches: of
// node types and then, unless ofNodes, of edge types. at is the place of the first among
// all weights, part that in a contribution.
func (l *learner) eachRun(r *reach, ofNodes bool, use func(at, part, n int)) {
	runs := func(spans []crf.Span, columns [][]int32) {
		for t := range spans {
			switch span := &spans[t]; {
			case span.Untied:
			case columns[t] == nil:
				use(span.At, span.Part, span.Len)
			default:
				for _, j := range columns[t] {
					use(span.At+int(j)*span.States, span.Part+int(j)*span.States, span.States)
				}
			}
		}
	}
	runs(l.model.Layout.Node, r.node)
	if !ofNodes {
		runs(l.model.Layout.Edge, r.edge)
	}
}

// beginTied makes a result's contributions zeros, so many of them, for a unit. Between
// visits all its numbers are zeros but those that the last unit has touched.
func (l *learner) beginTied(s *unitResult, u *unit, contributions int) {
	for left := s.tied[:s.used]; len(left) > 0; left = left[l.stride:] {
		if s.reach == nil {
			clear(left)
			break
		}
		l.eachRun(s.reach, false, func(_, part, n int) { clear(left[part:][:n]) })
		clear(left[l.model.Layout.TiedSize:l.stride])
	}
	s.tied = numeric.Resize(s.tied, contributions*l.stride)
	s.used, s.reach = len(s.tied), u.reach
}

// addTied adds the contributions of a unit to the fresh ones.
func (l *learner) addTied(s *unitResult, u *unit) {
	if u.reach == nil {
		simd.AddScaled(l.fresh[:len(s.tied)], s.tied, u.weight)
		return
	}
	for at := 0; at < len(s.tied); at += l.stride {
		fresh, tied := l.fresh[at:][:l.stride], s.tied[at:][:l.stride]
		l.eachRun(u.reach, false, func(_, part, n int) { simd.AddScaled(fresh[part:][:n], tied[part:][:n], u.weight) })
		rest := l.model.Layout.TiedSize
		simd.AddScaled(fresh[rest:], tied[rest:], u.weight)
	}
}

// reachedProduct is tiedProduct of a unit's contribution.
func (l *learner) reachedProduct(u *unit, contribution []float64, ofNodes bool) (product float64) {
	if u.reach == nil {
		return l.tiedProduct(contribution, ofNodes)
	}
	l.eachRun(u.reach, ofNodes, func(at, part, n int) {
		product += simd.Dot(l.model.Weights[at:][:n], contribution[part:])
	})
	return product
}
