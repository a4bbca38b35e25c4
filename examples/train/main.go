// Command train learns to tell the dark half of noisy pictures from the bright one, in
// memory, and says how well it does on a picture that it has not seen. Run it from
// the root of the repository:
//
//	go run ./examples/train
package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/blockbp/blockbp"
)

// picture has two halves, "dark" above and "bright" below; each pixel shows its own half
// plus noise.
func picture(seed uint64, rows, cols int) blockbp.Graph {
	rng := rand.New(rand.NewPCG(seed, 1))
	g := blockbp.Graph{Edges: blockbp.GridEdges(rows, cols), Rows: rows, Cols: cols}
	for pixel := range rows * cols {
		name, brightness := "dark", -0.5
		if pixel/cols >= rows/2 {
			name, brightness = "bright", 0.5
		}
		g.Labels = append(g.Labels, name)
		g.Nodes = append(g.Nodes, []float64{brightness + rng.NormFloat64(), 1})
	}
	return g
}

func main() {
	ctx := context.Background()
	data, err := blockbp.NewData(picture(1, 16, 16), picture(2, 16, 24), picture(3, 24, 16))
	if err != nil {
		log.Fatal(err)
	}
	model, err := blockbp.Train(ctx, data, blockbp.Options{Counting: "trw"})
	if err != nil {
		log.Fatal(err)
	}
	test, err := blockbp.NewData(picture(4, 20, 20))
	if err != nil {
		log.Fatal(err)
	}
	report, err := model.Evaluate(ctx, test)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %s\n%s\n", model.Training().Status, model.Training().Reason, report)
}
