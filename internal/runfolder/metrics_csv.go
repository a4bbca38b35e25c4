package runfolder

import (
	"encoding/csv"
	"io"
	"maps"
	"slices"
)

// WriteMetricsCSV makes metrics.csv from metrics.jsonl: the fixed columns, then
// every eval.<set>.<metric> that occurs, by name; unknown values are empty. The
// metrics are read twice and never held in memory. Flush their writer first.
func (run *Run) WriteMetricsCSV() error {
	path := run.Path(MetricsFile)
	evals, err := evalNames(path)
	if err != nil {
		return err
	}
	return run.WriteFile(MetricsCSVFile, func(w io.Writer) error {
		return writeCSV(w, path, evals)
	})
}

// evalNames are the names of all evaluation results in a metrics file, sorted.
func evalNames(path string) ([]string, error) {
	names := map[string]bool{}
	err := eachMetric(path, func(m *Metric, _ []byte) error {
		for name := range m.Eval {
			names[name] = true
		}
		return nil
	})
	return slices.Sorted(maps.Keys(names)), err
}

// writeCSV writes the metrics file at path as a table with these evaluation
// results.
func writeCSV(w io.Writer, path string, evals []string) error {
	table := csv.NewWriter(w)
	row := make([]string, 0, len(columns)+len(evals))
	for i := range columns {
		row = append(row, columns[i].name)
	}
	for _, name := range evals {
		row = append(row, evalPrefix+name)
	}
	if err := table.Write(row); err != nil {
		return err
	}
	var scratch []byte
	err := eachMetric(path, func(m *Metric, _ []byte) error {
		row = row[:0]
		for i := range columns {
			scratch = columns[i].appendValue(scratch[:0], m)
			row = append(row, string(scratch))
		}
		for _, name := range evals {
			row = append(row, evalText(m, name))
		}
		return table.Write(row)
	})
	if err != nil {
		return err
	}
	table.Flush()
	return table.Error()
}

// evalText is the result called name in m, "" if unknown.
func evalText(m *Metric, name string) string {
	v, known := m.Eval[name]
	if !known {
		return ""
	}
	return string(appendFinite(nil, v))
}
