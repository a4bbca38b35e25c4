package cli

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/blockbp/blockbp/internal/nearest"
	"github.com/blockbp/blockbp/learn"
)

// partitionFlags say how networks are cut into blocks.
type partitionFlags struct {
	blocks, kind string
}

func (p *partitionFlags) register(f *pflag.FlagSet) {
	f.StringVar(&p.blocks, "blocks", "", "blocks per network: a number, or ROWSxCOLS tiles of a grid (default 1 where "+
		"networks are not large; else 20, 4x5 on grids, or as many as fit the second-level cache)")
	f.StringVar(&p.kind, "partition", "auto", "how to cut: auto, tiles, range (of node numbers), bfs, or metis")
}

func (p *partitionFlags) resolve() (learn.Cut, error) {
	cut, err := learn.ParseCut(p.blocks, p.kind)
	if err != nil {
		if strings.HasPrefix(err.Error(), "partition") {
			return cut, usagef("--partition %q: %s", p.kind,
				nearest.Suggestion(p.kind, []string{"auto", "tiles", "range", "bfs", "metis"}, ""))
		}
		return cut, usagef("--%v", err)
	}
	return cut, nil
}
