package infer

import (
	"context"
	"math"
	"slices"

	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/mrf"
)

// Diagnosis judges draws of several Markov chains. For a discrete variable the numbers are those of the indicators of
// its states, [x_s = i], and the worst counts; ranks, which are of use for heavy tails, do not matter to indicators.
type Diagnosis struct {
	// RHat [variables] is the split R̂ (Gelman and others, Bayesian Data Analysis, 2013): the spread of all draws over
	// that within halves of chains. It is near 1 where all chains tell the same, +Inf where each stands still at a state
	// of its own. NaN for a variable that was observed, or in one state in all draws, and where there are too few.
	RHat []float64
	// ESS [variables] is the effective sample size over all chains: the number of independent draws that would estimate
	// the probabilities as well (Vehtari and others, Bayesian Analysis 16, 2021, without ranks). NaN as RHat.
	ESS []float64
	// MaxRHat and MinESS are the worst of all variables, NaN if there is none;
	// WorstRHat and WorstESS are the variables, −1 if there is none.
	MaxRHat, MinESS     float64
	WorstRHat, WorstESS int
	// Constant is the number of free variables that were in one state in all draws, of which nothing can be said.
	Constant int
	// Enough: there were the four draws in every chain that a judgement needs.
	Enough bool
	// Irreducible says that it is proved that the chains can reach every possible
	// joint state. Otherwise, which takes hard zeros in edges, they may be locked in a
	// part of them, and where all chains are in the same part no diagnosis can tell.
	Irreducible bool
}

// good reports whether the draws speak against no node: R̂ at most maxRHat, and an effective sample size of at least
// minESS. It is no proof: chains that all missed the same states agree with each other.
func (d *Diagnosis) good(maxRHat, minESS float64) bool {
	return d.Enough && (d.WorstRHat < 0 || d.MaxRHat <= maxRHat && d.MinESS >= minESS)
}

// leastDraws is how many draws of a chain can be judged: two in each half.
const leastDraws = 4

// diagnose judges draws, of which chain k has those from first[k] to first[k+1], of nodes that are variables of a
// network; the others are observed.
func diagnose(ctx context.Context, draws [][]int32, c *mrf.Conditioned, first []int, threads int) (*Diagnosis, error) {
	unknown, n := slices.Repeat([]float64{math.NaN()}, len(c.Observed)), len(c.Variable)
	d := &Diagnosis{RHat: unknown, ESS: slices.Clone(unknown), WorstRHat: -1, WorstESS: -1, MaxRHat: math.NaN(),
		MinESS: math.NaN()}
	length := math.MaxInt // of the shortest chain
	for k := range len(first) - 1 {
		length = min(length, first[k+1]-first[k])
	}
	d.Enough = length >= leastDraws
	constant := make([]bool, n)
	err := parallel.Each(ctx, n, threads, func(s int) {
		v := c.Variable[s]
		d.RHat[v], d.ESS[v], constant[s] = newNodeMixing(draws, first, length).node(s, c.Network.Card[s], d.Enough)
	})
	if err != nil {
		return nil, err
	}
	for s, v := range c.Variable {
		if constant[s] {
			d.Constant++
		}
		if r := d.RHat[v]; r > d.MaxRHat || d.WorstRHat < 0 && !math.IsNaN(r) {
			d.MaxRHat, d.WorstRHat = r, v
		}
		if e := d.ESS[v]; e < d.MinESS || d.WorstESS < 0 && !math.IsNaN(e) {
			d.MinESS, d.WorstESS = e, v
		}
	}
	return d, nil
}

// nodeMixing tells how well the draws of a node mix.
type nodeMixing struct {
	draws  [][]int32
	start  []int     // [sequences] first draw of each half of a chain
	length int       // draws of a half
	states [][]int32 // [sequences][length] of the node at hand
	// centred [sequences][length] is the indicator at hand, less its mean over the sequence.
	centred [][]float64
}

func newNodeMixing(draws [][]int32, first []int, length int) *nodeMixing {
	j := &nodeMixing{draws: draws, length: length / 2}
	for k := range len(first) - 1 {
		// Where the number is odd, the one in the middle is left out.
		j.start = append(j.start, first[k], first[k]+length-j.length)
	}
	for range j.start {
		j.states = append(j.states, make([]int32, j.length))
		j.centred = append(j.centred, make([]float64, j.length))
	}
	return j
}

// node returns the worst R̂ and effective sample size of the states of node s.
func (j *nodeMixing) node(s, card int, enough bool) (rhat, ess float64, constant bool) {
	seen, different := make([]bool, card), 0
	for q, start := range j.start {
		for i := range j.length {
			state := j.draws[start+i][s]
			if j.states[q][i] = state; !seen[state] {
				seen[state] = true
				different++
			}
		}
	}
	if different <= 1 || !enough {
		return math.NaN(), math.NaN(), different <= 1
	}
	rhat, ess = math.Inf(-1), math.Inf(1)
	for i, was := range seen {
		if !was || i > 0 && card == 2 {
			continue // the indicators of two states differ in sign only
		}
		r, e := j.indicator(int32(i))
		rhat, ess = max(r, rhat), min(e, ess)
	}
	return rhat, ess, false
}

// indicator returns split R̂ and effective sample size of [x = state], equation (11) of docs/explanation/equations.md.
// With h draws in each of m sequences, W the mean of their variances and B/h the variance of their means:
//
//	var⁺ = (h−1)/h W + B/h    R̂ = √(var⁺/W)    ESS = m h / (−1 + 2 Σ_{k<K} P_k + ρ_2K)
//	P_k = ρ_2k + ρ_2k+1       ρ_t = 1 − (W − mean autocovariance at t)/var⁺
//
// where P_K is the first that is not positive, or the last that there is, and each P_k counts at most as much as the
// one before (Geyer 1992; Vehtari and others). A negative ρ_2K counts as 0 where P_K < 0.
func (j *nodeMixing) indicator(state int32) (rhat, ess float64) {
	h, m := float64(j.length), float64(len(j.states))
	within, overall, means := 0.0, 0.0, make([]float64, len(j.states))
	for q, states := range j.states {
		n := 0.0
		for i, x := range states {
			if j.centred[q][i] = 0; x == state {
				j.centred[q][i] = 1
				n++
			}
		}
		mean := n / h
		for i := range j.centred[q] {
			j.centred[q][i] -= mean
		}
		means[q] = mean
		within += mean * (1 - mean) * h / (h - 1) / m
		overall += mean / m
	}
	between := 0.0 // B/h
	for _, mean := range means {
		between += (mean - overall) * (mean - overall) / (m - 1)
	}
	total := (h-1)/h*within + between
	if within == 0 {
		return math.Inf(1), 1 // every sequence stands still
	}
	rho := func(lag int) float64 { return 1 - (within-j.autocovariance(lag))/total }
	last, rest := 1+rho(1), 0.0
	sum := last
	for lag := 2; lag < j.length-2; lag += 2 {
		even := rho(lag)
		pair := even + rho(lag+1)
		if pair <= 0 || lag+2 >= j.length-2 {
			if rest = even; pair < 0 {
				rest = max(0, even)
			}
			break
		}
		last = min(last, pair)
		sum += last
	}
	// Draws that take turns can be better than independent ones, but such a claim of
	// few draws is not believed beyond this (Vehtari and others).
	tau := max(2*sum-1+rest, 1/math.Log10(m*h))
	return math.Sqrt(total / within), m * h / tau
}

// autocovariance returns the mean over the sequences of that of the indicator at a lag.
func (j *nodeMixing) autocovariance(lag int) (mean float64) {
	for _, x := range j.centred {
		sum := 0.0
		for i, later := range x[lag:] {
			sum += x[i] * later
		}
		mean += sum / float64(j.length*len(j.centred))
	}
	return mean
}
