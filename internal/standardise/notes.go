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
// where nothing changes them, and features that are zero everywhere. averaged says that features of nodes are means, of
// which users know nothing.
func (m *Measured) Notes(schema *crf.Schema, scaled, averaged bool) (texts []string) {
	for i, of := range m.types {
		var c described
		switch b := i - m.nodes; {
		case b >= 0:
			c = described{of.moments, fmt.Sprintf("edge type %q", schema.EdgeTypes[b].Name), schema.EdgeTypes[b].FeatureNames}
		case averaged:
			continue
		default:
			c = described{of.moments, fmt.Sprintf("node type %q", schema.NodeTypes[i].Name), schema.NodeTypes[i].FeatureNames}
		}
		if text := c.unequal(); text != "" && !scaled {
			texts = append(texts, text)
		}
		if text := c.zero(); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// described are the features of one type.
type described struct {
	moments []moments
	where   string
	names   []string
}

// name is how users know a feature.
func (c *described) name(j int) string {
	if j < len(c.names) {
		return fmt.Sprintf("%q", c.names[j])
	}
	return fmt.Sprintf("number %d", j)
}

// size is the root mean square of a feature, of sparse rows that of the entries that they keep.
func (c *described) size(j int) float64 {
	x := &c.moments[j]
	if x.kept > 0 {
		return math.Sqrt(x.power / x.kept)
	}
	return math.Hypot(math.Sqrt(x.squares/x.n), x.mean)
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
		"cope, but the same l2 holds the weights of the smallest back %.2g times as hard: {standardise} puts all on one "+
		"scale", c.where, c.name(large), c.size(large), c.name(small), c.size(small),
		math.Pow(c.size(large)/c.size(small), 2))
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
