package infer

import (
	"math"
	"math/rand/v2"

	"github.com/blockbp/blockbp/mrf"
)

// Gibbs draws from p by Gibbs sampling, once and without a look at convergence,
// for which there is Sample: a random start, then the given number of
// sweeps over all nodes in order. The same source gives the same sample. States
// of probability zero are never entered from a state of positive probability;
// a start that is itself impossible is left as soon as the conditionals allow.
func Gibbs(p *mrf.Pairwise, sweeps int, rng *rand.Rand) []int32 {
	x := make([]int32, len(p.Card))
	for s, k := range p.Card {
		x[s] = int32(rng.IntN(int(k)))
	}
	largest := 0
	for _, k := range p.Card {
		largest = max(largest, int(k))
	}
	score := make([]float64, largest)
	for range sweeps {
		for s := range int32(len(x)) {
			conditional(score[:p.Card[s]], p, x, s)
			x[s] = draw(score[:p.Card[s]], rng)
		}
	}
	return x
}

// conditional writes log p(x_s | rest), up to a constant, into score: equation (10)
// of docs/explanation/equations.md.
func conditional(score []float64, p *mrf.Pairwise, x []int32, s int32) {
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

// draw picks a state with probability proportional to exp(score), and leaves the
// cumulative weights in score; where every state is impossible it picks uniformly.
func draw(score []float64, rng *rand.Rand) int32 {
	if math.IsInf(accumulate(score), -1) {
		return int32(rng.IntN(len(score)))
	}
	return pick(score, rng)
}
