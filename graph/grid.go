package graph

import "fmt"

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
// grid could have more edges than a graph can hold. Cost: O(nodes).
func Grid(rows, cols int, o GridOptions) (*Graph, error) {
	least, kind := 1, "grid"
	if o.Torus {
		least, kind = smallestTorus, "torus"
	}
	steps := [][2]int{{0, 1}, {1, 0}, {1, 1}, {1, -1}}
	if !o.Eight {
		steps = steps[:2]
	}
	most := mostEdges / len(steps) // nodes, so that there are not too many edges
	if rows < least || cols < least {
		return nil, fmt.Errorf("graph: %s of %d rows and %d columns, want at least %d of each", kind, rows, cols, least)
	}
	if cols > most/rows {
		return nil, fmt.Errorf("graph: %s of %d rows and %d columns, at most %d nodes are supported", kind, rows, cols, most)
	}
	u, v := make([]int32, 0, len(steps)*rows*cols), make([]int32, 0, len(steps)*rows*cols)
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
