package cli

import (
	"io"
	"os"
	"strings"
	"sync"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/infer"
)

const countingHelp = "entropy counting numbers: convex, trw, bethe, or a file with lines \"node i c\" and \"edge e c\""

// countingFor returns what makes the counting numbers of a graph, as users name
// them. They are made once per graph. A file can serve one graph only. certify
// keeps what a certificate of tree-reweighted values needs.
func countingFor(spec string, seed uint64, certify bool) (func(*graph.Graph) (*counting.Numbers, error), error) {
	known := map[*graph.Graph]*counting.Numbers{}
	build, err := countingByName(spec, seed, certify)
	if err != nil {
		return nil, err
	}
	if build == nil {
		build = func(g *graph.Graph) (*counting.Numbers, error) {
			return readCounting(spec, func(r io.Reader) (*counting.Numbers, error) { return counting.Read(r, spec, g) })
		}
	}
	var lock sync.Mutex // predictions run on several threads
	return func(g *graph.Graph) (*counting.Numbers, error) {
		lock.Lock()
		defer lock.Unlock()
		if c, ok := known[g]; ok {
			return c, nil
		}
		c, err := build(g)
		if err == nil {
			known[g] = c
		}
		return c, err
	}, nil
}

// countingOf returns the counting numbers of one network. A file goes by the
// numbers of the network before it was reduced.
func countingOf(spec string, seed uint64, reduction *infer.Reduction) (*counting.Numbers, error) {
	build, err := countingByName(spec, seed, true)
	switch {
	case err != nil:
		return nil, err
	case build != nil:
		return build(reduction.Pairwise.Graph)
	}
	return readCounting(spec, func(r io.Reader) (*counting.Numbers, error) { return reduction.ReadCounting(r, spec) })
}

// countingByName returns what makes counting numbers that have a name, or nil if
// spec is the path of a file.
func countingByName(spec string, seed uint64, certify bool) (func(*graph.Graph) (*counting.Numbers, error), error) {
	switch spec {
	case "convex":
		return func(g *graph.Graph) (*counting.Numbers, error) { return counting.Convex(g), nil }, nil
	case "bethe":
		return func(g *graph.Graph) (*counting.Numbers, error) { return counting.Bethe(g), nil }, nil
	case "trw":
		sample := counting.SampledTreeReweighted
		if certify {
			sample = counting.CertifiableTreeReweighted
		}
		return func(g *graph.Graph) (*counting.Numbers, error) { return sample(g, seed) }, nil
	}
	if _, err := os.Stat(spec); err != nil {
		if !strings.ContainsAny(spec, "./") {
			return nil, usagef("--counting %q: want convex, trw, bethe or the path of a file%s", spec, didYouMean(spec, []string{"convex", "trw", "bethe"}))
		}
		return nil, err
	}
	return nil, nil
}

// readCounting opens a file of counting numbers for a reader of them.
func readCounting(path string, read func(io.Reader) (*counting.Numbers, error)) (*counting.Numbers, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return read(f)
}
