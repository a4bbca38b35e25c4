package learn

import (
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/partition"
)

// contributionLayout says where a block's contribution to the gradient has what. It has stride numbers: the tied
// weights' term of Σ weight · M τ, of the block's nodes and the edges inside it, then the sums of the beliefs of every
// tied type, and then the terms of the upper bound and of Σ weight · c H(τ). Cut edges keep their own (worker.go).
type contributionLayout struct {
	stride                 int
	nodeMoment, edgeMoment []int      // [types] where its beliefs are added up, −1 if untied
	tied                   []crf.Span // of nodes, tiedNodes of them, then of edges
	tiedNodes              int
	// cutStride is how many numbers are kept of a cut edge: its belief, which for untied types is elsewhere, its term of
	// the upper bound, and its entropy times the counting number. 0: there are no cut edges.
	cutStride     int
	edgesTogether int // whose beliefs are computed in one call
	mostBeliefs   int // numbers that are computed together
}

// beliefsTogether bounds how many numbers the beliefs of edges have that are
// computed in one call: 32 KiB stay in the nearest cache, or in the second one.
const beliefsTogether = 4096

// layOut decides what a contribution of a block looks like, of so many.
func layOut(layout *crf.Layout, blocks int) *contributionLayout {
	c := &contributionLayout{stride: layout.TiedSize}
	place := func(spans []crf.Span) []int {
		var at []int
		for _, span := range spans {
			if span.Untied {
				at = append(at, -1)
				continue
			}
			at = append(at, c.stride)
			c.stride += span.States
			c.tied = append(c.tied, span)
		}
		return at
	}
	c.nodeMoment = place(layout.Node)
	c.tiedNodes = len(c.tied)
	c.edgeMoment = place(layout.Edge)
	c.stride += 2 // the term of the upper bound, and the entropy
	if blocks > 1 {
		c.cutStride = 2
		for _, span := range c.tied[c.tiedNodes:] {
			c.cutStride = max(c.cutStride, span.States+2)
		}
	}
	// As many edges as of the type with the largest tables.
	c.edgesTogether = max(1, min(ground.RowsPerBatch, beliefsTogether/largestTable(layout.Edge)))
	c.mostBeliefs = max(c.edgesTogether*largestTable(allSpans(layout)), ground.RowsPerBatch*largestTable(layout.Node))
	return c
}

// entropyAt and boundAt are where a contribution has its terms of Σ c H(τ), and of the
// bound: −Σ c log τ(y), or the free energy of units without labels.
func (c *contributionLayout) entropyAt() int { return c.stride - 1 }
func (c *contributionLayout) boundAt() int   { return c.stride - 2 }

// keepsCut reports whether there are cut edges that keep their beliefs.
func (c *contributionLayout) keepsCut() bool { return c.cutStride > 0 }

// cutNumbers returns how many numbers the cut edges of a unit keep, and cutRange where those of a group are.
func (c *contributionLayout) cutNumbers(u *unit) int {
	if !c.keepsCut() {
		return 0
	}
	return u.cutEdges.count * c.cutStride
}

func (c *contributionLayout) cutRange(u *unit, g *partition.Group) (at, n int) {
	return u.cutEdges.firstEdge[g.ID] * c.cutStride, int(g.Hi-g.Lo) * c.cutStride
}

// allSpans returns the spans of all types: nodes, then edges.
func allSpans(layout *crf.Layout) []crf.Span { return slices.Concat(layout.Node, layout.Edge) }

// largestTable returns the largest number of (joint) states of a type, 1 at least.
func largestTable(spans []crf.Span) int {
	largest := 1
	for _, span := range spans {
		largest = max(largest, span.States)
	}
	return largest
}
