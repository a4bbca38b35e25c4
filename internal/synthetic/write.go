package synthetic

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/runfolder"
)

const (
	// TruthFile holds the weights that written data were drawn from.
	TruthFile = "truth.safetensors"
	// OriginKey is the key in the metadata of TruthFile under which it says how the data were drawn, as JSON.
	OriginKey = "synthetic"
)

// graphForms are the texts that ParseGraph reads.
const graphForms = "grid:RxC, grid8:RxC, torus:RxC, chain:N, tree:N, complete:N, er:N:P or ba:N[:M]"

// ParseGraph reads a graph as KIND:SIZES. The error says which forms there are.
func ParseGraph(text string) (GraphSpec, error) {
	kind, sizes, _ := strings.Cut(text, ":")
	g := GraphSpec{Kind: kind}
	reads := func(format string, values ...any) bool {
		n, err := fmt.Sscanf(sizes+"\n", format+"\n", values...)
		return err == nil && n == len(values)
	}
	ok := false
	switch {
	case g.onGrid():
		ok = reads("%dx%d", &g.Rows, &g.Cols)
	case kind == "chain" || kind == "tree" || kind == "complete":
		ok = reads("%d", &g.Nodes)
	case kind == "er":
		ok = reads("%d:%g", &g.Nodes, &g.EdgeChance)
	case kind == "ba" && strings.Contains(sizes, ":"):
		ok = reads("%d:%d", &g.Nodes, &g.Attach) && g.Attach > 0
	case kind == "ba":
		ok = reads("%d", &g.Nodes)
	}
	if !ok {
		return GraphSpec{}, errors.New("want " + graphForms)
	}
	return g, nil
}

// origin is what TruthFile says of the data.
type origin struct {
	Graph        string  `json:"graph"`
	States       int     `json:"states"`
	NodeFeatures int     `json:"node_features"`
	EdgeFeatures int     `json:"edge_features"`
	Samples      int     `json:"samples"`
	Instances    int     `json:"instances"`
	WeightScale  float64 `json:"weight_scale"`
	Sweeps       int     `json:"sweeps"`
	Seed         uint64  `json:"seed"`
}

// Write writes every instance as NAME.npz, dataset.json and TruthFile into a folder.
// graph is the text that the graph was read from.
func (o *Generated) Write(run *runfolder.Run, graph string) error {
	s := &o.Spec
	for i, in := range o.Instances {
		arrays := &dataset.Arrays{
			Edges:        dataset.EdgesOf(in.Graph),
			NodeFeatures: &dataset.Matrix{Columns: s.NodeFeatures, Data: o.NodeFeatures[i]},
			EdgeFeatures: &dataset.Matrix{Columns: s.EdgeFeatures, Data: o.EdgeFeatures[i]},
			Labels:       in.Samples(), GridShape: [2]int{in.Rows, in.Cols}, States: []int32{int32(s.States)},
		}
		if err := run.Via(in.Name+".npz", func(path string) error { return dataset.WriteNPZ(path, arrays) }); err != nil {
			return err
		}
	}
	from, err := json.Marshal(origin{graph, s.States, s.NodeFeatures, s.EdgeFeatures, s.Samples, s.Instances,
		s.WeightScale, s.Sweeps, s.Seed})
	if err != nil {
		return err
	}
	recipe := dataset.Recipe{Kind: dataset.KindNPZ, NodeForm: dataset.FormDense, EdgeForm: dataset.FormDense}
	meta := map[string]string{OriginKey: string(from), dataset.RecipeKey: recipe.String()}
	if err := run.Via(TruthFile, func(path string) error { return crf.Save(path, o.Truth, meta) }); err != nil {
		return err
	}
	return run.WriteJSON("dataset.json", map[string]any{"states": o.Truth.Schema.NodeTypes[0].States, "directed": true})
}
