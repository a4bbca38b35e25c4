package describe

import (
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/report"
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
}

// NewData describes a set.
func NewData(set *dataset.Set) *Data {
	d := &Data{Kind: set.Recipe.Kind, Instances: len(set.Instances), NodeTypes: set.Schema.NodeTypes,
		EdgeTypes: set.Schema.EdgeTypes}
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
	return d
}

// Tables are the description for people.
func (d *Data) Tables() []report.Table {
	rows := [][]string{fact("kind", d.Kind), fact("instances", d.Instances), fact("distinct graphs", d.Graphs),
		fact("nodes", d.Nodes), fact("edges", d.Edges), fact("samples", d.Samples), fact("unobserved labels", d.Unobserved)}
	return []report.Table{table(append(rows, typeRows(d.NodeTypes, d.EdgeTypes, false)...)...)}
}
