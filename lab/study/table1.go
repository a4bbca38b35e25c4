package study

import (
	"fmt"

	"github.com/blockbp/blockbp/internal/report"
)

// paperIterations are those of the paper's table 1.
var paperIterations = map[string]int{nameBBPL: 601, nameInner: 163, nameFull: 21}

// table1 is how many iterations each method makes on images in the same time: the comparison of figure 5, counted.
func table1() *Study {
	return imageStudy(
		"table1", "Iterations on images in the same time",
		"BBPL runs 601 iterations, inner-dual learning 163 and full BP 21.",
		func(c *ImageComparison) *Findings {
			t := report.Table{Headers: []string{
				"method", "iterations", "in the paper", "step", "passes", "gradient passes", "seconds",
			}}
			counts := map[string]int{}
			for _, run := range c.Runs {
				counts[run.Name] = run.Iterations
				t.Rows = append(t.Rows, []string{
					run.Name, fmt.Sprint(run.Iterations), fmt.Sprint(paperIterations[run.Name]), fmt.Sprintf("%.3g", run.Step),
					fmt.Sprintf("%.1f", run.Passes), fmt.Sprintf("%.1f", run.Gradients), fmt.Sprintf("%.2f", run.Seconds),
				})
			}
			bbpl, inner, full := counts[nameBBPL], counts[nameInner], counts[nameFull]
			ratio := func(other int) float64 { return float64(bbpl) / float64(max(1, other)) }
			return &Findings{
				Tables: []Table{{"iterations", "Iterations until the time of BBPL was over.", t}},
				Claims: []Claim{{
					Name:  "order of iterations",
					Paper: "601 > 163 > 21: BBPL makes 3.7 and 29 times as many as the others", Held: bbpl > inner && inner > full,
					Measured: fmt.Sprintf("%d, %d, %d: ×%.1f and ×%.1f", bbpl, inner, full, ratio(inner), ratio(full)),
				}},
			}
		},
	)
}
