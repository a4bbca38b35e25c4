package infer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/gibbs"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/mrf"
)

// chain is a Markov chain over joint states whose stationary distribution is that
// of a network. Its course depends on the start and the seed alone.
type chain struct {
	p    *mrf.Pairwise
	free []int32 // the nodes that have several possible states
	x    []int32 // [nodes] the joint state
	rng  *rand.Rand
	// score has room for the states of a node.
	score []float64
}

// conditional returns the logarithms of the probabilities of a node's states given all others, up to a constant.
func (c *chain) conditional(s int32) []float64 {
	score := c.score[:c.p.Card[s]]
	gibbs.Conditional(score, c.p, c.x, s)
	return score
}

// sweep draws every node once from its conditional distribution, in their order.
func (c *chain) sweep() {
	for _, s := range c.free {
		c.x[s] = gibbs.Draw(c.conditional(s), c.rng)
	}
}

// frozen reports whether no single node can leave its state: then the chain would repeat its start for ever.
func (c *chain) frozen() bool {
	return !slices.ContainsFunc(c.free, func(s int32) bool {
		n := 0
		for _, v := range c.conditional(s) {
			if !math.IsInf(v, -1) {
				n++
			}
		}
		return n > 1
	})
}

// newChains starts so many chains from random joint states of positive probability. irreducible says that it is proved
// that they can reach every possible joint state. See Sample for the errors.
func newChains(ctx context.Context, p *mrf.Pairwise, count int, seed uint64,
) (all []*chain, irreducible bool, err error) {
	d, err := domains(p)
	if err != nil {
		return nil, false, err
	}
	free := slices.DeleteFunc(numeric.To(len(d.Size)), func(s int32) bool { return d.Size[s] <= 1 })
	frozen := len(free) > 0
	for k := range count {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		x, err := searchState(d, stream(seed, uint64(k), 0))
		if err != nil {
			return nil, false, err
		}
		c := &chain{p: p, free: free, x: x, rng: stream(seed, uint64(k), 1),
			score: make([]float64, slices.Max(append([]int32{0}, p.Card...)))}
		frozen = frozen && c.frozen()
		all = append(all, c)
	}
	if irreducible = d.Irreducible(); frozen && !irreducible {
		return nil, false, unsuitedError{fmt.Errorf("one variable at a time is changed by Gibbs sampling, and from the "+
			"possible joint states that were found (%d, at random) hard zeros let none change: it is not ergodic here, so it "+
			"would repeat its start for ever; exact inference can give marginals", count)}
	}
	return all, irreducible, nil
}

// searchState draws a possible joint state.
func searchState(d *gibbs.Domains, rng *rand.Rand) ([]int32, error) {
	x, err := d.Search(rng)
	switch {
	case errors.Is(err, gibbs.ErrNone):
		return nil, zeroAt(err)
	case err != nil:
		return nil, unsuitedError{err}
	}
	return x, nil
}

// searchZero looks for a possible joint state and returns ErrZero where it has proved that there is none, on graphs
// with loops too; nil where it found one, or gave up. The seed decides what is tried first.
func searchZero(p *mrf.Pairwise, seed uint64) error {
	d, err := domains(p)
	if err != nil {
		return err
	}
	if _, err := searchState(d, stream(seed, 0, 0)); errors.Is(err, ErrZero) {
		return err
	}
	return nil
}

// domains returns the states that the hard zeros of a network leave possible, if its potentials are fit.
func domains(p *mrf.Pairwise) (*gibbs.Domains, error) {
	if err := checkPotentials(p); err != nil {
		return nil, err
	}
	d := gibbs.New(p)
	if !d.Propagate() {
		return nil, zeroAt(errContradiction)
	}
	return d, nil
}

// checkPotentials reports a factor without variables that is zero, and the first node
// at which potentials could not be added up.
func checkPotentials(p *mrf.Pairwise) error {
	if math.IsInf(p.Constant, -1) {
		return zeroAt(errConstant)
	}
	for s := range int32(len(p.Card)) {
		most := math.MaxFloat64 / float64(1+p.Graph.Degree(s))
		tooLarge := func(x float64) bool { return !math.IsInf(x, -1) && !(math.Abs(x) <= most) }
		wrong := slices.ContainsFunc(p.Node[p.NodeAt[s]:p.NodeAt[s+1]], tooLarge)
		for _, in := range p.Graph.Incoming(s) {
			wrong = wrong || slices.ContainsFunc(p.Edge[p.EdgeAt[in>>1]:p.EdgeAt[in>>1+1]], tooLarge)
		}
		if wrong {
			return &bp.NumericalError{Node: s, Edge: -1, Reason: "potentials are too large to be added up; subtract a " +
				"constant from each table"}
		}
	}
	return nil
}

// stream returns a source of randomness for one part of a piece of work. The numbers are mixed well, since generators
// that begin near each other could run alike.
func stream(seed, piece, part uint64) *rand.Rand {
	a := mix(seed + mix(piece+mix(part)))
	return rand.New(rand.NewPCG(a, mix(a)))
}

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood 2014) with its
// increment: a bijection in which every bit depends on all.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
