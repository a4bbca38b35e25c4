package learn

import (
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// TestUpperBoundIsTheDual: F, found from the labels as blocks are visited, is what the dual
// values of all units make of it, whatever the blocks, long before messages have settled.
func TestUpperBoundIsTheDual(t *testing.T) {
	for name, p := range problems(t) {
		for _, counting := range []string{"convex", "trw"} {
			for _, blocks := range []int{1, 3} {
				p := p.with(counting)
				settings := Settings{Method: BBPL, Assign: blocksOf(blocks)}
				resolved := settings.Resolved()
				l := oracle.Must(newLearner(&p, &resolved))(t)
				defer l.pool.Close()
				if !l.holds.certified {
					continue // labels are missing
				}
				if splits := counting == "trw" && blocks > 1; splits != (len(l.splitOf) > 0) {
					t.Errorf("%s, %s, %d blocks: %d numbers for splits", name, counting, blocks, len(l.splitOf))
				}
				copy(l.model.Weights, p.randomWeights(3, 0.5))
				for range 2 {
					for _, set := range l.schedule.wholePass {
						v := visit{kind: consistentVisit, blocks: set, limits: l.messages.wholeLimits()}
						oracle.Must(l.visitBlocks(v))(t)
					}
					oracle.OK(t, l.endWholePass())
					theta := l.model.Weights
					want := p.L2/2*simd.Dot(theta, theta) - simd.Dot(theta, l.sums.data)
					for _, u := range l.units {
						space := l.workers[0].space
						block := &partition.Whole(u.in.Graph).Blocks[0]
						oracle.OK(t, space.Ground(l.model, u.in, u.net, u.state, block))
						values := oracle.Must(space.Evaluate(u.net, u.state, block, false))(t)
						want += u.weight * values.Dual
					}
					nearly(t, l.progress.Upper, want, 1e-12, "%s, %s, %d blocks: F", name, counting, blocks)
				}
			}
		}
	}
}
