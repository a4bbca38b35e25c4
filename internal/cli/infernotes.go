package cli

import (
	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/internal/job"
)

// noteKind says what an answer is that is not exact: its file format has no place
// for that.
func (a *app) noteKind(f *inferFlags, answer *inferAnswer) {
	const advice = "--method exact gives the exact one where memory suffices"
	by := "by counting numbers " + answer.Counting
	if f.method == methodMeanField {
		by = "by mean field"
	}
	switch {
	case answer.Bound == counting.Exact:
	case f.method == methodGibbs:
		a.note("these marginals are estimates by Gibbs sampling; --method exact gives exact ones where memory suffices")
	case f.task == "MAR":
		a.note("these marginals are an approximation, %s; --method exact gives exact ones where memory suffices", by)
	case answer.Bound == counting.Upper:
		a.note("this value is an upper bound on log10 Z, %s; %s", by, advice)
	case answer.Bound == counting.Lower:
		a.note("this value is a lower bound on log10 Z, %s; %s", by, advice)
	default:
		a.note("this value is an approximation of log10 Z of unknown sign, %s; %s", by, advice)
	}
}

// exactCost is what variable elimination takes, as --json prints it.
type exactCost struct {
	Width      int     `json:"induced_width"`
	Bytes      int64   `json:"forecast_bytes"`
	Operations float64 `json:"forecast_operations"`
}

// costlyBytes and costlyOperations are what a user would like to hear of before it
// starts: a quarter of the memory that is allowed unless told otherwise, and some
// seconds.
const (
	costlyBytes      = 1 << 29
	costlyOperations = 1e9
)

// noteCost says what elimination will take, before a costly one is run.
func (a *app) noteCost(width int, bytes int64, operations float64) {
	if bytes > costlyBytes || operations > costlyOperations {
		a.note("exact inference over induced width %d will take about %s and %.1e operations", width, job.Mebibytes(bytes), operations)
	}
}
