package infer

import (
	"math"
	"math/rand/v2"

	"github.com/blockbp/blockbp/internal/gibbs"
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

// sweep draws every node once from its conditional distribution, in their order.
func (c *chain) sweep() {
	for _, s := range c.free {
		score := c.score[:c.p.Card[s]]
		gibbs.Conditional(score, c.p, c.x, s)
		c.x[s] = gibbs.Draw(score, c.rng)
	}
}

// frozen reports whether no single node can leave its state: then the chain would repeat its start for ever.
func (c *chain) frozen() bool {
	for _, s := range c.free {
		score := c.score[:c.p.Card[s]]
		gibbs.Conditional(score, c.p, c.x, s)
		if possibleStates(score) > 1 {
			return false
		}
	}
	return true
}

// possibleStates counts the states with a logarithm above −Inf.
func possibleStates(score []float64) int {
	n := 0
	for _, v := range score {
		if !math.IsInf(v, -1) {
			n++
		}
	}
	return n
}
