package exact

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"

	"github.com/blockbp/blockbp/mrf"
)

// regionSearch improves a joint state region by region (large neighbourhood search, Shaw 1998): it takes the
// variables around a centre, as many as elimination can cheaply solve, and gives them a most probable joint state
// given all others. On networks of conflicting couplings that leads out of the local optima in which single variables
// are stuck.
type regionSearch struct {
	*localSearch
	x   []int // current states
	rng *rand.Rand
	// centres are all variables in random order; those before next were taken.
	centres []int
	next    int
	size    int // wanted number of variables of a region
	// region are its variables, and border those that share a factor with them. local
	// [variables] is 1 + the place in region, −1 − the place in border, or 0.
	region, border []int
	local          []int
	// factors touch the region; seen [factors] marks them.
	factors []int
	seen    []bool
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
	r := newRegionSearch(s.search, s.states)
	fruitless, spent := 0, 0.0
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
	return &regionSearch{
		localSearch: l, x: x, rng: rand.New(rand.NewPCG(uint64(len(x)), 0x726567696f6e)),
		size: firstSize, local: make([]int, len(x)), seen: make([]bool, len(l.network.Factors)),
	}
}

// move solves one region, and reports whether its states became better, and what work it was.
func (r *regionSearch) move(ctx context.Context) (better bool, operations float64) {
	r.grow(r.centre())
	c := r.conditioned()
	defer r.forget()
	plan, err := NewPlan(c.Network, regionOperations)
	if err != nil || plan.LowerBound {
		r.size = max(1, r.size*3/4)
		return false, regionOperations
	}
	operations = plan.Operations + float64(len(c.Network.Card))
	if plan.Operations < regionOperations/4 {
		r.size = min(len(r.x), r.size+1+r.size/8)
	}
	old := make([]int, len(r.region))
	for i, v := range r.region {
		old[i] = r.x[v]
	}
	before := c.Network.LogScore(old)
	found, err := plan.Maximize(ctx)
	if err != nil || !(-found.Energy >= before) { // equal ones too: they lead elsewhere
		return false, operations
	}
	for i, v := range r.region {
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

// grow takes variables around a centre, the nearest first.
func (r *regionSearch) grow(centre int) {
	r.region = append(r.region, centre)
	r.local[centre] = 1
	for head := 0; head < len(r.region); head++ {
		v := r.region[head]
		for _, t := range r.touch[r.start[v]:r.start[v+1]] {
			if r.seen[t.factor] {
				continue
			}
			r.seen[t.factor] = true
			r.factors = append(r.factors, t.factor)
			for _, w := range r.network.Factors[t.factor].Scope {
				switch {
				case r.local[w] != 0:
				case len(r.region) < r.size:
					r.region = append(r.region, w)
					r.local[w] = len(r.region)
				default:
					r.border = append(r.border, w)
					r.local[w] = -len(r.border)
				}
			}
		}
	}
}

// conditioned returns the network of the region given its border.
func (r *regionSearch) conditioned() *mrf.Conditioned {
	n := &mrf.Network{Card: make([]int, 0, len(r.region)+len(r.border)), Factors: make([]mrf.Factor, 0, len(r.factors))}
	evidence := make(map[int]int, len(r.border))
	for _, v := range r.region {
		n.Card = append(n.Card, r.network.Card[v])
	}
	for i, v := range r.border {
		n.Card = append(n.Card, r.network.Card[v])
		evidence[len(r.region)+i] = r.x[v]
	}
	for _, f := range r.factors {
		factor := &r.network.Factors[f]
		scope := make([]int, len(factor.Scope))
		for i, v := range factor.Scope {
			if scope[i] = r.local[v] - 1; r.local[v] < 0 {
				scope[i] = len(r.region) - r.local[v] - 1
			}
		}
		n.Factors = append(n.Factors, mrf.Factor{Scope: scope, LogTable: factor.LogTable})
	}
	c, err := n.Condition(evidence)
	if err != nil {
		panic(errors.Join(errors.New("exact: a region does not fit its network"), err))
	}
	return c
}

// forget makes room for the next region.
func (r *regionSearch) forget() {
	for _, v := range r.region {
		r.local[v] = 0
	}
	for _, v := range r.border {
		r.local[v] = 0
	}
	for _, f := range r.factors {
		r.seen[f] = false
	}
	r.region, r.border, r.factors = r.region[:0], r.border[:0], r.factors[:0]
}
