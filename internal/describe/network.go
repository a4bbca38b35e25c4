package describe

import (
	"fmt"

	"github.com/blockbp/blockbp/internal/exact"
	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/mrf"
)

// Network describes a network with explicit tables.
type Network struct {
	Variables  int `json:"variables" fact:"variables"`
	MostStates int `json:"most_states" fact:"most states"`
	Factors    int `json:"factors" fact:"factors"`
	Arity      int `json:"largest_arity" fact:"largest arity"`
	// Edges and Forest are of the graph of factors over two variables; nil where some factor has more.
	Edges  *int  `json:"edges" fact:"edges"`
	Forest *bool `json:"is_a_forest" fact:"is a forest"`
	Width  int   `json:"induced_width" fact:"induced width"`
	// Bytes is the memory that exact inference needs; at least, where LowerBound.
	Bytes      int64 `json:"exact_inference_bytes" fact:"memory for exact inference"`
	LowerBound bool  `json:"exact_inference_bytes_is_lower_bound"`
}

// NewNetwork describes n, which is an error where n is not valid.
func NewNetwork(n *mrf.Network) (*Network, error) {
	d := &Network{Variables: len(n.Card), Factors: len(n.Factors)}
	for _, k := range n.Card {
		d.MostStates = max(d.MostStates, k)
	}
	for _, factor := range n.Factors {
		d.Arity = max(d.Arity, len(factor.Scope))
	}
	if p, _, err := n.Pairwise(); err == nil {
		edges, forest := p.Graph.NumEdges(), p.Graph.IsForest()
		d.Edges, d.Forest = &edges, &forest
	}
	plan, err := exact.NewPlan(n)
	if err != nil {
		return nil, err
	}
	d.Width, d.Bytes, d.LowerBound = plan.Width, plan.Bytes, plan.LowerBound
	return d, nil
}

// EdgesText is empty where it is not known, like ForestText.
func (d Network) EdgesText() string { return known(d.Edges) }

// ForestText says whether the graph is a forest.
func (d Network) ForestText() string { return known(d.Forest) }

func known[T any](value *T) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(*value)
}

// BytesText is the forecast in MiB.
func (d Network) BytesText() string {
	text := job.Mebibytes(d.Bytes)
	if d.LowerBound {
		return "more than " + text
	}
	return text
}

// Tables are the description for people.
func (d *Network) Tables() []report.Table { return []report.Table{table(facts(*d)...)} }
