package partition

import (
	"slices"
	"testing"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestFillEmptyBlocks: block 1 has the most work (the star's centre), then block
// 3; each gives its last node, and then block 1, first again, gives another.
func TestFillEmptyBlocks(t *testing.T) {
	g := oracle.Must(graph.FromEdges(8, []int32{0, 0, 0, 0, 0}, []int32{1, 2, 3, 4, 5}))(t)
	of := []int32{1, 1, 1, 1, 3, 3, 3, 5}
	fillEmptyBlocks(g, of, 6)
	if want := []int32{1, 1, 4, 0, 3, 3, 2, 5}; !slices.Equal(of, want) {
		t.Errorf("got %v, want %v", of, want)
	}
}
