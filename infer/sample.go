package infer

import (
	"context"
	"fmt"
	"math"

	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/mrf"
)

// The samplers of Sample.
const (
	SamplerAuto  = "auto"  // exact on forests, Gibbs elsewhere
	SamplerGibbs = "gibbs" // Markov chains
	SamplerExact = "exact" // independent draws, on forests only
)

// SampleSettings say how to draw. Zero fields take the defaults noted.
type SampleSettings struct {
	// Sampler is one of the constants above; SamplerAuto.
	Sampler string
	// Draws is how many joint states are wanted, over all chains; 1000.
	Draws int
	// Chains of Gibbs sampling, each from a start of its own; 4, and no more than
	// Draws. Fewer than 2 can be judged by their halves only.
	Chains int
	// BurnIn is how many sweeps of each chain are thrown away; 1000. None is asked for
	// by a negative number.
	BurnIn int
	// Thin is how many sweeps lie between draws that are kept; 10.
	Thin int
	Seed uint64
	// Part keeps the randomness of several networks apart that share a seed.
	Part uint64
	// Threads; 1. The draws do not depend on it.
	Threads int
	// Progress, if not nil, is told now and then how many sweeps of all chains, or
	// draws, are done, by one goroutine at a time.
	Progress func(done, total int)
}

func (s SampleSettings) withDefaults() SampleSettings {
	def := func(x *int, value int) {
		if *x == 0 {
			*x = value
		}
	}
	if s.Sampler == "" {
		s.Sampler = SamplerAuto
	}
	def(&s.Draws, 1000)
	def(&s.Chains, 4)
	def(&s.BurnIn, 1000)
	def(&s.Thin, 10)
	def(&s.Threads, 1)
	s.BurnIn = max(0, s.BurnIn)
	s.Chains = min(s.Chains, s.Draws)
	return s
}

// mixedSeed is the seed of one part.
func (s *SampleSettings) mixedSeed() uint64 { return mix(s.Seed + mix(s.Part)) }

// MaxDrawnStates bounds draws times nodes: they are kept in memory, in a byte or in
// four each.
const MaxDrawnStates = 1 << 31

// validate quotes the first constraint that the settings violate, with their
// defaults.
func (s *SampleSettings) validate(p *mrf.Pairwise) error {
	for _, c := range []struct {
		name         string
		value, least int
	}{{"Draws", s.Draws, 1}, {"Chains", s.Chains, 1}, {"Thin", s.Thin, 1}, {"Threads", s.Threads, 1}} {
		if c.value < c.least {
			return &SettingError{c.name, fmt.Sprintf("it is %d, want at least %d", c.value, c.least)}
		}
	}
	switch {
	case s.Sampler != SamplerAuto && s.Sampler != SamplerGibbs && s.Sampler != SamplerExact:
		return &SettingError{"Sampler", fmt.Sprintf("it is %q, want %s, %s or %s", s.Sampler, SamplerAuto, SamplerGibbs, SamplerExact)}
	case s.Sampler == SamplerExact && !p.Graph.IsForest():
		return &SettingError{"Sampler", "exact sampling is for networks without cycles, and this one has some"}
	case len(p.Card) > 0 && s.Draws > MaxDrawnStates/len(p.Card):
		return &SettingError{"Draws", fmt.Sprintf("%d of %d nodes are too many to keep in memory, at most %d are supported: draw fewer, further apart, or in several runs with seeds of their own", s.Draws, len(p.Card), MaxDrawnStates/len(p.Card))}
	case s.Sampler != SamplerExact && float64(s.BurnIn)+float64(s.Draws)*float64(s.Thin) > math.MaxInt32:
		return &SettingError{"Thin", fmt.Sprintf("%d draws, one in %d sweeps after %d others, are more sweeps than the %d that can be counted", s.Draws, s.Thin, s.BurnIn, math.MaxInt32)}
	}
	return nil
}

// SettingError names a setting that cannot be used.
type SettingError struct {
	Setting string // field of SampleSettings
	Reason  string
}

// Error implements error.
func (e *SettingError) Error() string { return e.Setting + ": " + e.Reason }

// Samples are joint states drawn from a network.
type Samples struct {
	// Sampler is what drew them: SamplerGibbs or SamplerExact.
	Sampler string
	// Chain and Sweep [draws] are where each comes from: the number of its chain, in
	// ascending order, and how many sweeps that chain had made; zeros where draws
	// are independent.
	Chain, Sweep []int32
	// Chains, BurnIn and Thin are what was used; zero where draws are independent.
	Chains, BurnIn, Thin int
	// Colours of the schedule of the chains.
	Colours int
	// Irreducible says that it is proved that the chains can reach every possible
	// joint state. Otherwise, which takes hard zeros in edges, they may be locked in a
	// part of them, and where all chains are in the same part no diagnosis can tell.
	Irreducible bool
	// Diagnosis judges the chains; nil where draws are independent.
	Diagnosis *Diagnosis
	// LogZ is the log-partition function, which exact sampling knows; else NaN.
	LogZ float64

	draws *drawStore
}

// Len is the number of draws.
func (s *Samples) Len() int { return len(s.Chain) }

// Draw writes the i-th joint state to x [nodes].
func (s *Samples) Draw(x []int32, i int) { s.draws.row(x, i) }

// Converged reports whether the draws are from the network's distribution as far
// as can be told: they are independent, or the chains can reach everything and
// their diagnosis is good.
func (s *Samples) Converged(maxRHat, minESS float64) bool {
	return s.Diagnosis == nil || s.Irreducible && s.Diagnosis.Good(maxRHat, minESS)
}

// Sample draws joint states from a network.
//
// On forests draws are exact and independent. Elsewhere chains of Gibbs sampling
// run in parallel, colour after colour, from random joint states of positive
// probability. Draws depend on the settings but Threads alone, to the last bit.
//
// Settings that cannot be used are a *SettingError, a network without a possible
// joint state a *ZeroError, one of which none is found an *InfeasibleError, and one
// whose hard zeros let no single variable move a *FrozenError. Non-finite
// potentials are a *bp.NumericalError. If ctx ends, its error is returned.
func Sample(ctx context.Context, p *mrf.Pairwise, settings SampleSettings) (*Samples, error) {
	settings = settings.withDefaults()
	if err := settings.validate(p); err != nil {
		return nil, err
	}
	if settings.Sampler == SamplerExact || settings.Sampler == SamplerAuto && p.Graph.IsForest() {
		return sampleForest(ctx, p, &settings)
	}
	return sampleChains(ctx, p, &settings)
}

// drawsTogether is how many independent draws one goroutine makes before it takes
// others.
const drawsTogether = 16

// sampleForest makes independent draws, each with a source of its own.
func sampleForest(ctx context.Context, p *mrf.Pairwise, settings *SampleSettings) (*Samples, error) {
	f, err := newForest(p)
	if err != nil {
		return nil, err
	}
	n := settings.Draws
	s := &Samples{
		Sampler: SamplerExact, Chain: make([]int32, n), Sweep: make([]int32, n), Irreducible: true, LogZ: f.logZ,
		draws: newDrawStore(n, p.Card),
	}
	seed := settings.mixedSeed()
	done := &tally{total: n, report: settings.Progress}
	err = parallel.Each(ctx, (n+drawsTogether-1)/drawsTogether, settings.Threads, func(part int) {
		x := make([]int32, len(p.Card))
		from, to := part*drawsTogether, min(n, (part+1)*drawsTogether)
		for i := from; i < to && ctx.Err() == nil; i++ {
			f.draw(x, stream(seed, uint64(i), 0))
			s.draws.put(i, x)
		}
		done.add(to - from)
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// sampleChains keeps draws of chains.
func sampleChains(ctx context.Context, p *mrf.Pairwise, settings *SampleSettings) (*Samples, error) {
	c, err := newChains(ctx, p, settings.Chains, settings.mixedSeed(), settings.Threads)
	if err != nil {
		return nil, err
	}
	n := settings.Draws
	s := &Samples{
		Sampler: SamplerGibbs, Chains: settings.Chains, BurnIn: settings.BurnIn, Thin: settings.Thin,
		Colours: len(c.colours), Irreducible: c.irreducible, LogZ: math.NaN(), draws: newDrawStore(n, p.Card),
	}
	first := share(n, settings.Chains)
	for k := range settings.Chains {
		for i := range first[k+1] - first[k] {
			s.Chain, s.Sweep = append(s.Chain, int32(k)), append(s.Sweep, int32(settings.BurnIn+(i+1)*settings.Thin))
		}
	}
	done := &tally{total: settings.Chains*settings.BurnIn + n*settings.Thin, report: settings.Progress}
	err = c.run(ctx, func(k int, chain *chain) {
		chain.sweeps(ctx, settings.BurnIn, done)
		for i := first[k]; i < first[k+1]; i++ {
			if !chain.sweeps(ctx, settings.Thin, done) {
				return
			}
			s.draws.put(i, chain.x)
		}
	})
	if err != nil {
		return nil, err
	}
	if s.Diagnosis, err = diagnose(ctx, s.draws, p.Card, first, settings.Threads); err != nil {
		return nil, err
	}
	return s, nil
}

// share divides n draws among chains: chain k has those from first[k] to
// first[k+1].
func share(n, chains int) (first []int) {
	first = make([]int, chains+1)
	for k := range chains {
		first[k+1] = first[k] + n/chains
		if k < n%chains {
			first[k+1]++
		}
	}
	return first
}

// sweeps makes so many sweeps, unless ctx ends before, when it reports false.
func (c *chain) sweeps(ctx context.Context, n int, done *tally) bool {
	for ; n > 0; n-- {
		if ctx.Err() != nil {
			return false
		}
		c.sweep()
		done.add(1)
	}
	return true
}
