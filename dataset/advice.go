package dataset

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/formats"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
)

// advise warns of what a model cannot learn from the data that were read: a direction that is not asked for, edges
// where there are none, hidden labels, and states that no label has.
func (l *loader) advise() {
	l.noteDirection()
	// Sentences of one token and pictures of one pixel are what they are.
	joined := slices.ContainsFunc(l.set.Instances, func(in *crf.Instance) bool { return in.Graph.NumEdges() > 0 })
	if kind := l.set.Recipe.Kind; !joined && (kind == kindGraph || kind == kindNPZ) {
		l.warn("{note=no-edges}there are no edges: the model predicts every node from its features alone")
	}
	l.suggestSuperpixels()
	if l.o.Statistics { // whose labels stand for means
		return
	}
	types := l.set.Schema.NodeTypes
	counts := numeric.Map(types, func(t crf.NodeType) []int { return make([]int, len(t.States)) }) // [type][state]
	hidden, all := 0, 0
	for _, in := range l.set.Instances {
		for _, labels := range in.Samples() {
			all += len(labels)
			for s, y := range labels {
				if y == crf.Unobserved {
					hidden++
				} else {
					counts[in.NodeType(int32(s))][y]++
				}
			}
		}
	}
	if hidden > 0 {
		l.warn("{note=hidden}%d of %d labels are hidden (%s)", hidden, all, option.Text(l.howHidden()))
	}
	var never []string
	for a, t := range types {
		forbidden, some := numeric.SetOf(t.Forbidden), slices.Max(counts[a]) > 0
		for x, n := range counts[a] {
			if n == 0 && !forbidden[x] && some { // of nodes without any label nothing is asked
				never = append(never, fmt.Sprintf("state %q of node type %q", t.States[x], t.Name))
			}
		}
	}
	if len(never) > 0 {
		verb := map[bool]string{true: "occurs", false: "occur"}[len(never) == 1]
		l.warn("%s never %s among the labels: %s", option.FirstFew(never), verb, avoided)
	}
}

// compareScales keeps the range of every feature of nodes, where none is sparse, for the model. Of data for a model it
// tells where one is far larger, or even farther smaller, or has most of its numbers outside, or where most features
// are far smaller, as in other units; of data to learn from, where a number such as -9999 seems to say that none is
// known, which tables tell of themselves.
func (l *loader) compareScales() {
	const few, far, farther = 20, 20, 900 // of few nodes all may have small numbers; others are factors
	r, types := &l.set.Recipe, l.set.Schema.NodeTypes
	learned := l.o.Recipe == nil && r.Sheets == nil
	for a, t := range types {
		seen, next, least, most, outside, nodes := l.look(a)
		if l.o.Recipe == nil && nodes > 0 {
			r.Scales = append(r.Scales, seen)
			enough := t.Features * min(1, nodes/few)
			r.Least, r.Most = append(r.Least, least[:enough]), append(r.Most, most[:enough])
		}
		if len(r.Scales) <= a || l.o.Recipe != nil && len(r.Scales) != len(types) || len(r.Scales[a]) != t.Features {
			continue
		}
		odd, small, apart, others, names := -1, -1, -1, 0, slices.Concat(t.FeatureNames, crf.NumberedStates(t.Features))
		for j, was := range r.Scales[a] {
			if text := fmt.Sprint(was); learned && next[j] > 0 && was > max(9, 2*next[j]) && formats.Nines.MatchString(text) &&
				(least[j] == -was || was > 999 && text[0] == '9') { // 99 and 32768 may be a count and a bit
				l.warn("feature %q of nodes has the magnitude %s, far from its other numbers: if it means that none is known, "+
					"write their mean there, and beside it a feature that is 1 where none is known", names[j], text)
				learned = false // once is enough
			}
			if is := seen[j]; was > 0 && is > far*was || is > 0 && farther*is < was && nodes > few {
				odd = j
			} else if 2*outside[j] > max(nodes, few) {
				apart = j
			} else if is > 0 && far*is < was && nodes > few {
				small, others = j, others-1
			} else if is > 0 { // as a bias is
				others++
			}
		}
		if odd >= 0 || small >= 0 && others <= 0 {
			odd = max(odd, small)
			l.warn("feature %q of nodes is %.6g at most, and %.6g in what the model learned from: has it the same unit?",
				names[odd], seen[odd], r.Scales[a][odd])
		} else if apart >= 0 {
			l.warn("feature %q of nodes is outside of %.6g to %.6g, where the model has learned, in most nodes, by more "+
				"than half of that range: has it the same unit, or are these other places or times?",
				names[apart], r.Least[a][apart], r.Most[a][apart])
		}
	}
}

// look finds for every feature of a type of nodes its two largest magnitudes, its smallest and its largest number, and
// how many of its numbers are outside the usual range. It counts the nodes that it looks at, a part of large instances.
func (l *loader) look(a int) (seen, next, least, most []float64, outside []int, nodes int) {
	const looked = 1 << 12
	t := &l.set.Schema.NodeTypes[a]
	row := make([]float64, t.Features)
	seen, next, outside = slices.Clone(row), slices.Clone(row), make([]int, t.Features)
	least, most = slices.Repeat([]float64{math.Inf(1)}, t.Features), slices.Repeat([]float64{math.Inf(-1)}, t.Features)
	low, high := l.set.Recipe.usual(a, t.Features)
	for _, in := range l.set.Instances {
		f := in.NodeFeatures(a)
		read := f.Reader()
		for s := 0; s < f.Rows() && f.Data().Start == nil && t.Copies == 0; s += 1 + f.Rows()/looked {
			read(row, s)
			for j, x := range row {
				if x < low[j] || x > high[j] {
					outside[j]++
				}
				least[j], most[j] = min(least[j], x), max(most[j], x)
				if x = math.Abs(x); x != seen[j] {
					seen[j], next[j] = max(x, seen[j]), max(next[j], min(x, seen[j]))
				}
			}
			nodes++
		}
	}
	return seen, next, least, most, outside, nodes
}

// usual is in what range a model expects most numbers of each feature of nodes: that of what it learned from, and half
// as much again on both sides.
func (r *Recipe) usual(a, features int) (low, high []float64) {
	low, high = slices.Repeat([]float64{math.Inf(-1)}, features), slices.Repeat([]float64{math.Inf(1)}, features)
	if a < min(len(r.Least), len(r.Most)) && len(r.Least[a]) == features && len(r.Most[a]) == features {
		for j, least := range r.Least[a] {
			if margin := (r.Most[a][j] - least) / 2; margin > 0 { // a constant has no unit
				low[j], high[j] = least-margin, r.Most[a][j]+margin
			}
		}
	}
	return low, high
}

// manyPixels take a minute or so to learn from.
const manyPixels = 200_000

// suggestSuperpixels tells how pictures of many pixels are cut into fewer nodes.
func (l *loader) suggestSuperpixels() {
	pixels, set := 0.0, l.set
	for i := range set.Images {
		pixels += set.Images[i].pixels()
	}
	if pixels > manyPixels && set.Recipe.Superpixels == nil {
		l.warn("each of %.0f pixels is a node: regions, by {superpixels=superpixels} and maps such as by %s, learn in a "+
			"fraction of the time, at some loss of accuracy", pixels, makeSuperpixels(set.Images[0].Path))
	}
}

// avoided is what comes of states that no label has.
const avoided = "a model learns to avoid what it never sees; label some, or leave such states out of the data"

// missingCells says how tables hide labels.
const missingCells = "empty cells, and words such as NA unless {states} names them"

// howHidden says how labels of these data are hidden.
func (l *loader) howHidden() string {
	how := "-1"
	switch r := &l.set.Recipe; {
	case l.hiddenBy != "":
		how = l.hiddenBy
	case r.Kind == kindImages:
		how = "negative, or 255 in a picture"
	case r.Text != nil:
		how = missingFeatures
	case r.Sheets != nil:
		how = missingCells
	}
	if l.o.Observed != "" {
		how += fmt.Sprintf(", or not in the split %q", option.Literal(l.o.Observed))
	}
	return how
}

const (
	// squareOfChance is what the square of a balance of n edges, over n, passes once in a million times where the order of
	// ends means nothing: each edge is as likely either way round.
	squareOfChance = 24
	// leastDirection is the least that the order has to tell for a note: 0 where a pair of states is as often one way
	// round as the other, 1 where it always is one way round. Two of three the same way round are 0.11.
	leastDirection = 0.1
)

// noteDirection warns where labels of the ends of symmetric edges are much more often one way round than the other.
// Pixels are joined in an order that no file has, and weights of each node tell what is of its state.
func (l *loader) noteDirection() {
	s := &l.set.Schema
	if l.set.Recipe.Kind == kindImages || l.set.Recipe.Untied || l.tied || l.o.Tied || l.manifest.Directed != nil {
		return
	}
	for b, counts := range l.pairs() {
		var pair [2]int32
		most, t := 0, &s.EdgeTypes[b]
		for _, x := range slices.SortedFunc(maps.Keys(counts), comparePairs) {
			there, back := counts[x], counts[[2]int32{x[1], x[0]}]
			edges := float64(there + back) // a test of signs; of many pairs one is sooner met by chance
			square := math.Pow(float64(there-back), 2)
			if there-back > most && square >= leastDirection*edges*edges &&
				square > (squareOfChance+2*math.Log(float64(len(counts))))*edges {
				pair, most = x, there-back
			}
		}
		if there, states := counts[pair], s.NodeTypes[t.U].States; most > 0 {
			l.warn("edges of type %q look directed: %s → %s %d times, the other way round %d; if the first end means something "+
				"else than the second, and is not only the one that comes first in an order, as of rows or of a crawl, "+
				"{!say \"directed\": true in %s, or }give {directed=true}", t.Name, states[pair[0]], states[pair[1]], there,
				there-most, option.Text(ManifestName))
		}
	}
}

// pairs counts the pairs of different states that symmetric edges of each type lead from and to, as the data name
// the ends. Samples share one order of ends, so that the first stands for all.
func (l *loader) pairs() []map[[2]int32]int {
	all := make([]map[[2]int32]int, len(l.set.Schema.EdgeTypes))
	for b, t := range l.set.Schema.EdgeTypes {
		if t.Symmetric {
			all[b] = map[[2]int32]int{}
		}
	}
	for _, in := range l.set.Instances {
		u, v := in.Graph.Ends()
		turned := l.turned[in.Graph]
		for _, labels := range in.Samples()[:min(1, len(in.Samples()))] {
			for e := range u {
				x, y := labels[u[e]], labels[v[e]]
				if turned != nil && turned[e] {
					x, y = y, x
				}
				counts := all[in.EdgeType(int32(e))]
				if counts != nil && x != y && x != crf.Unobserved && y != crf.Unobserved {
					counts[[2]int32{x, y}]++
				}
			}
		}
	}
	return all
}
