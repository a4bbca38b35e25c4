package watch

import (
	"math"
	"slices"

	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// mostRows is how many records are kept before those that do not show are dropped. Two curves fit, of at most 2000
// points in so many columns, and a browser draws as many in some milliseconds.
const mostRows, thinColumns = 4096, 500

// history is what is shown of a run so far: its records, and of a long run those that make its curves.
type history struct {
	rows  []runfolder.Metric
	limit int // when to thin; 0: mostRows
}

// add appends a record, and reports whether others were dropped.
func (h *history) add(m *runfolder.Metric) (thinned bool) {
	h.rows = append(h.rows, *m)
	if len(h.rows) <= max(h.limit, mostRows) {
		return false
	}
	h.thin()
	h.limit = 2 * len(h.rows) // so that each record is looked at a few times only
	return true
}

// last is the iteration of the last record, −1 without one.
func (h *history) last() int {
	if len(h.rows) == 0 {
		return -1
	}
	return h.rows[len(h.rows)-1].Iter
}

// thin keeps the first and the last record, and what shows of every curve: the objective,
// the gradient norm, the proved bound, and the evaluations.
func (h *history) thin() {
	kept := make([]bool, len(h.rows))
	kept[0], kept[len(kept)-1] = true, true
	mark := func(value func(*runfolder.Metric) float64) {
		var at []int
		var x, y []float64
		for i := range h.rows {
			if v := value(&h.rows[i]); !math.IsNaN(v) && !math.IsInf(v, 0) {
				at, x, y = append(at, i), append(x, float64(h.rows[i].Iter)), append(y, v)
			}
		}
		for _, k := range report.Thin(x, y, thinColumns) {
			kept[at[k]] = true
		}
	}
	mark(func(m *runfolder.Metric) float64 { return m.Objective })
	mark(func(m *runfolder.Metric) float64 { return m.GradNorm })
	mark(func(m *runfolder.Metric) float64 { return m.Suboptimality })
	for name := range evaluations(h.rows) {
		mark(func(m *runfolder.Metric) float64 {
			if v, ok := m.Eval[name]; ok {
				return v
			}
			return math.NaN()
		})
	}
	i := -1
	h.rows = slices.DeleteFunc(h.rows, func(runfolder.Metric) bool { i++; return !kept[i] })
}

// evaluations are the names of all evaluations in some records.
func evaluations(rows []runfolder.Metric) map[string]bool {
	names := map[string]bool{}
	for i := range rows {
		for name := range rows[i].Eval {
			names[name] = true
		}
	}
	return names
}
