package infer

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/zeros"
	"github.com/blockbp/blockbp/mrf"
)

// fitField fits a product of independent distributions q(x) = Π_s q_s(x_s) to a
// network by coordinate ascent (naive mean field), from several starts, and returns
// the one with the largest lower bound on log Z. The bound is
//
//	Constant + Σ_s (⟨θ_s, q_s⟩ + H(q_s)) + Σ_st ⟨θ_st, q_s q_t⟩,
//
// at any q, converged or not (equation (13) of docs/explanation/equations.md). The first start is
// from the potentials of the nodes alone, the others are random. Where hard zeros
// forbid states of neighbours, it starts from joint states of positive probability.
// Errors are those of Sample, but without options. If ctx ends, its error is returned.
func fitField(ctx context.Context, p *mrf.Pairwise, o Options) (*Result, error) {
	o.Method = MeanField
	o = o.withDefaults()
	d, err := prepare(p)
	if err != nil {
		return nil, err
	}
	best, err := ascendAll(ctx, p, d, o)
	if err != nil {
		return nil, err
	}
	return best.result()
}

// bestField is the best of the starts that are done. A start takes as much as all
// marginals, so only the best and those under way are kept.
type bestField struct {
	lock   sync.Mutex
	field  *meanField // nil: none is done
	k      int        // its start
	values []float64  // of each start
	idle   [][]float64
}

// ascendAll makes all starts and keeps the best: of equal ones the first, whichever
// thread is the fastest.
func ascendAll(ctx context.Context, p *mrf.Pairwise, d *zeros.Domains, o Options) (*bestField, error) {
	sources := make([]*rand.Rand, o.Restarts)
	for k := range sources {
		sources[k] = stream(o.Seed, uint64(k), 0)
	}
	possible, err := possibleStarts(ctx, d, sources)
	if err != nil {
		return nil, err
	}
	best, limits := &bestField{values: make([]float64, o.Restarts)}, o.Limits.resolved()
	return best, parallel.Each(ctx, o.Restarts, max(1, o.Threads), func(k int) {
		f := &meanField{p: p, q: best.buffer(len(p.Node))}
		if possible != nil {
			for s, state := range possible[k] {
				f.q[p.NodeAt[s]+int(state)] = 1
			}
		} else {
			f.start(ctx, k, sources[k])
		}
		f.ascend(ctx, limits)
		best.take(k, f)
	})
}

// possibleStarts are joint states of positive probability to start from, from which
// updates spread to what goes with them; nil where no edge has hard zeros. A search
// changes d, and changes it back.
func possibleStarts(ctx context.Context, d *zeros.Domains, sources []*rand.Rand) ([][]int32, error) {
	if !slices.Contains(d.HasZero, true) {
		return nil, nil
	}
	var starts [][]int32
	for _, rng := range sources {
		if err := parallel.Ended(ctx); err != nil {
			return nil, err
		}
		x, err := searchState(d, rng)
		if err != nil {
			return nil, err
		}
		starts = append(starts, x)
	}
	return starts, nil
}

// buffer returns zeros to start from.
func (b *bestField) buffer(size int) []float64 {
	b.lock.Lock()
	defer b.lock.Unlock()
	last := len(b.idle) - 1
	if last < 0 {
		return make([]float64, size)
	}
	q := b.idle[last]
	b.idle = b.idle[:last]
	clear(q)
	return q
}

// take keeps the better one, and the numbers of the other for another start.
func (b *bestField) take(k int, f *meanField) {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.values[k] = f.value
	if b.field == nil {
		b.field, b.k = f, k
		return
	}
	if order := cmp.Compare(f.value, b.field.value); order > 0 || order == 0 && k < b.k { // NaN is the least
		b.field, b.k, f = f, k, b.field
	}
	b.idle = append(b.idle, f.q)
}

// start makes the k-th start, where no edge has hard zeros: every state that the nodes
// allow has a positive probability.
func (f *meanField) start(ctx context.Context, k int, rng *rand.Rand) {
	for s := range f.p.Card {
		if parallel.Ended(ctx) != nil {
			return // what there is is thrown away
		}
		own := f.q[f.p.NodeAt[s]:f.p.NodeAt[s+1]]
		copy(own, f.p.Node[f.p.NodeAt[s]:])
		if k > 0 { // uniform among distributions, whatever the potentials
			for i := range own {
				if !math.IsInf(own[i], -1) {
					own[i] = math.Log(rng.ExpFloat64())
				}
			}
		}
		normalise(own)
	}
}

// normalise turns logarithms of weights, not all −Inf, into probabilities.
func normalise(own []float64) {
	largest, total := slices.Max(own), 0.0
	for i, v := range own {
		own[i] = math.Exp(v - largest)
		total += own[i]
	}
	for i := range own {
		own[i] /= total
	}
}

// meanField is the ascent from one start.
type meanField struct {
	p       *mrf.Pairwise
	q       []float64 // at p.NodeAt
	outcome bp.Outcome
	value   float64
}

// ascend updates one node after another until no marginal changes by more than the
// tolerance in a sweep, and computes the bound. No update can lower it.
func (f *meanField) ascend(ctx context.Context, limits bp.Limits) {
	largest := 0
	for _, k := range f.p.Card {
		largest = max(largest, int(k))
	}
	scratch := make([]float64, largest)
	for f.outcome.Sweeps < limits.MaxSweeps {
		f.outcome.Residual = 0
		for s := range int32(len(f.p.Card)) {
			if parallel.Ended(ctx) != nil {
				return // what it has is thrown away
			}
			f.outcome.Residual = max(f.outcome.Residual, f.update(scratch[:f.p.Card[s]], s))
		}
		f.outcome.Sweeps++
		if f.outcome.Residual <= limits.Tolerance {
			f.outcome.Converged = true
			break
		}
	}
	f.value = f.bound(scratch)
}

// update sets q_s ∝ exp(θ_s + Σ_t Σ_j q_t(j) θ_st(·, j)), the best given the
// others (equation (14) of docs/explanation/equations.md), and returns the largest change.
func (f *meanField) update(own []float64, s int32) (change float64) {
	copy(own, f.p.Node[f.p.NodeAt[s]:])
	f.expect(own, s, func(int32) bool { return true })
	normalise(own)
	q := f.q[f.p.NodeAt[s]:f.p.NodeAt[s+1]]
	for i, v := range own {
		change = max(change, math.Abs(v-q[i]))
		q[i] = v
	}
	return change
}

// expect adds to own the expected tables of the edges at s to the sources that
// count. What is forbidden counts only where its probability is above 0.
func (f *meanField) expect(own []float64, s int32, counts func(source int32) bool) {
	p, k := f.p, int(f.p.Card[s])
	for _, d := range p.Graph.Incoming(s) {
		source := p.Graph.Source(d)
		if !counts(source) {
			continue
		}
		q := f.q[p.NodeAt[source]:p.NodeAt[source+1]]
		stepOwn, stepSource := 1, k
		if d&1 != 0 { // s is U: its state picks a row
			stepOwn, stepSource = len(q), 1
		}
		table := p.Edge[p.EdgeAt[d>>1]:]
		for j, probability := range q {
			if probability == 0 {
				continue
			}
			for i := range own {
				own[i] += probability * table[i*stepOwn+j*stepSource]
			}
		}
	}
}

// bound computes the lower bound; every edge counts at its larger end.
func (f *meanField) bound(scratch []float64) float64 {
	value := f.p.Constant
	for s := range int32(len(f.p.Card)) {
		own := scratch[:f.p.Card[s]]
		copy(own, f.p.Node[f.p.NodeAt[s]:])
		f.expect(own, s, func(source int32) bool { return source < s })
		for i, q := range f.q[f.p.NodeAt[s]:f.p.NodeAt[s+1]] {
			if q > 0 {
				value += q * (own[i] - math.Log(q))
			}
		}
	}
	return value
}

// result is the answer, if it is a number.
func (b *bestField) result() (*Result, error) {
	const same = 1e-6
	f := b.field
	if math.IsNaN(f.value) || math.IsInf(f.value, 0) {
		return nil, tooLarge(f.value)
	}
	r := &Result{Method: MeanField, LogZ: f.value, Bound: counting.Lower, Gap: math.NaN(),
		Outcome: newOutcome(f.outcome), Stationary: f.outcome.Converged, Restarts: len(b.values)}
	for s := range f.p.Card {
		r.Marginals = append(r.Marginals, f.q[f.p.NodeAt[s]:f.p.NodeAt[s+1]])
	}
	for _, value := range b.values {
		if f.value-value > same {
			r.Lower++
		}
	}
	return r, nil
}
