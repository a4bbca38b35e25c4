package runfolder

import (
	"encoding/csv"
	"io"
	"maps"
	"math"
	"slices"
)

// WriteMetricsCSV makes metrics.csv from metrics.jsonl: the fixed columns, then
// every eval.<set>.<metric> that occurs, by name; unknown values are empty. Flush the
// writer of the metrics first.
func (run *Run) WriteMetricsCSV() error {
	metrics, err := ReadMetrics(run.Path(MetricsFile))
	if err != nil {
		return err
	}
	return run.WriteFile(MetricsCSVFile, func(w io.Writer) error { return writeCSV(w, metrics) })
}

// writeCSV writes records as a table.
func writeCSV(w io.Writer, metrics []Metric) error {
	occurring := map[string]bool{}
	for _, m := range metrics {
		for name := range m.Eval {
			occurring[name] = true
		}
	}
	evals := slices.Sorted(maps.Keys(occurring))
	row := slices.Clone(columnNames)
	for _, name := range evals {
		row = append(row, evalPrefix+name)
	}
	table := csv.NewWriter(w)
	if err := table.Write(row); err != nil {
		return err
	}
	for i := range metrics {
		row = row[:0]
		for _, field := range metrics[i].columns() {
			row = append(row, string(appendValue(nil, field)))
		}
		for _, name := range evals {
			v, known := metrics[i].Eval[name]
			if !known {
				v = math.NaN()
			}
			row = append(row, string(appendFinite(nil, v)))
		}
		if err := table.Write(row); err != nil {
			return err
		}
	}
	table.Flush()
	return table.Error()
}
