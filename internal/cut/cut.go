// Package cut decides into which blocks networks are cut.
package cut

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"weak"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/partition"
)

// CacheShare is the part of a core's second-level cache that what a visit of a block
// works with may fill: the rest is for features and instructions.
const CacheShare = 0.5

// Usual is how many blocks a network has where it need not have more.
const Usual = 20

// Kinds of cuts.
const (
	kindTiles   = "tiles" // rectangles of a grid
	kindRanges  = "range" // runs of node numbers: the paper's, for graphs that are no grids
	kindBreadth = "bfs"   // blocks grown breadth-first
)

var kinds = []string{"", kindTiles, kindRanges, kindBreadth}

// Cut says how networks are cut into blocks, all of them into as many; see learn.Cut. Resolve decides what is zero.
type Cut struct {
	Kind       string
	Blocks     int // per network
	Rows, Cols int // of tiles, in place of Blocks
}

// Parse reads a cut as users give it: blocks is "", a number, or ROWSxCOLS tiles;
// kind is a kind or "auto". The error begins with the name of the option at fault.
func Parse(blocks, kind string) (Cut, error) {
	c := Cut{Kind: kind}
	if kind == "auto" {
		c.Kind = ""
	}
	if !slices.Contains(kinds, c.Kind) {
		return c, fmt.Errorf("partition %q: want one of auto, %s", kind, strings.Join(kinds[1:], ", "))
	}
	rows, cols, tiled := strings.Cut(blocks, "x")
	switch {
	case blocks == "":
		return c, nil
	case tiled:
		c.Rows, _ = strconv.Atoi(rows) // 0 if it is none
		c.Cols, _ = strconv.Atoi(cols)
	default:
		c.Blocks, _ = strconv.Atoi(blocks)
	}
	switch {
	case max(c.Blocks, min(c.Rows, c.Cols)) <= 0:
		return c, fmt.Errorf("blocks %q: want a positive number such as 20, or tiles such as 4x5", blocks)
	case tiled && c.Kind != "" && c.Kind != kindTiles:
		return c, fmt.Errorf("blocks %s asks for tiles, but partition is %s", blocks, kind)
	case tiled:
		c.Kind = kindTiles
	}
	return c, nil
}

// Validate reports the first field that does not go with the others.
func (c Cut) Validate() error {
	switch {
	case !slices.Contains(kinds, c.Kind):
		return fmt.Errorf("violated constraint: Cut.Kind is one of %q, got %q", kinds, c.Kind)
	case c.Blocks < 0 || c.Rows < 0 || c.Cols < 0:
		return fmt.Errorf("violated constraint: Cut.Blocks, Rows and Cols ≥ 0, got %d, %d and %d", c.Blocks, c.Rows, c.Cols)
	case (c.Rows > 0) != (c.Cols > 0):
		return fmt.Errorf("violated constraint: Cut.Rows and Cols are both set or both 0, got %d and %d", c.Rows, c.Cols)
	case c.Rows > 0 && c.Blocks != 0 && c.Blocks != c.Rows*c.Cols:
		return fmt.Errorf("violated constraint: Cut.Blocks is 0 beside Rows and Cols, got %d beside %d × %d", c.Blocks,
			c.Rows, c.Cols)
	case c.Rows > 0 && c.Kind != "" && c.Kind != kindTiles:
		return fmt.Errorf("violated constraint: Cut.Kind is %q with Rows and Cols, got %q", kindTiles, c.Kind)
	}
	return nil
}

// open reports whether the number of blocks is left to Resolve.
func (c Cut) open() bool { return c.Blocks == 0 && c.Rows == 0 }

// Resolve returns what the cut comes to for each network, all with the same Blocks, and how many blocks an iteration
// visits. m gives the numbers of features. The default depends on the bytes of the second-level cache.
func (c Cut) Resolve(m *crf.Model, data []*crf.Instance, cache float64) (cuts []Cut, together int, err error) {
	if err := c.Validate(); err != nil {
		return nil, 0, err
	}
	if c.Rows > 0 {
		c.Kind = kindTiles
	}
	together = 1
	all := c
	if c.open() {
		all.Blocks, together = sizeFor(m, data, cache)
	}
	nodes, rows, cols := 0, 0, 0 // of the largest: more blocks would be empty
	for _, in := range data {
		nodes, rows, cols = max(nodes, in.Graph.NumNodes()), max(rows, in.Rows), max(cols, in.Cols)
	}
	if all.Rows > 0 {
		all.Rows, all.Cols = min(all.Rows, rows), min(all.Cols, cols)
		all.Blocks = all.Rows * all.Cols
	}
	all.Blocks = min(all.Blocks, nodes)
	model := largestGrid(data)
	if c.Kind == "" && c.open() && model != nil {
		all.Rows, all.Cols = tilesFor(all.Blocks, model)
		all.Blocks = all.Rows * all.Cols
	}
	for i, in := range data {
		cut, err := c.fit(all, in, model)
		if err != nil {
			return nil, 0, option.Errorf("%s: %w", option.Instance(i, in.Name), err)
		}
		cuts = append(cuts, cut)
	}
	return cuts, together, nil
}

// fit returns the cut of one network, given the cut for all of them and the network
// whose shape the tiles were chosen for.
func (c Cut) fit(all Cut, in, model *crf.Instance) (Cut, error) {
	switch {
	case c.Kind == kindTiles && in.Rows == 0:
		return all, option.Errorf("tiles need a grid, and the nodes of %s lie on none: give {blocks} a number, or "+
			"grid_shape in the file", in.Name)
	case c.Kind == kindTiles:
		all.Rows, all.Cols = all.tiles(in)
	case c.Kind == "" && all.Rows > 0 && upright(in) != upright(model):
		all.Rows, all.Cols = all.Cols, all.Rows
	}
	switch {
	case c.Kind == kindTiles: // as many of them as there are rows and columns
		all.Rows, all.Cols = min(all.Rows, in.Rows), min(all.Cols, in.Cols)
	case c.Kind == "" && all.Rows > 0 && all.Rows <= in.Rows && all.Cols <= in.Cols:
		all.Kind = kindTiles
	case c.Kind == "":
		all.Kind, all.Rows, all.Cols = kindBreadth, 0, 0
	}
	return all, nil
}

// tiles returns rows and columns of tiles of a network on a grid.
func (c Cut) tiles(in *crf.Instance) (rows, cols int) {
	if c.Rows > 0 {
		return c.Rows, c.Cols
	}
	return evenTiles(c.Blocks, in.Rows, in.Cols)
}

// Assign cuts a network as a resolved cut says: of [nodes] is the block of each node, of blocks in all.
func (c Cut) Assign(in *crf.Instance) (of []int32, blocks int) {
	filled := min(c.Blocks, max(1, in.Graph.NumNodes()))
	switch c.Kind {
	case kindTiles:
		of = partition.Tiles(in.Rows, in.Cols, c.Rows, c.Cols)
	case kindRanges:
		of = partition.Ranges(in.Graph.NumNodes(), filled)
	default:
		of = partition.BreadthFirst(in.Graph, filled)
	}
	return of, c.Blocks
}

// upright reports whether a network stands on its shorter side.
func upright(in *crf.Instance) bool { return in.Rows > in.Cols }

// largestGrid returns the network with the most nodes on a grid, large enough for tiles, or nil.
func largestGrid(data []*crf.Instance) (largest *crf.Instance) {
	for _, in := range data {
		tiled := min(in.Rows, in.Cols) >= defaultTiles[0] && max(in.Rows, in.Cols) >= defaultTiles[1]
		if tiled && (largest == nil || in.Graph.NumNodes() > largest.Graph.NumNodes()) {
			largest = in
		}
	}
	return largest
}

// defaultTiles are Usual, as squares of a landscape.
var defaultTiles = [2]int{4, 5}

// tilesFor returns rows and columns of at least so many tiles of a network.
func tilesFor(blocks int, in *crf.Instance) (rows, cols int) {
	switch {
	case blocks > Usual:
		return partition.SquareTiles(blocks, in.Rows, in.Cols)
	case upright(in):
		return defaultTiles[1], defaultTiles[0]
	}
	return defaultTiles[0], defaultTiles[1]
}

// evenTiles splits a number of blocks into rows and columns of tiles whose shape is nearest to square.
func evenTiles(count, gridRows, gridCols int) (rows, cols int) {
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

// Needed returns of how many blocks of the network that works with the most bytes
// each would fill CacheShare of the cache.
func Needed(m *crf.Model, data []*crf.Instance, cache float64) (blocks int, largest *crf.Instance) {
	most := 0.0
	for _, in := range data {
		if bytes := Bytes(m, in); bytes >= most {
			most, largest = bytes, in
		}
	}
	return int(math.Ceil(most / (CacheShare * cache))), largest
}

// sizeFor returns into how many blocks networks are cut where the user does not say: into Usual, or into more where a
// visit of a block would not fit the second-level cache; and how many of these an iteration visits, so that a pass
// has about Usual iterations again. Where more blocks would cut more than a quarter of the edges, as of graphs with
// hubs, there are no more: the two blocks of a cut edge both do its work. blocks is at most the number of nodes of
// the largest network.
func sizeFor(m *crf.Model, data []*crf.Instance, cache float64) (blocks, together int) {
	blocks, largest := Needed(m, data, cache)
	blocks = max(1, min(largest.Graph.NumNodes(), max(Usual, blocks)))
	if blocks > Usual && much(largest, blocks) {
		blocks = Usual
	}
	together = (blocks + Usual/2) / Usual
	if together > 1 {
		together += together % 2 // for two threads to have as much to do
	}
	return blocks, max(1, together)
}

// most is the share of edges between blocks above which more blocks do not pay.
const most = 0.25

// much reports whether so many blocks, tiles of a grid or grown breadth-first, would cut more than most of the edges.
func much(in *crf.Instance, blocks int) bool {
	g := in.Graph
	asked := cutQuestion{weak.Make(g), in.Rows, in.Cols, blocks}
	if known, ok := cutAnswers.Load(asked); ok {
		return known.(bool)
	}
	much := blocks > g.NumNodes() || partition.CutShare(g, usualBlocks(in, blocks)) > most
	cutAnswers.Store(asked, much)
	runtime.AddCleanup(g, func(asked cutQuestion) { cutAnswers.Delete(asked) }, asked)
	return much
}

// usualBlocks are those of a network that is cut into so many where nobody says how.
func usualBlocks(in *crf.Instance, blocks int) (of []int32) {
	if largestGrid([]*crf.Instance{in}) != nil {
		rows, cols := tilesFor(blocks, in)
		return partition.Tiles(in.Rows, in.Cols, rows, cols)
	}
	return partition.BreadthFirst(in.Graph, blocks)
}

// cutAnswers are those of Much, of graphs in use: it takes longer than all else before a run
// of a large graph, and is asked whenever a problem is prepared, weighed and begun.
var cutAnswers sync.Map // cutQuestion to bool

type cutQuestion struct {
	graph              weak.Pointer[graph.Graph]
	rows, cols, blocks int
}

// Cache returns the size of the second-level cache in bytes.
func Cache() float64 { return float64(memory.SecondLevelCache()) }

// Bytes is what visits of all blocks of an instance use more than once:
// tables, messages, beliefs, potentials of nodes and where to find them.
func Bytes(m *crf.Model, in *crf.Instance) (total float64) {
	const number, index = 8, 4
	for a := range m.Layout.Node {
		total += float64(in.NodeFeatures(a).Rows()) * (2*number*float64(m.Schema.NodeStates(a)) + 2*index)
	}
	for b, span := range m.Layout.Edge {
		ku, kv := m.Schema.EdgeStates(b)
		each := 2*number*float64(ku+kv) + 6*index
		if span.Untied || ground.Tables(in.EdgeFeatures(b)) == 0 {
			each += number * float64(span.States)
		}
		total += float64(in.EdgeFeatures(b).Rows()) * each
	}
	return total
}

// Pays reports whether learning gains by cutting networks, and says what decided. The largest has to need more than
// Usual blocks to stay in the cache, with few edges between them, and a sweep back and forth, which finds the marginals
// of chains of exact numbers, must not do.
func Pays(m *crf.Model, data []*crf.Instance, cache float64, exact func(*graph.Graph) bool) (pays bool, why string) {
	blocks, largest := Needed(m, data, cache)
	nodes, edges, share := largest.Graph.NumNodes(), largest.Graph.NumEdges(), memory.Text(CacheShare*cache)
	switch {
	case blocks <= Usual:
		return false, fmt.Sprintf("blocks pay where more than %d of them would each fill %s of cache, and the largest "+
			"network, of %d nodes and %d edges, would fill %d", Usual, share, nodes, edges, blocks)
	case partition.InOrder(largest.Graph) && exact(largest.Graph):
		return false, fmt.Sprintf("a sweep back and forth infers the largest, of %d nodes and %d edges, exactly", nodes,
			edges)
	case much(largest, Usual):
		return false, fmt.Sprintf("%d blocks of the largest would have more than %.0f %% of its %d edges between them, and "+
			"do their work twice", Usual, 100*most, edges)
	}
	return true, fmt.Sprintf("the largest network, of %d nodes and %d edges, would fill %s of cache %d times", nodes,
		edges, share, blocks)
}
