package report_test

import (
	"fmt"

	"github.com/blockbp/blockbp/internal/report"
)

func ExampleTable() {
	fmt.Println(report.Table{
		Headers: []string{"method", "seconds", "accuracy"},
		Rows:    [][]string{{"full", "310.2", "0.781"}, {"bbpl", "41.7", "0.779"}},
	}.Text())

	// Output:
	// method  seconds  accuracy
	// ──────  ───────  ────────
	// full      310.2     0.781
	// bbpl       41.7     0.779
}

func ExampleTableOf() {
	type row struct {
		Method  string  `table:"method"`
		Seconds float64 `table:"seconds;%.1f"`
	}
	fmt.Println(report.TableOf([]row{{"full", 310.24}, {"bbpl", 41.7}}, "table").Text())

	// Output:
	// method  seconds
	// ──────  ───────
	// full      310.2
	// bbpl       41.7
}
