package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/learn"
)

// partitionFlags say how networks are cut into blocks.
type partitionFlags struct {
	blocks, kind string
}

func (p *partitionFlags) register(f *pflag.FlagSet) {
	f.StringVar(&p.blocks, "blocks", "", "blocks per network: a number, or ROWSxCOLS tiles of a grid (default 20, or 4x5 on grids, and more for networks whose 20th part does not fit the second-level cache)")
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

// cutDefaults is what the data make of a request that leaves things open.
type cutDefaults struct {
	blocks, together int
	smallest         int // nodes of the smallest network: none can have more blocks
}

// together returns how many blocks an iteration visits if the user does not say: one
// of those that were asked for.
func (r resolved) together(open cutDefaults) int {
	if r.count > 0 || r.rows > 0 {
		return 1
	}
	return open.together
}

func defaultCut(m *crf.Model, data []*crf.Instance) cutDefaults {
	c := cutDefaults{smallest: smallest(data)}
	c.blocks, c.together = learn.DefaultCut(m, data)
	return c
}

// partitioner returns what cuts each instance.
func (r resolved) partitioner(seed uint64, open cutDefaults) func(*crf.Instance) (*partition.Partition, error) {
	known := map[*graph.Graph]*partition.Partition{}
	return func(in *crf.Instance) (*partition.Partition, error) {
		if p, ok := known[in.Graph]; ok {
			return p, nil
		}
		d, err := r.divide(in, open)
		if err != nil {
			return nil, err
		}
		of, blocks, err := d.assign(in, seed)
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

// division is what a request comes to for one network.
type division struct {
	kind       string // tiles, range, bfs or metis
	rows, cols int    // of tiles
	count      int    // blocks
}

// divide decides what the request leaves open.
func (r resolved) divide(in *crf.Instance, open cutDefaults) (division, error) {
	d := division(r)
	grid := in.Rows > 0
	if d.kind == "tiles" && !grid {
		return d, usagef("tiles need a grid, and the nodes of %s lie on none: give --blocks a number, or grid_shape in the file", in.Name)
	}
	asked := d.count > 0 || d.rows > 0
	if !asked {
		d.count = open.blocks
	}
	const autoRows, autoCols = 4, 5 // learn.DefaultBlocks, as squares of a landscape
	switch wide := in.Rows >= autoRows && in.Cols >= autoCols && open.smallest >= learn.DefaultBlocks; {
	case d.kind == "auto" && !asked && wide && d.count == learn.DefaultBlocks:
		d.kind, d.rows, d.cols = "tiles", autoRows, autoCols
	case d.kind == "auto" && !asked && wide:
		d.kind = "tiles"
		d.rows, d.cols = partition.SquareTiles(d.count, in.Rows, in.Cols)
	case d.kind == "auto":
		d.kind = "bfs"
	case d.kind == "tiles" && d.rows == 0:
		d.rows, d.cols = tilesOf(d.count, in.Rows, in.Cols)
	}
	err := d.fits(in)
	return d, err
}

// fits refuses more blocks than there are nodes.
func (d *division) fits(in *crf.Instance) error {
	switch n := in.Graph.NumNodes(); {
	case d.rows > 0 && (d.rows > in.Rows || d.cols > in.Cols):
		return usagef("%dx%d tiles are too many for a grid of %d rows and %d columns: give --blocks at most %dx%d", d.rows, d.cols, in.Rows, in.Cols, in.Rows, in.Cols)
	case d.rows > 0:
		d.count = d.rows * d.cols
	case d.count > n:
		return usagef("%d blocks are too many for %d nodes: give --blocks a number from 1 to %d", d.count, n, n)
	}
	return nil
}

// assign cuts the network.
func (d *division) assign(in *crf.Instance, seed uint64) (of []int32, blocks int, err error) {
	switch d.kind {
	case "tiles":
		return partition.Tiles(in.Rows, in.Cols, d.rows, d.cols)
	case "range":
		of, err = partition.Ranges(in.Graph.NumNodes(), d.count)
	case "metis":
		of, err = partition.METIS(in.Graph, d.count, seed)
		if errors.Is(err, partition.ErrNoMETIS) {
			err = usagef("--partition metis: %v", err)
		}
	default:
		of, err = partition.BreadthFirst(in.Graph, d.count)
	}
	return of, d.count, err
}

// blocks returns the value of --blocks that asks for this division.
func (d *division) blocks() any {
	if d.rows > 0 {
		return fmt.Sprintf("%dx%d", d.rows, d.cols)
	}
	return d.count
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
