package exact

import (
	"context"
	"math/rand/v2"

	"github.com/blockbp/blockbp/internal/gibbs"
)

// Sampler draws independent joint states from the messages of an elimination. From the roots to the leaves, each
// variable is drawn given those of its separator, which all come before it: equation (12) of
// docs/explanation/equations.md. Several goroutines may draw at the same time.
type Sampler struct {
	// LogZ is the natural logarithm of the partition function.
	LogZ float64

	plan         *Plan
	conditionals []conditional // [bucket]
	mostStates   int
}

// conditional is the distribution of a bucket's variable given its separator, as a product of tables.
type conditional struct {
	logarithmic bool // of all tables
	tables      []*table
	scopes      [][]int32
}

// Sampler runs the elimination, and keeps its messages. They take no more memory than
// Bytes. Errors are those of Run with marginals.
func (p *Plan) Sampler(ctx context.Context) (*Sampler, error) {
	r, err := p.begin(ctx, p.Bytes)
	if err != nil {
		return nil, err
	}
	s := &Sampler{plan: p}
	if s.LogZ, err = r.forward(true); err != nil {
		return nil, err
	}
	for i := range p.buckets {
		s.mostStates = max(s.mostStates, p.buckets[i].card[0])
		tables, scopes := r.inputs(i)
		s.conditionals = append(s.conditionals, conditional{r.ways[i].logarithmic, tables, scopes})
	}
	return s, nil
}

// Draw fills x [variables] with an independent draw.
func (s *Sampler) Draw(x []int32, rng *rand.Rand) {
	weights := make([]float64, s.mostStates)
	for i := len(s.conditionals) - 1; i >= 0; i-- {
		v := s.plan.order[i]
		w := weights[:s.plan.network.Card[v]]
		s.accumulate(w, i, x)
		x[v] = gibbs.Pick(w, rng)
	}
}

// accumulate sets w to the cumulative weights of the states of bucket i's variable.
func (s *Sampler) accumulate(w []float64, i int, x []int32) {
	c := &s.conditionals[i]
	for k := range w {
		w[k] = 1
		if c.logarithmic {
			w[k] = 0
		}
	}
	for j, t := range c.tables {
		at, stride := 0, 1 // of the separator's states, and from one of the own variable to the next
		for _, position := range c.scopes[j][1:] {
			v := s.plan.order[position]
			card := s.plan.network.Card[v]
			at, stride = at*card+int(x[v]), stride*card
		}
		for k := range w {
			if e := t.entries[at+k*stride]; c.logarithmic {
				w[k] += e
			} else {
				w[k] *= e
			}
		}
	}
	if c.logarithmic {
		gibbs.Accumulate(w)
		return
	}
	for k := range w[1:] {
		w[k+1] += w[k]
	}
}
