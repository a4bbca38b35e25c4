package standardise

import (
	"fmt"
	"math"
	"strings"

	"github.com/blockbp/blockbp/crf"
)

const (
	// unequalScales is the ratio of the largest to the smallest root mean square of
	// features that is told: l2 then holds their weights back by its square unequally.
	unequalScales = 100
	// mostNamed bounds how many features one text names.
	mostNamed = 3
)

// Notes say what in features makes learning hard, each with what to do about it: features of very different scale,
// where scale does not change them, and features that are zero or constant. averaged says that features of nodes are
// means, of which users know nothing.
func (m *Measured) Notes(schema *crf.Schema, scale *Map, l2 float64, averaged bool) (texts []string) {
	for i, of := range m.types {
		c := described{moments: of.moments, l2: l2}
		if scale != nil {
			c.scaled = &scale.columns[i]
		}
		switch b := i - m.nodes; {
		case b >= 0:
			c.where, c.states = fmt.Sprintf("edge type %q", schema.EdgeTypes[b].Name), "pairs of states"
			c.names = schema.EdgeTypes[b].FeatureNames
		case averaged:
			continue
		default:
			c.where, c.states = fmt.Sprintf("node type %q", schema.NodeTypes[i].Name), "states"
			c.names = schema.NodeTypes[i].FeatureNames
		}
		for _, text := range []string{c.unequal(), c.zero(), c.constants()} {
			if text != "" {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// described are the features of one type.
type described struct {
	moments []moments
	scaled  *columns // on another scale; nil: none is
	l2      float64
	where   string
	states  string // what a weight is of: states of a node, or pairs of them
	names   []string
}

// name is how users know a feature.
func (c *described) name(j int) string {
	if j < len(c.names) {
		return fmt.Sprintf("%q", c.names[j])
	}
	return fmt.Sprintf("number %d", j)
}

// size is the root mean square of a feature as it is learned with, of sparse rows that of the entries that they keep.
func (c *described) size(j int) float64 {
	x := &c.moments[j]
	mean, deviation := 0.0, 1.0
	if c.scaled != nil && c.scaled.mean != nil {
		mean, deviation = c.scaled.mean[j], c.scaled.deviation[j]
	}
	if x.kept > 0 {
		return math.Sqrt(x.power/x.kept) / deviation
	}
	return math.Hypot(math.Sqrt(x.squares/x.n), x.mean-mean) / deviation
}

// constant reports whether a feature has one value everywhere, and which.
func (c *described) constant(j int) (value float64, is bool) {
	x := &c.moments[j]
	switch {
	case x.n < 2 || x.kept > 0 && x.partial:
		return 0, false
	case x.kept == 0 && x.least > x.most: // sparse rows keep none
		return 0, true
	}
	return x.least, x.least == x.most
}

// unequal tells of features of very different scale. Constants are left out: a bias
// of 1 beside small features is no fault.
func (c *described) unequal() string {
	small, large := -1, -1
	for j := range c.moments {
		if _, constant := c.constant(j); constant || !(c.size(j) > 0) {
			continue
		}
		if small < 0 || c.size(j) < c.size(small) {
			small = j
		}
		if large < 0 || c.size(j) > c.size(large) {
			large = j
		}
	}
	if small < 0 || !(c.size(large) > unequalScales*c.size(small)) {
		return ""
	}
	return fmt.Sprintf("features of %s differ in scale: %s has root mean square %.3g, %s has %.3g. Automatic steps "+
		"cope, but the same l2 holds the weights of the smallest back %.2g times as hard: divide each feature by its "+
		"standard deviation",
		c.where, c.name(large), c.size(large), c.name(small), c.size(small), math.Pow(c.size(large)/c.size(small), 2))
}

// zero tells of features that are zero everywhere.
func (c *described) zero() string {
	var names []string
	for j := range c.moments {
		if value, constant := c.constant(j); constant && value == 0 {
			names = append(names, c.name(j))
		}
	}
	if len(names) == 0 {
		return ""
	}
	text := strings.Join(names[:min(mostNamed, len(names))], ", ")
	if n := len(names) - mostNamed; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return fmt.Sprintf("of %s the feature %s is zero everywhere: nothing can be learned of it, and its weights stay as "+
		"they are; leave it out", c.where, text)
}

// constants tells of a feature that has one value everywhere, 1 excepted, which is meant as a bias.
func (c *described) constants() string {
	at, others := -1, 0
	for j := range c.moments {
		switch value, constant := c.constant(j); {
		case !constant || value == 0:
		case value == 1:
			others++
		default:
			at, others = j, others+1
		}
	}
	if at < 0 || others > 1 {
		return ""
	}
	value, held := c.moments[at].least, ""
	if square := value * value; c.l2 > 0 && square != 1 {
		held = fmt.Sprintf(", and the same l2 holds them back %.2g times as hard as those of a feature of 1", 1/square)
	}
	return fmt.Sprintf("of %s the feature %s is %.3g everywhere: its weights can only say how frequent %s are%s; make "+
		"it 1 if it is meant for that, and look where it comes from if it is not", c.where, c.name(at), value,
		c.states, held)
}
