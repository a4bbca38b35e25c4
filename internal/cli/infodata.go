package cli

import (
	"fmt"
	"strconv"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// dataInfo describes a data set.
type dataInfo struct {
	Kind       string         `json:"kind"`
	Instances  int            `json:"instances"`
	Graphs     int            `json:"distinct_graphs"`
	Nodes      int            `json:"nodes"`
	Edges      int            `json:"edges"`
	Samples    int            `json:"samples"`
	Unobserved int            `json:"unobserved_labels"`
	NodeTypes  []crf.NodeType `json:"node_types"`
	EdgeTypes  []crf.EdgeType `json:"edge_types"`
	// The partition of the first instance that training would use.
	Blocks      int             `json:"blocks"`
	CutEdges    int             `json:"edges_cut"`
	CutFraction runfolder.Float `json:"cut_fraction"`
	Balance     runfolder.Float `json:"balance"`
}

func (a *app) infoData(f *infoFlags, args []string) error {
	if err := f.data.validate(); err != nil {
		return err
	}
	set, err := a.openData(args, f.data.options(nil))
	if err != nil {
		return err
	}
	d := newDataInfo(set)
	quality, err := f.quality(&set.Schema, set.Instances)
	if err == nil {
		err = a.interrupted()
	}
	if err != nil {
		return err
	}
	d.Blocks, d.CutEdges = quality.Blocks, quality.CutEdges
	d.CutFraction, d.Balance = runfolder.Float(quality.CutFraction), runfolder.Float(quality.Balance)
	return a.describe(f.json, d)
}

func newDataInfo(set *dataset.Set) *dataInfo {
	d := &dataInfo{Kind: set.Recipe.Kind, Instances: len(set.Instances), NodeTypes: set.Schema.NodeTypes, EdgeTypes: set.Schema.EdgeTypes}
	graphs := map[*graph.Graph]bool{}
	for _, in := range set.Instances {
		d.Nodes += in.Graph.NumNodes()
		d.Edges += in.Graph.NumEdges()
		graphs[in.Graph] = true
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

func (d *dataInfo) tables() []report.Table {
	t := newFacts(
		[]string{"kind", d.Kind},
		[]string{"instances", strconv.Itoa(d.Instances)},
		[]string{"distinct graphs", strconv.Itoa(d.Graphs)},
		[]string{"nodes", strconv.Itoa(d.Nodes)},
		[]string{"edges", strconv.Itoa(d.Edges)},
		[]string{"samples", strconv.Itoa(d.Samples)},
		[]string{"unobserved labels", strconv.Itoa(d.Unobserved)},
	)
	for _, n := range d.NodeTypes {
		t.Rows = append(t.Rows, []string{"node type " + n.Name, counted(len(n.States), "state") + ", " + counted(n.Features, "feature") + copiesOf(n.Copies)})
	}
	for _, e := range d.EdgeTypes {
		t.Rows = append(t.Rows, []string{"edge type " + e.Name, counted(e.Features, "feature") + copiesOf(e.Copies)})
	}
	t.Rows = append(t.Rows,
		[]string{"blocks", strconv.Itoa(d.Blocks)},
		[]string{"edges cut", fmt.Sprintf("%d (%.2f %%)", d.CutEdges, 100*float64(d.CutFraction))},
		[]string{"balance", fmt.Sprintf("%.3f (largest block's edges over the mean)", float64(d.Balance))},
	)
	return []report.Table{t}
}

// quality measures the partition that training would use for the first instance.
func (f *infoFlags) quality(schema *crf.Schema, data []*crf.Instance) (partition.Quality, error) {
	request, err := f.partition.resolve()
	if err != nil {
		return partition.Quality{}, err
	}
	model, err := crf.NewModel(*schema)
	if err != nil {
		return partition.Quality{}, err
	}
	in := data[0]
	cuts, _, err := request.Resolve(model, data)
	if err != nil {
		return partition.Quality{}, usagef("%v", err)
	}
	of, blocks, err := cuts[0].Assign(in, 1)
	if err != nil {
		return partition.Quality{}, usagef("instance 0 (%s): %v", in.Name, err)
	}
	p, err := partition.FromAssignment(in.Graph, of, blocks)
	if err != nil {
		return partition.Quality{}, err
	}
	return p.Quality(), nil
}
