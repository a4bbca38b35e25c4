package infer

import (
	"context"
	"math"

	"github.com/blockbp/blockbp/mrf"
)

// GibbsSettings say how long to sample for marginals. Zero fields take the
// defaults noted.
type GibbsSettings struct {
	// Chains, each from a start of its own; 4.
	Chains int
	// MaxSweeps of each chain, the ones that are thrown away among them; 10000.
	MaxSweeps int
	// MaxRHat and MinESS end the sampling: split R̂ of every node at most MaxRHat, and
	// its effective sample size at least MinESS; 1.01 and 400, as Vehtari and others
	// (2021) advise.
	MaxRHat, MinESS float64
	Seed            uint64
	// Threads; 1. The marginals do not depend on it.
	Threads int
	// Progress, if not nil, is told now and then how many of at most total sweeps of
	// all chains are done, by one goroutine at a time.
	Progress func(done, total int)
}

// Default limits of diagnoses.
const (
	DefaultMaxRHat = 1.01
	DefaultMinESS  = 400
)

func (s GibbsSettings) withDefaults() GibbsSettings {
	if s.Chains == 0 {
		s.Chains = 4
	}
	if s.MaxSweeps == 0 {
		s.MaxSweeps = 10000
	}
	if s.MaxRHat == 0 {
		s.MaxRHat = DefaultMaxRHat
	}
	if s.MinESS == 0 {
		s.MinESS = DefaultMinESS
	}
	if s.Threads == 0 {
		s.Threads = 1
	}
	return s
}

// GibbsResult are marginals by Gibbs sampling.
type GibbsResult struct {
	// Marginals [node][state] are means of the conditional probabilities of the nodes
	// over the second half of the sweeps of all chains.
	Marginals [][]float64
	// Diagnosis is of up to 1000 draws of each chain from that half, fewer of networks
	// of more than 250,000 nodes.
	Diagnosis *Diagnosis
	// StandardError is the largest of √(p(1−p)/ESS) over all marginals p that changed:
	// what they are probably off by, if the chains converged. NaN where it is not
	// known.
	StandardError float64
	// Irreducible: see Samples.
	Irreducible bool
	// Converged: the chains can reach everything, and their diagnosis is good.
	Converged bool
	Chains    int
	Sweeps    int // of each chain
}

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

// GibbsMarginals estimates marginals by Gibbs sampling in several chains. They run
// in rounds, each as long as all before it, until the diagnosis of the last round
// is good or the sweeps are used up; what came before the last round is thrown
// away. Errors are those of Sample, but without settings.
func GibbsMarginals(ctx context.Context, p *mrf.Pairwise, settings GibbsSettings) (*GibbsResult, error) {
	settings = settings.withDefaults()
	c, err := newChains(ctx, p, settings.Chains, settings.Seed, settings.Threads)
	if err != nil {
		return nil, err
	}
	r := &GibbsResult{Irreducible: c.irreducible, Chains: settings.Chains}
	done := &tally{total: settings.MaxSweeps * settings.Chains, report: settings.Progress}
	for _, end := range roundEnds(settings.MaxSweeps) {
		if err := r.round(ctx, c, end-r.Sweeps, done, settings.Threads); err != nil {
			return nil, err
		}
		started := r.Sweeps > 0 // the first round may still show where the chains began
		r.Sweeps = end
		if r.Converged = started && r.Irreducible && r.Diagnosis.Good(settings.MaxRHat, settings.MinESS); r.Converged {
			break
		}
	}
	r.Marginals = c.marginals()
	r.StandardError = r.standardError()
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
func (r *GibbsResult) round(ctx context.Context, c *chains, sweeps int, done *tally, threads int) error {
	most := judgedDraws(len(c.p.Card), len(c.all))
	thin := (sweeps + most - 1) / most
	kept := sweeps / thin
	draws, first := newDrawStore(kept*len(c.all), c.p.Card), share(kept*len(c.all), len(c.all))
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
		return err
	}
	r.Diagnosis, err = diagnose(ctx, draws, c.p.Card, first, threads)
	return err
}

// marginals are what the sums of all chains amount to. A node that is not in the
// schedule has one possible state.
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

func (r *GibbsResult) standardError() float64 {
	worst := math.NaN()
	for s, m := range r.Marginals {
		for _, p := range m {
			if e := math.Sqrt(p * (1 - p) / r.Diagnosis.ESS[s]); e > worst || math.IsNaN(worst) && !math.IsNaN(e) {
				worst = e
			}
		}
	}
	return worst
}
