package describe

import (
	"fmt"
	"math"
	"slices"

	"github.com/blockbp/blockbp/internal/exact"
	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/mrf"
)

// Network describes a network with explicit tables.
type Network struct {
	Variables  int `json:"variables"`
	MostStates int `json:"most_states"`
	Factors    int `json:"factors"`
	Arity      int `json:"largest_arity"`
	// Edges and Forest are of the graph of factors over two variables; nil where some factor has more.
	Edges  *int  `json:"edges"`
	Forest *bool `json:"is_a_forest"`
	Width  int   `json:"induced_width"`
	// Bytes is the memory that exact inference needs; at least, where LowerBound.
	Bytes      int64 `json:"exact_inference_bytes"`
	LowerBound bool  `json:"exact_inference_bytes_is_lower_bound"`
}

// NewNetwork describes n, which must be valid.
func NewNetwork(n *mrf.Network) *Network {
	d := &Network{Variables: len(n.Card), Factors: len(n.Factors), MostStates: slices.Max(append([]int{0}, n.Card...))}
	for _, factor := range n.Factors {
		d.Arity = max(d.Arity, len(factor.Scope))
	}
	if p, err := n.Pairwise(); err == nil {
		edges, forest := p.Graph.NumEdges(), p.Graph.IsForest()
		d.Edges, d.Forest = &edges, &forest
	}
	plan := exact.NewPlan(n, math.Inf(1))
	d.Width, d.Bytes, d.LowerBound = plan.Width, plan.Bytes, plan.LowerBound
	return d
}

func known[T any](value *T) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(*value)
}

// Tables are the description for people.
func (d *Network) Tables() []report.Table {
	bytes := job.Mebibytes(d.Bytes)
	if d.LowerBound {
		bytes = "more than " + bytes
	}
	return []report.Table{table(fact("variables", d.Variables), fact("most states", d.MostStates),
		fact("factors", d.Factors), fact("largest arity", d.Arity), fact("edges", known(d.Edges)),
		fact("is a forest", known(d.Forest)), fact("induced width", d.Width), fact("memory for exact inference", bytes))}
}
