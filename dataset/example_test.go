package dataset_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/blockbp/blockbp/dataset"
)

// Two noisy readings of a row of three pixels become a data set.
func Example() {
	folder, err := os.MkdirTemp("", "dataset")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	for name, reading := range map[string][]float64{"1.npz": {-.9, -.2, .8}, "2.npz": {.7, .6, -1.1}} {
		arrays := dataset.Arrays{
			Edges:        [][2]int32{{0, 1}, {1, 2}},
			NodeFeatures: &dataset.Matrix{Columns: 1, Data: reading},
			Labels:       [][]int32{{0, 0, 1}},
			GridShape:    [2]int{1, 3},
		}
		if err := arrays.WriteFile(filepath.Join(folder, name)); err != nil {
			log.Fatal(err)
		}
	}
	about := dataset.Manifest{States: []string{"dark", "bright"}, NodeFeatures: []string{"reading"}}
	if err := about.Write(folder); err != nil {
		log.Fatal(err)
	}

	set, err := dataset.Open(context.Background(), []string{folder}, dataset.Options{})
	if err != nil {
		log.Fatal(err)
	}
	node := set.Schema.NodeTypes[0]
	fmt.Println(len(set.Instances), "instances, states", node.States, "features", node.FeatureNames)
	for _, in := range set.Instances {
		fmt.Println(in.Name, in.Rows, "×", in.Cols, in.Samples())
	}
	fmt.Println(set.Instances[0].Graph == set.Instances[1].Graph)
	// Output:
	// 2 instances, states [dark bright] features [reading]
	// 1 1 × 3 [[0 0 1]]
	// 2 1 × 3 [[0 0 1]]
	// true
}
