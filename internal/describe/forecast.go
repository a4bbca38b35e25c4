package describe

import (
	"fmt"
	"strconv"

	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/learn"
)

// Forecast is what a training would be: its sizes and memory.
type Forecast struct {
	Method    string        `json:"method"`
	Memory    *learn.Memory `json:"memory"`
	Available int64         `json:"available_bytes"`
	*learn.Sizes
}

// Table is the forecast for people.
func (f *Forecast) Table() *report.Table {
	rows := append(f.memoryRows(), [][]string{
		{"method", f.Method},
		{"instances", strconv.Itoa(f.Instances)},
		{"nodes", strconv.Itoa(f.Nodes)},
		{"edges", strconv.Itoa(f.Edges)},
		{"weights", strconv.Itoa(f.Weights)},
		{"blocks per network", strconv.Itoa(f.Blocks)},
		{"edges cut by blocks", fmt.Sprintf("%.1f %%", 100*f.CutFraction)},
	}...)
	return &report.Table{Headers: []string{"quantity", "value"}, Rows: rows}
}

func (f *Forecast) memoryRows() [][]string {
	rows := [][]string{{"peak memory, forecast", job.Mebibytes(f.Memory.Bytes)}}
	for _, item := range f.Memory.Items {
		name := "  " + item.Name
		switch {
		case item.Spilled:
			name = "  on disk, " + item.Name
		case item.Perhaps:
			name = "  perhaps " + item.Name
		}
		rows = append(rows, []string{name, job.Mebibytes(item.Bytes) + ": " + item.Reason})
	}
	if f.Memory.AtMost > f.Memory.Bytes {
		rows = append(rows, []string{"peak memory, at most", job.Mebibytes(f.Memory.AtMost)})
	}
	if f.Memory.Spilled > 0 {
		rows = append(rows, []string{option.Command("on disk, in the folder of {spill}"), job.Mebibytes(f.Memory.Spilled)})
	}
	return append(rows, []string{"memory available", job.Mebibytes(f.Available)})
}
