// Package local has objectives of learning that are sums over the instances, each of which has its
// exact gradient at the price of one look at it, without messages: pseudo-likelihood, piecewise
// likelihood, and by elimination of variables the likelihood itself.
package local

import (
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/exact"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// Objective is
//
//	L(θ̃) = (1/N) Σ_n terms of sample n + (l2/2)‖θ̃‖²,
//
// which is convex unless the likelihood sums over missing labels.
type Objective struct {
	Kind         Kind
	Model        *crf.Model // what the weights are of
	Data         []*crf.Instance
	ClassWeights [][]float64 // nil: ones
	L2           float64
	Total        float64 // N, the sum of the samples' weights

	model   crf.Model                     // with the weights at hand
	plans   map[*crf.Instance]*exact.Plan // of Exact
	entries float64                       // of joint tables that an evaluation of Exact computes
	terms   map[*crf.Instance][]ground.Term
	whole   map[*graph.Graph]*partition.Partition
	pool    *parallel.Pool[[]*crf.Instance]
	workers []ground.LocalObjective
	parts   []part // [instances of a chunk]
}

// Kind says what the terms are.
type Kind int

// The kinds of terms.
const (
	Pseudo Kind = iota
	Piecewise
	Exact
)

// part is what one instance adds to objective and gradient.
type part struct {
	value    float64
	gradient []float64
}

// Together is of how many instances gradients are kept before they are added up, in the order of the
// instances, whatever thread computed them.
func (o *Objective) Together() int { return min(16, len(o.Data)) }

// Allocate takes the memory of evaluations, after Plan. Close ends the goroutines that it begins.
func (o *Objective) Allocate(threads int) {
	o.model = *o.Model
	o.whole, o.terms = map[*graph.Graph]*partition.Partition{}, map[*crf.Instance][]ground.Term{}
	for _, in := range o.Data {
		if o.whole[in.Graph] == nil {
			o.whole[in.Graph] = partition.Whole(in.Graph)
		}
		if o.Kind == Exact {
			o.terms[in] = ground.Terms(o.ClassWeights, in)
		}
	}
	for range o.Together() {
		o.parts = append(o.parts, part{gradient: make([]float64, o.Model.Layout.Size)})
	}
	for range threads {
		o.workers = append(o.workers, o.Worker())
	}
	o.pool = parallel.NewPool(threads, func(chunk *[]*crf.Instance, worker, i int) {
		in, part := (*chunk)[i], &o.parts[i]
		clear(part.gradient)
		part.value = o.workers[worker].Add(part.gradient, &o.model, in, o.Whole(in), in.Weight()/o.Total)
	})
}

// Close ends the goroutines.
func (o *Objective) Close() { o.pool.Close() }

// Worker returns the terms, with scratch for one goroutine. Before Allocate those of Exact have no
// samples, and serve to see how long they take.
func (o *Objective) Worker() ground.LocalObjective {
	switch o.Kind {
	case Exact:
		return &likelihood{objective: o}
	case Piecewise:
		return &ground.Piecewise{ClassWeights: o.ClassWeights}
	}
	return &ground.PseudoLikelihood{ClassWeights: o.ClassWeights}
}

// Whole returns the one block of an instance.
func (o *Objective) Whole(in *crf.Instance) *partition.Block { return &o.whole[in.Graph].Blocks[0] }

// Bytes returns what the scratch of a worker takes for an instance.
func (o *Objective) Bytes(in *crf.Instance) float64 {
	if o.Kind == Exact {
		return o.likelihoodBytes(in)
	}
	return ground.LocalBytes(&o.Model.Layout, in, o.Kind == Piecewise)
}

// Operations returns how many entries of joint tables one evaluation of Exact computes for an instance.
func (o *Objective) Operations(in *crf.Instance) float64 { return o.plans[in].Operations }

// Evaluate returns L at the weights, and its gradient. Weights of symmetric types lose what rounding
// has left between them.
func (o *Objective) Evaluate(gradient, weights []float64) (value float64) {
	o.Model.Layout.Symmetrise(weights)
	o.model.Weights = weights
	for i, w := range weights {
		value += o.L2 / 2 * w * w
		gradient[i] = o.L2 * w
	}
	for chunk := range slices.Chunk(o.Data, len(o.parts)) {
		o.pool.Run(chunk, len(chunk))
		for i := range chunk {
			value += o.parts[i].value
			simd.AddScaled(gradient, o.parts[i].gradient, 1)
		}
	}
	o.Model.Layout.Symmetrise(gradient)
	return value
}
