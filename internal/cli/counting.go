package cli

import (
	"os"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/infer"
)

const countingHelp = "entropy counting numbers: convex, trw, bethe, or a file with lines \"node i c\" and \"edge e c\""

// countingFor returns what makes the counting numbers of a graph, as users name
// them. keep keeps the forests that certify tree-reweighted values.
func countingFor(spec string, seed uint64, keep bool) (counting.Func, error) {
	numbers, err := counting.Parse(spec, seed, keep)
	if err != nil && !strings.ContainsAny(spec, "./") {
		return nil, usagef("--counting %q: want %s or the path of a file%s", spec, strings.Join(counting.Names, ", "), didYouMean(spec, counting.Names))
	}
	return numbers, err
}

// countingOf returns the counting numbers of one network. A file goes by the
// numbers of the network before it was reduced.
func countingOf(spec string, seed uint64, reduction *infer.Reduction) (*counting.Numbers, error) {
	numbers, err := countingFor(spec, seed, true)
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
