package runfolder_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/blockbp/blockbp/internal/runfolder"
)

// A run writes its metrics while it works, and a table of them at its end.
func Example() {
	parent, err := os.MkdirTemp("", "blockbp-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	run, err := runfolder.Create(filepath.Join(parent, "run"))
	if err != nil {
		log.Fatal(err)
	}

	metrics, err := run.Metrics()
	if err != nil {
		log.Fatal(err)
	}
	for iter := range 3 {
		m := runfolder.NewMetric(iter)
		m.Objective = 8.0 / float64(iter+1)
		m.Eval = map[string]float64{"test.accuracy": 0.5 + 0.1*float64(iter)}
		if err := metrics.Write(m); err != nil {
			log.Fatal(err)
		}
	}
	if err := metrics.Close(); err != nil {
		log.Fatal(err)
	}
	if err := run.WriteMetricsCSV(); err != nil {
		log.Fatal(err)
	}

	table, err := os.ReadFile(run.Path(runfolder.MetricsCSVFile))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", table)

	// Output:
	// iter,pass,wall_s,block,objective,grad_norm,theta_dist,step,bp_sweeps,bp_residual,suboptimality,eval.test.accuracy
	// 0,,,,8,,,,,,,0.5
	// 1,,,,4,,,,,,,0.6
	// 2,,,,2.6666666666666665,,,,,,,0.7
}
