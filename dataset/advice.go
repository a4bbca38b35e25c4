package dataset

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
)

// advise warns of what a model cannot learn from the data that were read: edges
// where there are none, hidden labels, and states that no label has.
func (l *loader) advise() {
	l.findOrder()
	// Sentences of one token and pictures of one pixel are what they are.
	joined := slices.ContainsFunc(l.set.Instances, func(in *crf.Instance) bool { return in.Graph.NumEdges() > 0 })
	if kind := l.set.Recipe.Kind; !joined && (kind == kindGraph || kind == kindNPZ) {
		l.warn("there are no edges: the model predicts every node from its features alone")
	}
	l.suggestSuperpixels()
	if l.o.Statistics { // whose labels stand for means
		return
	}
	types := l.set.Schema.NodeTypes
	counts := make([][]int, len(types)) // [type][state]
	for a, t := range types {
		counts[a] = make([]int, len(t.States))
	}
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
		l.warn("%d of %d labels are hidden (%s)", hidden, all, option.Text(l.howHidden()))
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
			"fraction of the time, at some loss of accuracy", pixels,
			makeSuperpixels(set.Images[0].Path))
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

// surelyDirected are the odds, as a logarithm, of two standard errors, 2²/2: with ends in any order data have them two
// or three times in a hundred. Of each edge leastDirection has to be told, to be worth weights.
const surelyDirected, leastDirection = 2, 0.01

// odds is the logarithm of those that the order of ends tells something of two states, where so many edges lead there
// and so many back: each is predicted from those before (Krichevsky and Trofimov, 1981), against as likely either way.
func odds(there, back int) float64 {
	of := func(n, more float64) float64 { x, _ := math.Lgamma(n + more); return x }
	x, y := float64(there), float64(back)
	return of(x, .5) + of(y, .5) - of(x+y, 1) - math.Log(math.Pi) + (x+y)*math.Ln2
}

// findOrder has edges learned directed, where labels of ends are surely others one way round than the other, and says
// so; where the end that sorts first is first, or last, in all, that may be a mere convention, and a note asks. Pixels
// are joined in an order that no file has, and weights of each node's own tell of its state and not of the direction.
func (l *loader) findOrder() {
	s := &l.set.Schema
	if l.set.Recipe.Kind == kindImages || l.set.Recipe.Untied || l.tied || l.o.Tied || l.manifest.Directed != nil {
		return
	}
	all, sorted := l.pairs()
	for b, counts := range all {
		var pair [2]int32
		most, evidence, edges, t := 0, 0., 0, &s.EdgeTypes[b]
		for _, x := range slices.SortedFunc(maps.Keys(counts), comparePairs) {
			there, back := counts[x], counts[[2]int32{x[1], x[0]}]
			if x[0] < x[1] || back == 0 {
				evidence, edges = evidence+odds(there, back), edges+there+back
			}
			if there-back > most {
				pair, most = x, there-back
			}
		}
		if evidence < max(surelyDirected, leastDirection*float64(edges)) {
			continue
		}
		there, names := counts[pair], s.NodeTypes[t.U].States
		how := "are learned directed, as labels tell"
		advice := fmt.Sprintf("say \"directed\": false in %s if it means nothing", ManifestName)
		if t.Symmetric = sorted || l.o.Schema != nil; t.Symmetric {
			how, advice = "look directed", fmt.Sprintf("if the first end means something else than the second, and is not "+
				"only the one that sorts first, say \"directed\": true in %s, or use {directed}", ManifestName)
		}
		l.warn("edges of type %q %s: %s → %s %d times, the other way round %d; "+advice, t.Name, how, names[pair[0]],
			names[pair[1]], there, there-most)
		for i, in := range l.set.Instances {
			spec := in.Spec()
			if spec.Graph = cmp.Or(l.given[in.Graph], in.Graph); !t.Symmetric {
				l.set.Instances[i], _ = crf.NewInstance(s, spec) // which is the one that it was, but for ends
			}
		}
	}
}

// pairs counts the pairs of different states that symmetric edges of each type lead from and to, as the data name the
// ends, and reports whether one end sorts first in all. The first sample stands for all: they share the order of ends.
func (l *loader) pairs() (all []map[[2]int32]int, sorted bool) {
	all, forward, edges := make([]map[[2]int32]int, len(l.set.Schema.EdgeTypes)), 0, 0
	for b, t := range l.set.Schema.EdgeTypes {
		if t.Symmetric {
			all[b] = map[[2]int32]int{}
		}
	}
	for _, in := range l.set.Instances {
		u, v := cmp.Or(l.given[in.Graph], in.Graph).Ends()
		for e := range u {
			if edges++; u[e] < v[e] {
				forward++
			}
		}
		for _, labels := range in.Samples()[:min(1, len(in.Samples()))] {
			for e := range u {
				x, y := labels[u[e]], labels[v[e]]
				counts := all[in.EdgeType(int32(e))]
				if counts != nil && x != y && x != crf.Unobserved && y != crf.Unobserved {
					counts[[2]int32{x, y}]++
				}
			}
		}
	}
	return all, forward == 0 || forward == edges
}
