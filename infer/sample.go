package infer

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/mrf"
)

// SampleOptions say how to draw. The zero value works.
type SampleOptions struct {
	// Method is Exact or Gibbs; "": Exact where its tables have room and take about ten seconds at most, else Gibbs.
	Method Method
	// Evidence are the states of observed variables.
	Evidence map[int]int
	// Draws is how many joint states are wanted, over all chains; 0: 1000.
	Draws int
	// Chains of Gibbs sampling, each from a start of its own; 0: 4, and no more than
	// Draws. Fewer than 2 can be judged by their halves only.
	Chains int
	// BurnIn is how many sweeps of each chain are thrown away; 0: 1000. None is asked for by a negative number.
	BurnIn int
	// Thin is how many sweeps lie between draws that are kept; 0: 10.
	Thin int
	// MaxRHat and MinESS are what the draws of every variable should keep to; 0: 1.05 and 100. Less is asked of a number
	// of draws that the user has fixed than of Marginals, which goes on until it is content: of a thousand perfect draws
	// the worst of many variables is above an R̂ of 1.01, or below 400 effective draws, by chance.
	MaxRHat, MinESS float64
	Seed            uint64
	// Part keeps the randomness of several networks apart that share a seed.
	Part uint64
	// Threads; 0: 1. The draws do not depend on it.
	Threads int
	// Memory is how many bytes sampling may take; 0: four fifths of what the machine has available.
	Memory int64
	// Progress, if not nil, is told now and then how many sweeps of all chains, or
	// draws, are done, by one goroutine at a time.
	Progress func(done, total int)
}

func (o SampleOptions) withDefaults() SampleOptions {
	o.Draws, o.Chains, o.Thin, o.Threads = cmp.Or(o.Draws, 1000), cmp.Or(o.Chains, 4), cmp.Or(o.Thin, 10),
		cmp.Or(o.Threads, 1)
	o.MaxRHat, o.MinESS = cmp.Or(o.MaxRHat, 1.05), cmp.Or(o.MinESS, 100)
	o.BurnIn, o.Chains = max(0, cmp.Or(o.BurnIn, 1000)), min(o.Chains, o.Draws)
	return o
}

// mixedSeed is the seed of one part.
func (o *SampleOptions) mixedSeed() uint64 { return mix(o.Seed + mix(o.Part)) }

// maxDrawnStates bounds draws times nodes, which are kept in memory.
const maxDrawnStates = 1 << 31

// validate names the first option that cannot be used, defaults included.
func (o *SampleOptions) validate(variables int) error {
	for _, c := range []struct {
		name  string
		value int
	}{{"Draws", o.Draws}, {"Chains", o.Chains}, {"Thin", o.Thin}, {"Threads", o.Threads}} {
		if c.value < 1 {
			return &OptionError{c.name, fmt.Sprintf("it is %d, want at least 1", c.value)}
		}
	}
	switch {
	case variables > 0 && o.Draws > maxDrawnStates/variables:
		return &OptionError{"Draws", fmt.Sprintf("%d of %d nodes are too many to keep in memory, at most %d are supported: "+
			"draw fewer, further apart, or in several runs with seeds of their own",
			o.Draws, variables, maxDrawnStates/variables)}
	case o.Method == Gibbs && float64(o.BurnIn)+float64(o.Draws)*float64(o.Thin) > math.MaxInt32:
		return &OptionError{"Thin", fmt.Sprintf("%d draws, one in %d sweeps after %d others, are more sweeps than the %d "+
			"that can be counted", o.Draws, o.Thin, o.BurnIn, math.MaxInt32)}
	}
	return checkThreads(o.Threads)
}

// Samples are joint states drawn from a network.
type Samples struct {
	// Method is what drew them: Gibbs or Exact.
	Method Method
	// NotExact says why the best method that fits was not Exact; "": it was, or a method was asked for.
	NotExact string
	// Chain and Sweep [draws] are where each comes from: the number of its chain, in ascending order, and how many
	// sweeps that chain had made; zeros where draws are independent.
	Chain, Sweep []int32
	// Chains, BurnIn and Thin are what was used; zero where draws are independent.
	Chains, BurnIn, Thin int
	// Diagnosis judges the chains; nil where draws are independent.
	Diagnosis *Diagnosis
	// Converged reports whether the draws are from the network's distribution as far as can be told: they are
	// independent, or the chains can reach everything and their diagnosis is good.
	Converged bool
	// LogZ is the log-partition function, which exact sampling knows; else NaN.
	LogZ float64

	drawn [][]int32 // [draws][variables without evidence]
	given *mrf.Conditioned
}

// Len is the number of draws.
func (s *Samples) Len() int { return len(s.Chain) }

// Draw writes the i-th joint state to x [variables].
func (s *Samples) Draw(x []int32, i int) {
	for v, state := range s.given.Observed {
		x[v] = int32(state)
	}
	for k, v := range s.given.Variable {
		x[v] = s.drawn[i][k]
	}
}

// Sample draws joint states from a network, given evidence.
//
// Where elimination fits, draws are exact and independent. Elsewhere chains of Gibbs sampling run in parallel from
// random joint states of positive probability. Draws depend on the options but Threads alone, to the last bit.
//
// Errors are *OptionError, ErrZero, and ErrUnsuited: of Exact for networks that are too wide, and of Gibbs for
// factors of more than two free variables, for networks of which no possible joint state is found, and for those
// whose hard zeros let no single variable move. Potentials that are not finite, and a network that is not valid, are
// named. If ctx ends, its error is returned.
func Sample(ctx context.Context, n *mrf.Network, options SampleOptions) (*Samples, error) {
	options = options.withDefaults()
	s, notExact, err := follow(options.Method, Gibbs, func() (*Samples, error) { return sampleExactly(ctx, n, &options) },
		func() (*Samples, error) { return sampleChains(ctx, n, &options) })
	if err != nil {
		return nil, err
	}
	s.NotExact = notExact
	return s, nil
}

// progress is told of work done, from several goroutines, and calls Progress with growing numbers, one at a time.
func (o *SampleOptions) progress(total int) (done func()) {
	if o.Progress == nil {
		return func() {}
	}
	var lock sync.Mutex
	n := 0
	return func() {
		lock.Lock()
		defer lock.Unlock()
		n++
		o.Progress(n, total)
	}
}

// sampleExactly makes independent draws, each with a source of its own.
func sampleExactly(ctx context.Context, n *mrf.Network, options *SampleOptions) (*Samples, error) {
	given, err := condition(n, options.Evidence)
	if err != nil {
		return nil, err
	}
	z := &sizes{}
	for _, k := range given.Network.Card {
		z.addNode(k)
	}
	if err := options.check(z, 0); err != nil {
		return nil, err
	}
	f, err := newPlan(given.Network, options.Method, mostOperations, options.Memory).Sampler(ctx)
	switch {
	case err != nil:
		return nil, err
	case math.IsNaN(f.LogZ) || math.IsInf(f.LogZ, 0):
		return nil, wrongValue(f.LogZ)
	}
	count := options.Draws
	s := &Samples{
		Method: Exact, Chain: make([]int32, count), Sweep: make([]int32, count), Converged: true, LogZ: f.LogZ,
		drawn: make([][]int32, count), given: given,
	}
	seed, done := options.mixedSeed(), options.progress(count)
	err = parallel.Each(ctx, count, options.Threads, func(i int) {
		s.drawn[i] = make([]int32, len(given.Variable))
		f.Draw(s.drawn[i], stream(seed, uint64(i), 0))
		done()
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// sampleChains keeps draws of chains.
func sampleChains(ctx context.Context, n *mrf.Network, options *SampleOptions) (*Samples, error) {
	r, err := reduce(n, options.Evidence, func(left *mrf.Network) error {
		// Auxiliary variables are no use: the hard zeros that tie them keep single variables from changing.
		for f := range left.Factors {
			if scope, free := n.Factors[f].Scope, len(left.Factors[f].Scope); free > 2 {
				return unsuitedError{fmt.Errorf("factor %d joins %d variables %v, %d of them without evidence: Gibbs "+
					"sampling takes at most 2", f, len(scope), scope, free)}
			}
		}
		return options.check(sizesOf(left), options.Chains)
	})
	if err != nil {
		return nil, err
	}
	chains, irreducible, err := newChains(ctx, r.pairwise, options.Chains, options.mixedSeed())
	if err != nil {
		return nil, r.locate(err)
	}
	s := &Samples{
		Method: Gibbs, Chains: options.Chains, BurnIn: options.BurnIn, Thin: options.Thin,
		LogZ: math.NaN(), drawn: make([][]int32, options.Draws), given: r.conditioned,
	}
	first := divide(options.Draws, options.Chains)
	for k := range options.Chains {
		for i := range first[k+1] - first[k] {
			s.Chain, s.Sweep = append(s.Chain, int32(k)), append(s.Sweep, int32(options.BurnIn+(i+1)*options.Thin))
		}
	}
	done := options.progress(options.Chains*options.BurnIn + options.Draws*options.Thin)
	err = parallel.Each(ctx, len(chains), options.Threads, func(k int) {
		chain := chains[k]
		chain.sweeps(ctx, options.BurnIn, done)
		for i := first[k]; i < first[k+1]; i++ {
			if !chain.sweeps(ctx, options.Thin, done) {
				return
			}
			s.drawn[i] = slices.Clone(chain.x)
		}
	})
	if err != nil {
		return nil, err
	}
	d, err := diagnose(ctx, s.drawn, r.conditioned, first, options.Threads)
	if err != nil {
		return nil, err
	}
	d.Irreducible = irreducible
	s.Converged = d.Irreducible && d.good(options.MaxRHat, options.MinESS)
	s.Diagnosis = d
	return s, nil
}

// divide shares out n draws among chains: chain k has those from first[k] to first[k+1].
func divide(n, chains int) (first []int) {
	for k := range chains + 1 {
		first = append(first, k*(n/chains)+min(k, n%chains))
	}
	return first
}

// sweeps makes so many sweeps, unless ctx ends before, when it reports false.
func (c *chain) sweeps(ctx context.Context, n int, done func()) bool {
	for ; n > 0; n-- {
		if ctx.Err() != nil {
			return false
		}
		c.sweep()
		done()
	}
	return true
}
