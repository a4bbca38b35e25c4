package spanning

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestUnknownAtTheLimit: wherever the work ends, the answer is either right or
// unknown with the reason.
func TestUnknownAtTheLimit(t *testing.T) {
	g := oracle.Must(graph.Grid(12, 12, graph.GridOptions{}))(t)
	sample := oracle.Must(Cover(t.Context(), g, rand.New(rand.NewPCG(1, 2)), 10, false))(t)
	mu := sample.Appearance()
	unknown := 0
	for limit := int64(0); ; limit += 97 {
		check := newPolytopeCheck(g, mu)
		check.flow.ScansLeft = limit
		verdict := check.run()
		switch {
		case verdict.Status == Outside:
			t.Fatalf("limit %d: %+v", limit, verdict)
		case verdict.Status == Unknown:
			unknown++
			if !strings.Contains(verdict.Reason, "144 nodes and 264 edges: the check stopped") {
				t.Fatalf("limit %d: reason %q", limit, verdict.Reason)
			}
			continue
		}
		if unknown < 10 {
			t.Errorf("inside was claimed after %d scans", limit)
		}
		return
	}
}

// TestSumKeepsWhatRoundingLoses adds numbers that a plain sum misses.
func TestSumKeepsWhatRoundingLoses(t *testing.T) {
	var total sum
	total.add(1e16)
	for range 1000 {
		total.add(0.25)
	}
	total.add(-1e16)
	if got := total.over(250); got != 0 {
		t.Errorf("the sum is off by %v", got)
	}
}
