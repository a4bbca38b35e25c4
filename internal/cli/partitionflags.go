package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/graph/partition"
	"github.com/blockbp/blockbp/learn"
)

// partitionFlags say how networks are cut into blocks.
type partitionFlags struct {
	blocks, kind string
}

func (p *partitionFlags) register(f *pflag.FlagSet) {
	f.StringVar(&p.blocks, "blocks", "", "blocks per network: a number, or ROWSxCOLS tiles of a grid (default 20, or 4x5 on grids)")
	f.StringVar(&p.kind, "partition", "auto", "how to cut: auto, tiles, range (of node numbers), bfs, or metis")
}

// resolved is a partition request that was understood.
type resolved struct {
	kind       string
	rows, cols int // of tiles, 0 if a number was given
	count      int
}

func (p *partitionFlags) resolve() (resolved, error) {
	r := resolved{kind: p.kind}
	bad := func() (resolved, error) {
		return r, usagef("--blocks %q: want a positive number such as 20, or tiles such as 4x5", p.blocks)
	}
	switch p.kind {
	case "auto", "tiles", "range", "bfs", "metis":
	default:
		return r, usagef("--partition %q: %s", p.kind, nearestName(p.kind, []string{"auto", "tiles", "range", "bfs", "metis"}, ""))
	}
	if p.blocks == "" {
		return r, nil
	}
	if rows, cols, tiles := strings.Cut(p.blocks, "x"); tiles {
		var e1, e2 error
		r.rows, e1 = strconv.Atoi(rows)
		r.cols, e2 = strconv.Atoi(cols)
		if e1 != nil || e2 != nil || r.rows < 1 || r.cols < 1 {
			return bad()
		}
		if p.kind != "auto" && p.kind != "tiles" {
			return r, usagef("--blocks %s asks for tiles, but --partition is %s", p.blocks, p.kind)
		}
		r.kind = "tiles"
		return r, nil
	}
	var err error
	if r.count, err = strconv.Atoi(p.blocks); err != nil || r.count < 1 {
		return bad()
	}
	return r, nil
}

// partitioner returns what cuts each instance. smallest is the number of nodes of
// the smallest one: no network can have more blocks.
func (r resolved) partitioner(seed uint64, smallest int) func(*crf.Instance) (*partition.Partition, error) {
	known := map[*graph.Graph]*partition.Partition{}
	return func(in *crf.Instance) (*partition.Partition, error) {
		if p, ok := known[in.Graph]; ok {
			return p, nil
		}
		of, blocks, err := r.assign(in, seed, smallest)
		if err != nil {
			return nil, err
		}
		p, err := partition.FromAssignment(in.Graph, of, blocks)
		if err == nil {
			known[in.Graph] = p
		}
		return p, err
	}
}

func (r resolved) assign(in *crf.Instance, seed uint64, smallest int) (of []int32, blocks int, err error) {
	rows, cols, count := r.rows, r.cols, r.count
	grid := in.Rows > 0
	if r.kind == "tiles" && !grid {
		return nil, 0, usagef("tiles need a grid, and the nodes of %s lie on none: give --blocks a number, or grid_shape in the file", in.Name)
	}
	if count == 0 && rows == 0 {
		count = min(learn.DefaultBlocks, smallest)
		if grid && r.kind == "auto" && in.Rows >= 4 && in.Cols >= 5 && smallest >= learn.DefaultBlocks {
			rows, cols = 4, 5
		}
	}
	if r.kind == "tiles" && rows == 0 {
		rows, cols = tilesOf(count, in.Rows, in.Cols)
	}
	switch {
	case rows > 0:
		return partition.Tiles(in.Rows, in.Cols, rows, cols)
	case r.kind == "range":
		of, err = partition.Ranges(in.Graph.NumNodes(), count)
	case r.kind == "metis":
		of, err = partition.METIS(in.Graph, count, seed)
		if errors.Is(err, partition.ErrNoMETIS) {
			err = usagef("--partition metis: %v", err)
		}
	default:
		of, err = partition.BreadthFirst(in.Graph, count)
	}
	return of, count, err
}

// tilesOf splits a number of blocks into rows and columns of tiles whose shape
// is nearest to square.
func tilesOf(count, gridRows, gridCols int) (rows, cols int) {
	best := 0.0
	for r := 1; r <= count; r++ {
		if count%r != 0 {
			continue
		}
		h, w := float64(gridRows)/float64(r), float64(gridCols)/float64(count/r)
		if square := min(h/w, w/h); square > best {
			best, rows, cols = square, r, count/r
		}
	}
	return rows, cols
}

// String describes the request for the record.
func (r resolved) String() string {
	switch {
	case r.rows > 0:
		return fmt.Sprintf("%dx%d tiles", r.rows, r.cols)
	case r.count > 0:
		return fmt.Sprintf("%d blocks (%s)", r.count, r.kind)
	}
	return "default"
}
