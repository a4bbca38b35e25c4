package blockbp_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/blockbp/blockbp"
	"github.com/blockbp/blockbp/internal/synthetic"
)

// stripes is a noisy picture of diagonal stripes: features that tell a little of each pixel, and the truth.
func stripes(seed uint64, rows, cols int) blockbp.Graph {
	rng := rand.New(rand.NewPCG(seed, 1))
	g := blockbp.Graph{Edges: blockbp.GridEdges(rows, cols), Rows: rows, Cols: cols}
	for p := range rows * cols {
		dark := (p/cols+p%cols)/6%2 == 1
		seen, name := rng.NormFloat64(), "light"
		if dark {
			seen, name = seen+1, "dark"
		}
		g.Nodes, g.Labels = append(g.Nodes, []float64{seen, 1}), append(g.Labels, name)
	}
	return g
}

// In memory: edges, features and labels go in, states and beliefs come out.
func Example() {
	ctx := context.Background()
	data, err := blockbp.NewData(stripes(1, 20, 30), stripes(2, 30, 20))
	if err != nil {
		log.Fatal(err)
	}
	model, err := blockbp.Train(ctx, data, blockbp.Options{})
	if err != nil {
		log.Fatal(err)
	}
	test, err := blockbp.NewData(stripes(3, 20, 20))
	if err != nil {
		log.Fatal(err)
	}
	report, err := model.Evaluate(ctx, test)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s, %v: accuracy %.2f\n", model.Training().Status, model.States(), report.Accuracy)
	// Output: converged, [dark light]: accuracy 0.80
}

// Hidden labels are filled in, given those that are known.
func ExampleModel_Predict() {
	ctx := context.Background()
	picture := stripes(1, 20, 20)
	for p := range picture.Labels {
		if p%4 != 0 {
			picture.Labels[p] = "" // three of four are hidden
		}
	}
	data, err := blockbp.NewData(picture)
	if err != nil {
		log.Fatal(err)
	}
	model, err := blockbp.Train(ctx, data, blockbp.Options{})
	if err != nil {
		log.Fatal(err)
	}
	predictions, err := model.Predict(ctx, data)
	if err != nil {
		log.Fatal(err)
	}
	right := 0
	for p, name := range stripes(1, 20, 20).Labels {
		if predictions[0].Labels[p] == name {
			right++
		}
	}
	fmt.Printf("%d of 400 are right; the belief that the first is %s: %.2f\n", right, model.States()[1], predictions[0].Beliefs[0][1])
	// Output: 364 of 400 are right; the belief that the first is light: 1.00
}

// makeExample is blockbp example.
func makeExample(name, folder string) {
	for _, kind := range synthetic.Kinds {
		if kind.Name == name {
			if err := kind.Write(folder, 1, nil); err != nil {
				log.Fatal(err)
			}
		}
	}
}

// From files: whatever the command blockbp train takes.
func ExampleOpen() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "blockbp-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	makeExample("sentences", folder) // blockbp example sentences -o DIR

	data, err := blockbp.Open(filepath.Join(folder, "train"))
	if err != nil {
		log.Fatal(err)
	}
	model, err := blockbp.Train(ctx, data, blockbp.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err := model.Save(filepath.Join(folder, "tagger.safetensors")); err != nil {
		log.Fatal(err)
	}
	if model, err = blockbp.Load(filepath.Join(folder, "tagger.safetensors")); err != nil {
		log.Fatal(err)
	}
	test, err := blockbp.Open(filepath.Join(folder, "test"))
	if err != nil {
		log.Fatal(err)
	}
	report, err := model.Evaluate(ctx, test)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d words, accuracy %.2f\n", report.Nodes, report.Accuracy)
	// Output: 326 words, accuracy 0.95
}
