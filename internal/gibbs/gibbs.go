// Package gibbs has what Gibbs sampling of a pairwise network is made of. It draws the states of single nodes given
// their neighbours, and reasons about hard zeros, the potentials of −Inf: which states they leave possible, whether
// any joint state is left, and whether changes of single nodes lead from every one to every other.
package gibbs

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/blockbp/blockbp/mrf"
)

// Sample draws from p by Gibbs sampling, once and without a look at convergence, for which there is package infer: a
// random start, then the given number of sweeps over all nodes in order. The same source gives the same sample.
// States of probability zero are never entered from a state of positive probability; a start that is itself
// impossible is left as soon as the conditionals allow.
func Sample(p *mrf.Pairwise, sweeps int, rng *rand.Rand) []int32 {
	x := make([]int32, len(p.Card))
	for s, k := range p.Card {
		x[s] = int32(rng.IntN(int(k)))
	}
	score := make([]float64, slices.Max(append([]int32{0}, p.Card...)))
	for range sweeps {
		for s := range int32(len(x)) {
			Conditional(score[:p.Card[s]], p, x, s)
			x[s] = Draw(score[:p.Card[s]], rng)
		}
	}
	return x
}

// Conditional writes log p(x_s | rest), up to a constant, into score: equation (10) of docs/explanation/equations.md.
func Conditional(score []float64, p *mrf.Pairwise, x []int32, s int32) {
	copy(score, p.Node[p.NodeAt[s]:])
	for _, d := range p.Graph.Incoming(s) {
		e, other := d>>1, p.Graph.Source(d)
		table := p.Edge[p.EdgeAt[e]:p.EdgeAt[e+1]]
		if d&1 == 0 { // other is U(e): its state picks a row
			row := table[int(x[other])*len(score):][:len(score)]
			for i := range score {
				score[i] += row[i]
			}
			continue
		}
		columns := int(p.Card[other])
		for i := range score {
			score[i] += table[i*columns+int(x[other])]
		}
	}
}

// Draw picks a state with probability proportional to exp(score), and leaves the
// cumulative weights in score; where every state is impossible it picks uniformly.
func Draw(score []float64, rng *rand.Rand) int32 {
	if math.IsInf(Accumulate(score), -1) {
		return int32(rng.IntN(len(score)))
	}
	return Pick(score, rng)
}

// Pick draws a state from cumulative weights. A state of weight 0 is never drawn.
func Pick(cumulative []float64, rng *rand.Rand) int32 {
	r := rng.Float64() * cumulative[len(cumulative)-1]
	for i, v := range cumulative {
		if r < v {
			return int32(i)
		}
	}
	return int32(len(cumulative) - 1)
}

// Accumulate turns logarithms into the cumulative sums of their exponentials, relative to the largest, and returns
// the logarithm of the whole sum. Where all are −Inf the sums are 0.
func Accumulate(row []float64) (logSum float64) {
	largest := slices.Max(row)
	if math.IsInf(largest, -1) {
		clear(row)
		return largest
	}
	sum := 0.0
	for i, v := range row {
		sum += math.Exp(v - largest)
		row[i] = sum
	}
	return largest + math.Log(sum)
}
