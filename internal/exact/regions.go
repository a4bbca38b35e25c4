package exact

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/mrf"
)

// regionSearch improves a joint state region by region (large neighbourhood search, Shaw 1998): it takes the variables
// around a centre, as many as elimination can cheaply solve, and gives them a most probable joint state given all
// others. On networks of conflicting couplings that leads out of the local optima in which single variables are stuck.
type regionSearch struct {
	*localSearch
	x   []int // current states
	rng *rand.Rand
	// centres are all variables in random order; those before next were taken.
	centres []int
	next    int
	size    int // wanted number of variables of a region
}

const (
	// regionOperations is the work of elimination that one region may take, and
	// searchOperations that of all: about a second in all.
	regionOperations = 1 << 20
	searchOperations = 1 << 28
	// firstSize is the wanted number of variables to begin with; it adapts.
	firstSize = 32
	// failures is how many regions in a row must bring nothing before the search ends:
	// at least so many, and enough to cover all variables so often.
	failures, coverings = 40, 4
)

// searchRegions improves the state that s has found, within the limits above. It goes the same way in every run.
func (s *sequential) searchRegions(ctx context.Context) {
	n := len(s.states)
	r, fruitless, spent := newRegionSearch(s.search, s.states), 0, 0.0
	for spent < searchOperations && ctx.Err() == nil {
		if fruitless > max(failures, coverings*n/max(1, r.size)) {
			break
		}
		better, operations := r.move(ctx)
		spent += operations
		if fruitless++; better {
			fruitless = 0
		}
	}
	s.best = s.search.improve(ctx, s.states)
}

// newRegionSearch starts from the joint state x, which it changes in place.
func newRegionSearch(l *localSearch, x []int) *regionSearch {
	return &regionSearch{localSearch: l, x: x, rng: rand.New(rand.NewPCG(uint64(len(x)), 0x726567696f6e)), size: firstSize}
}

// move solves one region, and reports whether its states became better, and what work it was.
func (r *regionSearch) move(ctx context.Context) (better bool, operations float64) {
	region, c := r.grow(r.centre())
	plan := NewPlan(c.Network, regionOperations)
	if plan.LowerBound {
		r.size = max(1, r.size*3/4)
		return false, regionOperations
	}
	operations = plan.Operations + float64(len(c.Network.Card))
	if plan.Operations < regionOperations/4 {
		r.size = min(len(r.x), r.size+1+r.size/8)
	}
	before := c.Network.LogScore(numeric.Map(region, func(v int) int { return r.x[v] }))
	found, err := plan.Maximize(ctx)
	if err != nil || !(-found.Energy >= before) { // equal ones too: they lead elsewhere
		return false, operations
	}
	for i, v := range region {
		r.x[v] = found.States[i]
	}
	return -found.Energy > before+slackShare*math.Abs(before) || math.IsInf(before, -1), operations
}

// centre returns the next centre: every variable has its turn.
func (r *regionSearch) centre() int {
	if r.next == len(r.centres) {
		r.centres, r.next = r.rng.Perm(len(r.x)), 0
	}
	r.next++
	return r.centres[r.next-1]
}

// grow takes variables around a centre, the nearest first, and returns the network of them given all others.
func (r *regionSearch) grow(centre int) (region []int, given *mrf.Conditioned) {
	// Variables of the region come first, and then its border, which share a factor with them.
	near, local, seen := []int{centre}, map[int]int{centre: 0}, map[int]bool{}
	n := &mrf.Network{}
	for head := 0; head < min(len(near), r.size); head++ {
		for _, t := range r.touch[near[head]] {
			if seen[t.factor] {
				continue
			}
			seen[t.factor] = true
			factor := &r.network.Factors[t.factor]
			scope := make([]int, len(factor.Scope))
			for i, v := range factor.Scope {
				if _, known := local[v]; !known {
					local[v] = len(near)
					near = append(near, v)
				}
				scope[i] = local[v]
			}
			n.Factors = append(n.Factors, mrf.Factor{Scope: scope, LogTable: factor.LogTable})
		}
	}
	evidence := map[int]int{}
	for i, v := range near {
		n.Card = append(n.Card, r.network.Card[v])
		if i >= r.size {
			evidence[i] = r.x[v]
		}
	}
	given, err := n.Condition(evidence)
	if err != nil {
		panic(errors.Join(errors.New("exact: a region does not fit its network"), err))
	}
	return near[:min(len(near), r.size)], given
}
