package job

import (
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestScoresOfTwo: two columns with names have the norm of their couplings for a score, 5, and two sites of an
// alignment what they have beyond their means, 0.
func TestScoresOfTwo(t *testing.T) {
	for named, want := range map[bool]float64{true: 5, false: 0} {
		c := Couplings{Terms: []gaugeTerm{{0, 1, 0, 0}, {0, 1, 1, 0}}, Values: []float64{3, 4}, States: make([][2]string, 2)}
		c.score(2, named)
		oracle.Near(t, c.Scores[0].Value, want, 1e-12, "named %v", named)
	}
}
