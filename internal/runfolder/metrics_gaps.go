package runfolder

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// errRepeated says that a record is not of a later iteration than the one before.
var errRepeated = errors.New("it is of an iteration that is there already")

// eachUntil hands each record of the metrics file at path with iterations up to iter to
// visit, and each line that is no record, or is of an iteration that is there already,
// to refuse.
func eachUntil(path string, iter int, visit func(m *Metric, line []byte) error, refuse func(*LineError)) error {
	last, number := -1, 0
	return eachLine(path, func(m *Metric, line []byte, wrong *LineError) error {
		number++ // of those that are not blank: metrics have no others
		switch {
		case wrong != nil:
			refuse(wrong)
		case m.Iter > iter:
		case m.Iter <= last:
			refuse(lineError(path, number, errRepeated))
		default:
			last = m.Iter
			return visit(m, line)
		}
		return nil
	})
}

// mostGaps bounds how many gaps are told.
const mostGaps = 5

// Gaps says in words what the metrics file at path lacks of the iterations 0 to last of
// a run, one record each, and which lines of it are of no use; nothing if it is whole.
func Gaps(path string, last int) (texts []string, err error) {
	var gaps []string
	missing, next := 0, 0
	gap := func(end int) {
		switch n := end - next; {
		case n == 1:
			gaps = append(gaps, fmt.Sprint(next))
		case n > 1:
			gaps = append(gaps, fmt.Sprintf("%d–%d", next, end-1))
		}
		missing += end - next
		next = end + 1
	}
	var refused []*LineError
	err = eachUntil(path, last, func(m *Metric, _ []byte) error {
		gap(m.Iter)
		return nil
	}, func(wrong *LineError) { refused = append(refused, wrong) })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	what := "does not have"
	if err != nil {
		what = "is missing, and with it"
	}
	gap(last + 1)
	if missing > 0 && last > 0 { // a run may be interrupted before the record of its start
		more := ""
		if len(gaps) > mostGaps {
			gaps, more = gaps[:mostGaps], ", …"
		}
		texts = append(texts, fmt.Sprintf("%s %s the records of %d of the %d iterations so far (%s%s): curves will lack "+
			"them; the training itself goes on unchanged", path, what, missing, last+1, strings.Join(gaps, ", "), more))
	}
	if len(refused) > 0 {
		texts = append(texts, fmt.Sprintf("lines of %s that are left out: %d, the first for %v",
			path, len(refused), refused[0]))
	}
	return texts, nil
}
