package describe

import (
	"fmt"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/cut"
	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/learn"
)

// Data describes a data set.
type Data struct {
	Kind       string         `json:"kind"`
	Instances  int            `json:"instances"`
	Graphs     int            `json:"distinct_graphs"`
	Nodes      int            `json:"nodes"`
	Edges      int            `json:"edges"`
	Samples    int            `json:"samples"`
	Unobserved int            `json:"unobserved_labels"`
	NodeTypes  []crf.NodeType `json:"node_types"`
	EdgeTypes  []crf.EdgeType `json:"edge_types"`
	// How training would cut the first instance.
	Blocks      int             `json:"blocks"`
	CutEdges    int             `json:"edges_cut"`
	CutFraction runfolder.Float `json:"cut_fraction"`
	Balance     runfolder.Float `json:"balance"`
}

// NewData describes a set, of which training is asked to cut instances in some way. An
// error is of that way, for the first instance.
func NewData(set *dataset.Set, asked learn.Cut) (*Data, error) {
	q, err := quality(set, asked)
	if err != nil {
		return nil, err
	}
	d := &Data{
		Kind: set.Recipe.Kind, Instances: len(set.Instances),
		NodeTypes: set.Schema.NodeTypes, EdgeTypes: set.Schema.EdgeTypes, Blocks: q.Blocks, CutEdges: q.CutEdges,
		CutFraction: runfolder.Float(q.CutFraction), Balance: runfolder.Float(q.Balance),
	}
	graphs := map[*graph.Graph]bool{}
	for _, in := range set.Instances {
		graphs[in.Graph] = true
		d.Nodes += in.Graph.NumNodes()
		d.Edges += in.Graph.NumEdges()
		d.Samples += len(in.Samples())
		for _, labels := range in.Samples() {
			for _, y := range labels {
				if y == crf.Unobserved {
					d.Unobserved++
				}
			}
		}
	}
	d.Graphs = len(graphs)
	return d, nil
}

// quality measures the partition that training would use for the first instance.
func quality(set *dataset.Set, asked learn.Cut) (q partition.Quality, err error) {
	in := set.Instances[0]
	// Cutting asks how large the model is, not for weights.
	p := learn.Problem{Model: &crf.Model{Schema: set.Schema, Layout: set.Schema.Layout()}, Data: set.Instances}
	settings, _, err := learn.Settings{Cut: asked}.Choose(&p)
	if err != nil {
		return q, &job.Error{Kind: job.Usage, Err: err}
	}
	cuts, _, err := cut.Cut(settings.Cut).Resolve(p.Model, p.Data, cut.Cache())
	if err != nil {
		return q, &job.Error{Kind: job.Usage, Err: err}
	}
	of, blocks := cuts[0].Assign(in)
	blocksOf, err := partition.FromAssignment(in.Graph, of, blocks)
	if err != nil {
		return q, err
	}
	return blocksOf.Quality(), nil
}

// Tables are the description for people.
func (d *Data) Tables() []report.Table {
	rows := [][]string{fact("kind", d.Kind), fact("instances", d.Instances), fact("distinct graphs", d.Graphs),
		fact("nodes", d.Nodes), fact("edges", d.Edges), fact("samples", d.Samples),
		fact("unobserved labels", d.Unobserved)}
	rows = append(rows, typeRows(d.NodeTypes, d.EdgeTypes, false)...)
	return []report.Table{table(append(rows, fact("blocks", d.Blocks),
		fact("edges cut", fmt.Sprintf("%d (%.2f %%)", d.CutEdges, 100*float64(d.CutFraction))),
		fact("balance", fmt.Sprintf("%.3f (largest block's edges over the mean)", float64(d.Balance))))...)}
}
