package partition

import "math"

// Tiles returns the assignment of the nodes of a rows × cols grid, numbered row by row, to tileRows × tileCols
// rectangular tiles, of which there are no more than rows and columns. The heights of the tiles differ by at most one
// row and their widths by at most one column; tiles are numbered row by row.
func Tiles(rows, cols, tileRows, tileCols int) (of []int32) {
	tileRow, tileCol := Ranges(rows, tileRows), Ranges(cols, tileCols)
	of = make([]int32, 0, rows*cols)
	for _, r := range tileRow {
		for _, c := range tileCol {
			of = append(of, r*int32(tileCols)+c)
		}
	}
	return of
}

// SquareTiles returns rows and columns of at least so many tiles that are nearly
// square, for Tiles, or of one per node where the grid has not so many.
func SquareTiles(count, rows, cols int) (tileRows, tileCols int) {
	tileRows = int(math.Round(math.Sqrt(float64(count) * float64(rows) / float64(cols))))
	tileRows = min(max(tileRows, 1), rows, count)
	return tileRows, min((count+tileRows-1)/tileRows, cols)
}

// Ranges returns the assignment of nodes 0 … n-1 to at most n runs of consecutive nodes whose lengths differ by at
// most one: the paper's partition of graphs that are not grids.
func Ranges(n, runs int) []int32 {
	of := make([]int32, 0, n)
	for run := range runs {
		for end := int(int64(n) * int64(run+1) / int64(runs)); len(of) < end; {
			of = append(of, int32(run))
		}
	}
	return of
}
