package cli

import (
	"os"
	"slices"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/infer"
	"github.com/blockbp/blockbp/internal/job"
)

const countingHelp = "entropy counting numbers: convex, trw, bethe, or a file with lines \"node i c\" and \"edge e c\""

// countingOf returns the counting numbers of one network. A file goes by the
// numbers of the network before it was reduced.
func countingOf(spec string, seed uint64, reduction *infer.Reduction) (*counting.Numbers, error) {
	numbers, err := job.Counting(spec, seed, true)
	if err != nil {
		return nil, err
	}
	if slices.Contains(counting.Names, spec) {
		return numbers(reduction.Pairwise.Graph)
	}
	file, err := os.Open(spec)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return reduction.ReadCounting(file, spec)
}
