package exact

import (
	"context"
	"math"
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
	factors     []conditionalFactor
}

// conditionalFactor is a table whose slowest variable is the bucket's own.
type conditionalFactor struct {
	entries   []float64
	ownStride int
	variables []int32 // the others
	strides   []int   // of the others
}

// Sampler runs the elimination, and keeps its messages. They take no more memory than
// Bytes. Errors are those of Run with marginals.
func (p *Plan) Sampler(ctx context.Context) (*Sampler, error) {
	if err := p.Check(p.Bytes); err != nil {
		return nil, err
	}
	r := newRun(ctx, p, false)
	logZ, err := r.forward(true)
	if err != nil {
		return nil, err
	}
	if math.IsInf(logZ, -1) {
		return nil, ErrZero
	}
	s := &Sampler{LogZ: logZ, plan: p}
	for i := range p.buckets {
		c := conditional{logarithmic: r.ways[i].logarithmic}
		s.mostStates = max(s.mostStates, p.buckets[i].card[0])
		tables, scopes := r.inputs(i)
		for j, t := range tables {
			c.factors = append(c.factors, p.conditionalFactor(t, scopes[j]))
		}
		s.conditionals = append(s.conditionals, c)
	}
	return s, nil
}

// conditionalFactor is a table over positions, of which the first is the bucket's own.
func (p *Plan) conditionalFactor(t *table, scope []int32) conditionalFactor {
	f := conditionalFactor{entries: t.entries, ownStride: 1, strides: make([]int, len(scope)-1)}
	for j := len(scope) - 1; j > 0; j-- {
		f.strides[j-1] = f.ownStride
		f.ownStride *= p.network.Card[p.order[scope[j]]]
	}
	for _, position := range scope[1:] {
		f.variables = append(f.variables, p.order[position])
	}
	return f
}

// Draw fills x [variables] with an independent draw.
func (s *Sampler) Draw(x []int32, rng *rand.Rand) {
	weights := make([]float64, s.mostStates)
	for i := len(s.conditionals) - 1; i >= 0; i-- {
		v := s.plan.order[i]
		w := weights[:s.plan.network.Card[v]]
		s.conditionals[i].accumulate(w, x)
		x[v] = gibbs.Pick(w, rng)
	}
}

// accumulate sets w to the cumulative weights of the own variable's states.
func (c *conditional) accumulate(w []float64, x []int32) {
	neutral := 1.0
	if c.logarithmic {
		neutral = 0
	}
	for k := range w {
		w[k] = neutral
	}
	for _, f := range c.factors {
		at := 0
		for j, v := range f.variables {
			at += f.strides[j] * int(x[v])
		}
		for k := range w {
			if e := f.entries[at+k*f.ownStride]; c.logarithmic {
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
