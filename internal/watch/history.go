package watch

import (
	"slices"

	"github.com/blockbp/blockbp/internal/runfolder"
)

// mostRows is how many records are kept: a browser draws as many in some milliseconds.
const mostRows = 4096

// history is what is shown of a run so far: its records, and of a long run a part of them.
type history struct{ rows []runfolder.Metric }

// add appends a record, and reports whether others were dropped: where there are too many, those stay that lie apart,
// and of evaluations, too.
func (h *history) add(m *runfolder.Metric) (thinned bool) {
	h.rows = append(h.rows, *m)
	if len(h.rows) <= mostRows {
		return false
	}
	apart, next := 4*(m.Iter-h.rows[0].Iter)/mostRows, map[bool]int{}
	h.rows = slices.DeleteFunc(h.rows, func(r runfolder.Metric) bool {
		evaluated := r.Eval != nil
		if r.Iter < next[evaluated] && r.Iter < m.Iter {
			return true
		}
		next[evaluated] = r.Iter + apart
		return false
	})
	return true
}

// last is the iteration of the last record, −1 without one.
func (h *history) last() int {
	if len(h.rows) == 0 {
		return -1
	}
	return h.rows[len(h.rows)-1].Iter
}
