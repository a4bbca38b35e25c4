package infer

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/blockbp/blockbp/internal/gibbs"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/mrf"
)

// chunkNodes is how many nodes of one colour are updated with one source of
// randomness. Chunks of a colour may be updated at the same time, so they should
// be long enough to be worth a goroutine, about 0.1 ms.
const chunkNodes = 2048

// schedule is the order of a sweep: colour after colour, and the nodes of one
// colour, which are independent given the others, in chunks. Nodes that hard zeros
// leave one state are left out.
type schedule struct {
	p       *mrf.Pairwise
	colours [][][]int32 // [colours][chunks] nodes
	widest  int         // most chunks of a colour
	largest int         // most states of a node
}

// newSchedule makes the schedule of the nodes that have several possible states.
func newSchedule(p *mrf.Pairwise, d *gibbs.Domains) *schedule {
	colour, count := p.Graph.Colouring()
	of := make([][]int32, count)
	sch := &schedule{p: p}
	for s, c := range colour {
		if d.Size[s] > 1 {
			of[c] = append(of[c], int32(s))
			sch.largest = max(sch.largest, int(p.Card[s]))
		}
	}
	for _, nodes := range of {
		if chunks := slices.Collect(slices.Chunk(nodes, chunkNodes)); len(chunks) > 0 {
			sch.colours = append(sch.colours, chunks)
			sch.widest = max(sch.widest, len(chunks))
		}
	}
	return sch
}

// chain is a Markov chain over joint states whose stationary distribution is that
// of a network. Its course depends on the start and the seed alone.
type chain struct {
	*schedule
	x       []int32        // [nodes] the joint state
	source  [][]*rand.Rand // [colours][chunks]
	score   [][]float64    // [chunks of a colour][largest] scratch
	threads int            // goroutines of one sweep
	// sum, if not nil, adds up p(x_s | rest) of every update at p.NodeAt.
	sum []float64
}

func newChain(sch *schedule, x []int32, seed uint64, number, threads int) *chain {
	c := &chain{schedule: sch, x: x, threads: threads}
	part := uint64(1) // 0 is the start
	for _, chunks := range sch.colours {
		sources := make([]*rand.Rand, len(chunks))
		for q := range sources {
			sources[q] = stream(seed, uint64(number), part)
			part++
		}
		c.source = append(c.source, sources)
	}
	for range sch.widest {
		c.score = append(c.score, make([]float64, sch.largest))
	}
	return c
}

// stream returns a source of randomness for one part of a piece of work. The
// numbers are mixed well, since generators that begin near each other could run
// alike.
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

// sweep updates every node once.
func (c *chain) sweep() {
	for k, chunks := range c.colours {
		if c.threads == 1 || len(chunks) == 1 {
			for q := range chunks {
				c.update(k, q)
			}
			continue
		}
		// A sweep is over soon, so it is not interrupted.
		_ = parallel.Each(context.Background(), len(chunks), c.threads, func(q int) { c.update(k, q) })
	}
}

// update draws the nodes of a chunk from their conditional distributions.
func (c *chain) update(colour, chunk int) {
	p, rng := c.p, c.source[colour][chunk]
	for _, s := range c.colours[colour][chunk] {
		score := c.score[chunk][:p.Card[s]]
		gibbs.Conditional(score, p, c.x, s)
		c.x[s] = gibbs.Draw(score, rng)
		if c.sum != nil {
			addProbabilities(c.sum[p.NodeAt[s]:], score)
		}
	}
}

// addProbabilities adds to sum the probabilities whose cumulative weights, not
// normalised, gibbs.Draw has left.
func addProbabilities(sum, cumulative []float64) {
	total, before := cumulative[len(cumulative)-1], 0.0
	for i, v := range cumulative {
		sum[i] += (v - before) / total
		before = v
	}
}

// frozen reports whether no single node can leave its state: then the chain would
// repeat its start for ever.
func (c *chain) frozen() bool {
	score := make([]float64, c.largest)
	for _, chunks := range c.colours {
		for _, chunk := range chunks {
			for _, s := range chunk {
				score := score[:c.p.Card[s]]
				gibbs.Conditional(score, c.p, c.x, s)
				if possibleStates(score) > 1 {
					return false
				}
			}
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
