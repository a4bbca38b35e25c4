// Command train builds a small grid CRF in code, learns its weights by block
// belief propagation, and prints what it found. Run it from the root of the
// repository:
//
//	go run ./examples/train
package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/learn"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

// picture makes a rows × cols instance: two halves, "dark" above and "bright"
// below, of which each node shows its own half plus noise.
func picture(schema *crf.Schema, seed uint64, rows, cols int) (*crf.Instance, error) {
	rng := rand.New(rand.NewPCG(seed, 1))
	g, err := graph.Grid(rows, cols, graph.GridOptions{})
	if err != nil {
		return nil, err
	}
	labels := make([]int32, rows*cols)
	features := make([]float64, 0, 2*len(labels)) // [nodes, (brightness, bias)]
	for s := range labels {
		if s/cols >= rows/2 {
			labels[s] = 1
		}
		features = append(features, float64(labels[s])-0.5+rng.NormFloat64(), 1)
	}
	nodes, err := crf.Dense(features, 2)
	if err != nil {
		return nil, err
	}
	return crf.NewInstance(schema, crf.InstanceSpec{
		Name: fmt.Sprint("picture ", seed), Graph: g, Rows: rows, Cols: cols,
		NodeFeat: []crf.Features{nodes},
		EdgeFeat: []crf.Features{crf.Constant(g.NumEdges(), 1)}, // one table for all edges
		Labels:   [][]int32{labels},
	})
}

func run() error {
	schema := crf.Homogeneous([]string{"dark", "bright"}, 2, 1)
	schema.NodeTypes[0].FeatureNames = []string{"brightness", "bias"}
	schema.EdgeTypes[0].FeatureNames = []string{"constant"}
	model, err := crf.NewModel(schema) // all weights zero
	if err != nil {
		return err
	}
	problem := learn.Problem{Model: model, L2: 1}
	problem.Counting = func(g *graph.Graph) (*counting.Numbers, error) { return counting.SampledTreeReweighted(g, 1, false) }
	for seed := range uint64(4) {
		in, err := picture(&model.Schema, seed, 16, 16)
		if err != nil {
			return err
		}
		problem.Data = append(problem.Data, in)
	}

	result, err := learn.Fit(context.Background(), problem, learn.Settings{}) // BBPL, 20 blocks, automatic steps
	if err != nil {
		return err
	}
	fmt.Printf("%s: %s\n", result.Status, result.Reason)
	fmt.Printf("objective %.6f after %d iterations; convex: %v\n", result.Objective, result.Iterations, result.Convex)
	for i, w := range result.Model.Weights {
		fmt.Printf("%-55s %8.4f\n", result.Model.WeightName(i), w)
	}
	return nil
}
