package cli

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
)

const countingHelp = "entropy counting numbers: convex, trw, bethe, or a file with lines \"node i c\" and \"edge e c\""

// countingFor returns what makes the counting numbers of a graph, as users name
// them. keep keeps the forests that certify tree-reweighted values.
func countingFor(spec string, seed uint64, keep bool) (counting.Func, error) {
	numbers, err := counting.Parse(spec, seed, keep)
	if err != nil && !strings.ContainsAny(spec, "./") {
		return nil, usagef("--counting %q: want %s or the path of a file%s", spec, strings.Join(counting.Names, ", "), didYouMean(spec, counting.Names))
	}
	if err != nil {
		return nil, err
	}
	return func(g *graph.Graph) (*counting.Numbers, error) {
		c, err := numbers(g)
		if path := (*fs.PathError)(nil); err != nil && !errors.As(err, &path) {
			err = &exitError{exitBadData, err}
		}
		return c, err
	}, nil
}
