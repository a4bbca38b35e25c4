package infer

import (
	"context"
	"math"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/mrf"
)

// Draws are kept for the diagnosis of the chains: mostJudged of each, spread evenly,
// so that a long chain is judged by as many as a short one, or fewer where they
// would take more than mostJudgedStates bytes.
const (
	mostJudged       = 1000
	mostJudgedStates = 1 << 30
)

// judgedDraws is how many draws of a chain are kept.
func judgedDraws(nodes, chains int) int {
	return max(leastDraws, min(mostJudged, mostJudgedStates/max(1, nodes*chains)))
}

// fewestSweeps is about how many sweeps the first round has, which is never used.
const fewestSweeps = 100

// sampleMarginals estimates marginals by Gibbs sampling in several chains. They run
// in rounds, each as long as all before it, until the diagnosis of the last round
// is good or the sweeps are used up; what came before the last round is thrown
// away. Errors are those of Sample, but without options.
func sampleMarginals(ctx context.Context, p *mrf.Pairwise, o Options) (*Result, error) {
	o = o.withDefaults()
	c, err := newChains(ctx, p, o.Chains, o.Seed, o.Threads)
	if err != nil {
		return nil, err
	}
	nan := math.NaN()
	r := &Result{Method: Gibbs, LogZ: nan, Bound: counting.None, Gap: nan, Outcome: Outcome{Residual: nan}}
	most := max(1, o.Limits.resolved().MaxSweeps)
	done := &tally{total: most * o.Chains, report: o.Progress}
	for _, end := range roundEnds(most) {
		if r.Diagnosis, err = c.round(ctx, end-r.Sweeps, done, o.Threads); err != nil {
			return nil, err
		}
		started := r.Sweeps > 0 // the first round may still show where the chains began
		r.Sweeps = end
		if r.Converged = started && c.irreducible && r.Diagnosis.good(o.MaxRHat, o.MinESS); r.Converged {
			break
		}
	}
	r.Marginals = c.marginals()
	r.StandardError = standardError(r.Marginals, r.Diagnosis)
	return r, nil
}

// roundEnds returns when rounds end: after most sweeps, half of them, and so on.
func roundEnds(most int) (ends []int) {
	rounds := 0
	for most>>(rounds+1) >= fewestSweeps {
		rounds++
	}
	for ; rounds >= 0; rounds-- {
		ends = append(ends, most>>rounds)
	}
	return ends
}

// round makes so many sweeps of every chain, sums up their conditional
// probabilities, and judges them.
func (c *chains) round(ctx context.Context, sweeps int, done *tally, threads int) (*Diagnosis, error) {
	most := judgedDraws(len(c.p.Card), len(c.all))
	thin := (sweeps + most - 1) / most
	kept := sweeps / thin
	draws, first := newDrawStore(kept*len(c.all), c.p.Card), divide(kept*len(c.all), len(c.all))
	err := c.run(ctx, func(k int, chain *chain) {
		if chain.sum == nil {
			chain.sum = make([]float64, len(c.p.Node))
		}
		clear(chain.sum)
		chain.sweeps(ctx, sweeps-kept*thin, done)
		for i := first[k]; i < first[k+1]; i++ {
			if !chain.sweeps(ctx, thin, done) {
				return
			}
			draws.put(i, chain.x)
		}
	})
	if err != nil {
		return nil, err
	}
	return c.diagnose(ctx, draws, first, threads)
}

// marginals are what the sums of all chains amount to. A node that is not free has
// one possible state.
func (c *chains) marginals() [][]float64 {
	marginals := make([][]float64, len(c.p.Card))
	for s, card := range c.p.Card {
		m := make([]float64, card)
		total := 0.0
		for _, chain := range c.all {
			for i := range m {
				m[i] += chain.sum[c.p.NodeAt[s]+i]
				total += chain.sum[c.p.NodeAt[s]+i]
			}
		}
		for i := range m {
			m[i] /= total
		}
		if total == 0 {
			clear(m)
			m[c.all[0].x[s]] = 1
		}
		marginals[s] = m
	}
	return marginals
}

// standardError is that of the marginal that is known worst.
func standardError(marginals [][]float64, d *Diagnosis) float64 {
	worst := math.NaN()
	for s, m := range marginals {
		for _, p := range m {
			if e := math.Sqrt(p * (1 - p) / d.ESS[s]); e > worst || math.IsNaN(worst) && !math.IsNaN(e) {
				worst = e
			}
		}
	}
	return worst
}
