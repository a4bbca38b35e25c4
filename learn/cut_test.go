package learn

import "testing"

// TestCut: 20 blocks while they fit the cache, and more where they do not, of which
// an iteration then visits as many as make about a 20th of the network.
func TestCut(t *testing.T) {
	p := randomProblem(t, 1, problemOptions{rows: 20, cols: 20, states: 3, nodeDim: 2, edgeDim: 2, l2: 1})
	bytes := workingBytes(p.Model, p.Data[0])
	// 760 edges: a table and both messages, and indices; 400 nodes: belief and potentials.
	if want := 760.0*(9*8+2*6*8+24) + 400*(2*3*8+8); bytes != want {
		t.Errorf("a visit of all works with %v bytes, want %v", bytes, want)
	}
	large := randomProblem(t, 1, problemOptions{rows: 150, cols: 150, states: 2, nodeDim: 1, edgeDim: 1, l2: 1})
	bytes = workingBytes(large.Model, large.Data[0])
	for _, c := range []struct {
		parts            float64 // of the network that half the cache holds
		blocks, together int
	}{{1, 20, 1}, {20, 20, 1}, {25, 25, 1}, {35, 35, 2}, {64, 64, 4}, {100, 100, 6}} {
		blocks, together := cutFor(large.Model, large.Data, bytes/c.parts/cacheShare*1.0001)
		if blocks != c.blocks || together != c.together {
			t.Errorf("a cache for 1/%v: %d blocks, %d together; want %d, %d", c.parts, blocks, together, c.blocks, c.together)
		}
	}
	// Blocks of some ten nodes have half of their edges with others.
	if blocks, together := cutFor(p.Model, p.Data, workingBytes(p.Model, p.Data[0])/40); blocks != 20 || together != 1 {
		t.Errorf("a network that would be cut to pieces: %d blocks, %d together", blocks, together)
	}
	small := randomProblem(t, 1, problemOptions{rows: 1, cols: 4, states: 2, nodeDim: 1, edgeDim: 1, l2: 1})
	if blocks, together := DefaultCut(small.Model, small.Data); blocks != 4 || together != 1 {
		t.Errorf("four nodes: %d blocks, %d together", blocks, together)
	}
}
