package synthetic

import (
	"errors"
	"fmt"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// TruthFile holds the weights that written data were drawn from.
const TruthFile = "truth.safetensors"

// ParseGraph reads a graph as KIND:SIZES. The error says which forms there are.
func ParseGraph(text string) (GraphSpec, error) {
	kind, sizes, _ := strings.Cut(text, ":")
	g := GraphSpec{Kind: kind}
	reads := func(format string, values ...any) bool {
		n, err := fmt.Sscanf(sizes+"\n", format+"\n", values...)
		return err == nil && n == len(values)
	}
	switch {
	case kind == "grid" && reads("%dx%d", &g.Rows, &g.Cols):
	case (kind == "chain" || kind == "ba") && reads("%d", &g.Nodes):
	case kind == "ba" && reads("%d:%d", &g.Nodes, &g.Attach) && g.Attach > 0:
	default:
		return GraphSpec{}, errors.New("want grid:RxC, chain:N or ba:N[:M]; other graphs come from programs, as npz")
	}
	return g, nil
}

// Write writes every instance as NAME.npz, dataset.json and TruthFile into a folder.
func (o *Generated) Write(run *runfolder.Run) error {
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
	recipe := dataset.Recipe{Kind: dataset.KindNPZ, NodeForm: dataset.FormDense, EdgeForm: dataset.FormDense}
	meta := map[string]string{dataset.RecipeKey: recipe.String()}
	if err := run.Via(TruthFile, func(path string) error { return crf.Save(path, o.Truth, meta) }); err != nil {
		return err
	}
	return run.WriteJSON("dataset.json", map[string]any{"states": o.Truth.Schema.NodeTypes[0].States, "directed": true})
}
