package graph

import (
	"fmt"
	"math"
)

// GridOptions chooses the neighbourhood of a grid. The zero value is the plain grid with four neighbours.
type GridOptions struct {
	Eight bool // join the diagonal neighbours too
	Torus bool // join the last row to the first and the last column to the first
}

// smallestTorus is the least number of rows and columns of a torus: with two, going right and going left reach the
// same node, which would need two edges between the same two nodes.
const smallestTorus = 3

// Grid returns the grid of rows × cols nodes; the node in row r and column c is r*cols + c.
//
// Edges are listed node by node in row-major order. Each node contributes, in this order and where they exist, its
// edges to the right, downwards, and with Eight to the lower right and to the lower left; the node itself is the
// first end. On a torus the neighbours wrap round, so every node contributes all of them.
//
// It is an error if a dimension is below 1, or below 3 on a torus, or if the
// grid has more nodes or edges than a graph can hold. Cost: O(nodes).
func Grid(rows, cols int, o GridOptions) (*Graph, error) {
	numEdges, err := o.countEdges(rows, cols)
	if err != nil {
		return nil, err
	}
	u, v := make([]int32, 0, numEdges), make([]int32, 0, numEdges)
	steps := [][2]int{{0, 1}, {1, 0}, {1, 1}, {1, -1}}
	if !o.Eight {
		steps = steps[:2]
	}
	for r := range rows {
		for c := range cols {
			for _, step := range steps {
				down, across := r+step[0], c+step[1]
				if o.Torus {
					down, across = down%rows, (across+cols)%cols
				}
				if down < rows && across >= 0 && across < cols {
					u, v = append(u, int32(r*cols+c)), append(v, int32(down*cols+across))
				}
			}
		}
	}
	return FromEdges(rows*cols, u, v)
}

// countEdges checks the size of the grid and returns its number of edges.
func (o GridOptions) countEdges(rows, cols int) (int, error) {
	least, kind := 1, "grid"
	if o.Torus {
		least, kind = smallestTorus, "torus"
	}
	if rows < least || cols < least {
		return 0, fmt.Errorf("graph: %s of %d rows and %d columns, want at least %d of each", kind, rows, cols, least)
	}
	if rows > math.MaxInt32 || cols > math.MaxInt32/rows {
		return 0, fmt.Errorf("graph: %s of %d rows and %d columns, at most %d nodes are supported",
			kind, rows, cols, math.MaxInt32)
	}
	across, down := int64(cols-1), int64(rows-1)
	if o.Torus {
		across, down = int64(cols), int64(rows)
	}
	numEdges := int64(rows)*across + down*int64(cols)
	if o.Eight {
		numEdges += 2 * down * across
	}
	if numEdges > mostEdges {
		return 0, fmt.Errorf("graph: %s of %d rows and %d columns has %d edges, at most %d are supported",
			kind, rows, cols, numEdges, mostEdges)
	}
	return int(numEdges), nil
}
