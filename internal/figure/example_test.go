package figure_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/blockbp/blockbp/internal/figure"
)

func ExampleCurves() {
	curves := figure.Curves{
		Title: "Objective", XLabel: "iteration", YLabel: "L",
		Series: []figure.Series{{Name: "BBPL", X: []float64{0, 1, 2}, Y: []float64{8, 4, 2.7}}},
	}
	var svg bytes.Buffer
	if err := curves.SVG(&svg); err != nil {
		log.Fatal(err)
	}
	fmt.Println(bytes.Contains(svg.Bytes(), []byte("<title>Objective</title>")))

	// Output: true
}
