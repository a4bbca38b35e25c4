package cli

import (
	"fmt"
	"strconv"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/exact"
	"github.com/blockbp/blockbp/internal/report"
)

// networkInfo describes a UAI network.
type networkInfo struct {
	Variables  int `json:"variables"`
	MostStates int `json:"most_states"`
	Factors    int `json:"factors"`
	Arity      int `json:"largest_arity"`
	// Edges and Forest are of the graph of factors over two variables; null where
	// some factor has more.
	Edges  *int  `json:"edges"`
	Forest *bool `json:"is_a_forest"`
	Width  int   `json:"induced_width"`
	// Bytes is the memory that exact inference needs; at least, where LowerBound.
	Bytes      int64 `json:"exact_inference_bytes"`
	LowerBound bool  `json:"exact_inference_bytes_is_lower_bound"`
}

func (a *app) infoNetwork(f *infoFlags, path string) error {
	n, err := dataset.ReadNetwork(path)
	if err != nil {
		return err
	}
	d := &networkInfo{Variables: len(n.Card), Factors: len(n.Factors)}
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
	if err := a.interrupted(); err != nil {
		return err
	}
	plan, err := exact.NewPlan(n)
	if err != nil {
		return dataf("%s: %v", path, err)
	}
	d.Width, d.Bytes, d.LowerBound = plan.Width, plan.Bytes, plan.LowerBound
	return a.describe(f.json, d)
}

func (d *networkInfo) tables() []report.Table {
	t := newFacts(
		[]string{"variables", strconv.Itoa(d.Variables)},
		[]string{"most states", strconv.Itoa(d.MostStates)},
		[]string{"factors", strconv.Itoa(d.Factors)},
		[]string{"largest arity", strconv.Itoa(d.Arity)},
	)
	if d.Edges != nil {
		t.Rows = append(t.Rows, []string{"edges", strconv.Itoa(*d.Edges)}, []string{"is a forest", fmt.Sprint(*d.Forest)})
	}
	forecast := mebibytes(d.Bytes)
	if d.LowerBound {
		forecast = "more than " + forecast
	}
	t.Rows = append(t.Rows, []string{"induced width", strconv.Itoa(d.Width)}, []string{"memory for exact inference", forecast})
	return []report.Table{t}
}
