package partition

import (
	"fmt"
	"math"
)

// Tiles returns the assignment of the nodes of a rows × cols grid, numbered row by row, to tileRows × tileCols
// rectangular tiles. The heights of the tiles differ by at most one row and their widths by at most one column; tiles
// are numbered row by row, and blocks = tileRows*tileCols.
//
// It is an error if a number is below 1, if there are more tile rows than rows or more tile columns than columns, or
// if the grid has more than MaxInt32 nodes.
func Tiles(rows, cols, tileRows, tileCols int) (of []int32, blocks int, err error) {
	if rows < 1 || cols < 1 || rows > math.MaxInt32 || cols > math.MaxInt32/rows {
		return nil, 0, fmt.Errorf("partition: grid of %d rows and %d columns, want at least 1 of each and at most %d nodes",
			rows, cols, math.MaxInt32)
	}
	if tileRows < 1 || tileRows > rows || tileCols < 1 || tileCols > cols {
		return nil, 0, fmt.Errorf("partition: %d × %d tiles for a grid of %d rows and %d columns, want 1 × 1 to %d × %d",
			tileRows, tileCols, rows, cols, rows, cols)
	}
	tileRow, tileCol := evenRuns(rows, tileRows), evenRuns(cols, tileCols)
	of = make([]int32, 0, rows*cols)
	for _, r := range tileRow {
		for _, c := range tileCol {
			of = append(of, r*int32(tileCols)+c)
		}
	}
	return of, tileRows * tileCols, nil
}

// SquareTiles returns rows and columns of at least so many tiles that are nearly
// square, for Tiles, or of one per node where the grid has not so many.
func SquareTiles(count, rows, cols int) (tileRows, tileCols int) {
	tileRows = int(math.Round(math.Sqrt(float64(count) * float64(rows) / float64(cols))))
	tileRows = min(max(tileRows, 1), rows, count)
	return tileRows, min((count+tileRows-1)/tileRows, cols)
}

// Ranges returns the assignment of nodes 0 … numNodes-1 to runs of consecutive nodes whose lengths differ by at most
// one: the paper's partition of graphs that are not grids.
//
// It is an error if blocks is below 1 or above the number of nodes.
func Ranges(numNodes, blocks int) (of []int32, err error) {
	if err := checkBlocks(numNodes, blocks); err != nil {
		return nil, err
	}
	return evenRuns(numNodes, blocks), nil
}

// evenRuns returns, for positions 0 … n-1, the number of the run each is in when
// they are cut into runs that differ in length by at most one.
func evenRuns(n, runs int) []int32 {
	of := make([]int32, 0, n)
	for run := range runs {
		for end := int(int64(n) * int64(run+1) / int64(runs)); len(of) < end; {
			of = append(of, int32(run))
		}
	}
	return of
}

// checkBlocks reports a number of blocks that numNodes nodes cannot fill. The
// empty graph has one block, which is empty too.
func checkBlocks(numNodes, blocks int) error {
	if numNodes < 0 || numNodes > math.MaxInt32 {
		return fmt.Errorf("partition: number of nodes is %d, want 0 to %d", numNodes, math.MaxInt32)
	}
	if most := max(1, numNodes); blocks < 1 || blocks > most {
		return fmt.Errorf("partition: %d blocks for %d nodes, want 1 to %d", blocks, numNodes, most)
	}
	return nil
}
