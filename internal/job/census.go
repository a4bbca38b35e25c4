package job

import (
	"github.com/blockbp/blockbp/crf"
)

// census counts labels.
type census struct {
	of            [][]int // [node type][copy of untied weights, and state]
	known, hidden int
}

// labelsOf counts the labels of data.
func labelsOf(types []crf.NodeType, data []*crf.Instance) *census {
	c := &census{of: make([][]int, len(types))}
	for a, t := range types {
		c.of[a] = make([]int, max(1, t.Copies)*len(t.States))
	}
	for _, in := range data {
		for _, labels := range in.Samples() {
			for s, y := range labels {
				if y == crf.Unobserved {
					c.hidden++
					continue
				}
				c.known++
				a := in.NodeType(int32(s))
				if types[a].Copies > 0 {
					y += int32(in.NodeRow(int32(s)) * len(types[a].States))
				}
				c.of[a][y]++
			}
		}
	}
	return c
}

// labels counts those that are learned from.
func (p *Prepared) labels() *census {
	return labelsOf(p.Problem.Model.Schema.NodeTypes, p.Problem.Data)
}

// everyStateSeen reports whether all states of all types of nodes have a label.
func (p *Prepared) everyStateSeen() bool {
	for a, counts := range p.labels().of {
		states := len(p.Problem.Model.Schema.NodeTypes[a].States)
		for state := range states {
			seen := false
			for at := state; at < len(counts); at += states {
				seen = seen || counts[at] > 0
			}
			if !seen {
				return false
			}
		}
	}
	return true
}

// anyHidden reports whether a label that is learned from is hidden.
func (p *Prepared) anyHidden() bool { return p.labels().hidden > 0 }
