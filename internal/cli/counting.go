package cli

import (
	"os"
	"strings"
	"sync"

	"github.com/blockbp/blockbp/bp"
	"github.com/blockbp/blockbp/graph"
)

const countingHelp = "entropy counting numbers: convex, trw, bethe, or a file with lines \"node i c\" and \"edge e c\""

// countingFor returns what makes the counting numbers of a graph, as users name
// them. They are made once per graph. A file can serve one graph only. certify
// keeps what a certificate of tree-reweighted values needs.
func countingFor(spec string, seed uint64, certify bool) (func(*graph.Graph) (*bp.Counting, error), error) {
	known := map[*graph.Graph]*bp.Counting{}
	var build func(*graph.Graph) (*bp.Counting, error)
	switch spec {
	case "convex":
		build = func(g *graph.Graph) (*bp.Counting, error) { return bp.Convex(g), nil }
	case "bethe":
		build = func(g *graph.Graph) (*bp.Counting, error) { return bp.Bethe(g), nil }
	case "trw":
		sample := bp.SampledTreeReweighted
		if certify {
			sample = bp.CertifiableTreeReweighted
		}
		build = func(g *graph.Graph) (*bp.Counting, error) { return sample(g, seed) }
	default:
		if _, err := os.Stat(spec); err != nil {
			if !strings.ContainsAny(spec, "./") {
				return nil, usagef("--counting %q: want convex, trw, bethe or the path of a file; %s", spec, nearestName(spec, []string{"convex", "trw", "bethe"}, ""))
			}
			return nil, err
		}
		build = func(g *graph.Graph) (*bp.Counting, error) { return readCounting(spec, g) }
	}
	var lock sync.Mutex // predictions run on several threads
	return func(g *graph.Graph) (*bp.Counting, error) {
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

func readCounting(path string, g *graph.Graph) (*bp.Counting, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return bp.ReadCounting(f, path, g)
}
