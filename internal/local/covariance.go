package local

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/gonum"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/simd"
)

// Covariance is the covariance Σ_c c cᵀ of weights. With H the Hessian of L at its minimum and N samples it is
//
//	H⁻¹/N              of the likelihood (Fisher 1922),
//	H⁻¹ V H⁻¹/N        of the pseudo-likelihood (Huber 1967, Godambe 1960),
//
// V being the covariance of the samples' gradients, plus l2 I: the prior says as much of weights as its curvature is.
// Of the likelihood V is H, so that both are one rule. The samples have to be independent; see Correlation.
type Covariance struct {
	Parameters int
	// Correlation is that of the gradients of one sample and of the next.
	Correlation float64

	samples int
	free    []int     // [weights] the parameter that each is: symmetric types have two of one
	root    []float64 // [parameters][parameters] its columns are c
}

const (
	// mostParameters bounds them: two matrices of that many rows are 256 MiB.
	mostParameters = 4096
	// leastCurvature is the least of H, relative to its largest: weights that neither data nor
	// prior say anything of have errors that are huge, not infinite.
	leastCurvature = 1e-10
	// slopeStep is the step of central differences of gradients. Their rounding, 1e-13 or so,
	// divided by it is no more than what the third derivative adds.
	slopeStep = 1e-4
	// scoresTogether are multiplied at once.
	scoresTogether = 256
)

// NewCovariance finds the covariance at the weights of o.Model, where o is smallest, on so many threads and within so
// many bytes of memory, as memory.Allowed has them. An error says why there is none. What takes long tells progress,
// unless that is nil, how much of it is done.
func NewCovariance(ctx context.Context, o *Objective, threads int, allowed int64,
	progress func(done, total int)) (*Covariance, error) {
	if o.Kind != Pseudo && o.Kind != Exact {
		return nil, fmt.Errorf("method %s has none: what its minima scatter by is known of the methods exact and pseudo",
			o.Kind)
	}
	if o.ClassWeights != nil && o.Kind == Exact {
		return nil, fmt.Errorf("labels are weighed, so that the objective is no likelihood")
	}
	if o.Fills() {
		return nil, fmt.Errorf("labels are hidden, and how uncertain these are is no part of the formula")
	}
	x, err := prepareCovariance(&o.Model.Layout, o.Data)
	if err != nil {
		return nil, err
	}
	if n := float64(x.Parameters); allowed >= 0 { // three matrices of doubles
		if err := memory.Check(fmt.Sprintf("a covariance of %v parameters", n), 3*8*n*n, allowed); err != nil {
			return nil, err
		}
	}
	if err := o.Plan(math.Inf(1)); err != nil {
		return nil, err
	}
	o.Allocate(threads)
	defer o.Close()
	return x, x.find(ctx, o, progress)
}

// prepareCovariance counts the parameters.
func prepareCovariance(layout *crf.Layout, data []*crf.Instance) (*Covariance, error) {
	x := &Covariance{free: slices.Repeat([]int{-1}, layout.Size)}
	for _, span := range slices.Concat(layout.Node, layout.Edge) {
		for i := span.At; i < span.At+span.Len; i++ {
			if x.free[i] < 0 {
				x.free[i] = x.Parameters
				x.Parameters++
			}
			if k := span.Ends; k > 0 {
				joint := (i - span.At) % span.States
				x.free[i-joint+joint%k*k+joint/k] = x.free[i]
			}
		}
	}
	if x.Parameters > mostParameters {
		return nil, fmt.Errorf("the model has %d parameters, and their covariance takes too much beyond %d", x.Parameters,
			mostParameters)
	}
	for _, in := range data {
		x.samples += len(in.Samples())
	}
	if x.samples < 2 {
		return nil, fmt.Errorf("there is one sample alone, and how samples differ is not known")
	}
	return x, nil
}

// find finds it.
func (x *Covariance) find(ctx context.Context, o *Objective, progress func(done, total int)) error {
	n := x.Parameters
	numbers := func(n int) []float64 { return make([]float64, n) }
	e := &estimate{
		Covariance: x, n: n, o: o, hessian: numbers(n * n), outer: numbers(n * n), mean: numbers(n),
		batch: numbers(scoresTogether * n), last: numbers(n), next: numbers(n), progress: progress,
	}
	if err := e.scores(ctx); err != nil {
		return err
	}
	if o.Kind == Exact {
		if err := e.differences(ctx); err != nil {
			return err
		}
	}
	e.correlate()
	if e.addPrior(); o.Kind == Exact {
		copy(e.outer, e.hessian)
	}
	return e.factorise()
}

// Each calls do for every c, [weights], which is good for one call.
func (x *Covariance) Each(do func(c []float64)) {
	c := make([]float64, len(x.free))
	for j := range x.Parameters {
		for i, f := range x.free {
			c[i] = x.root[f*x.Parameters+j]
		}
		do(c)
	}
}

// estimate is the work of Find.
type estimate struct {
	*Covariance
	o       *Objective
	n       int       // parameters
	hessian []float64 // [n][n], the upper triangle
	outer   []float64 // [n][n] Σ g gᵀ/N
	mean    []float64 // [n] Σ g/N

	batch        []float64 // [scoresTogether][n]
	rows         int
	last, next   []float64 // g of the last sample, and of the one at hand
	behind       bool      // there is a last one
	count, lag   float64   // Σ|g|² and Σ⟨g, g of the one before⟩
	pairs, total float64   // of samples one after another, and of all

	ended    int                   // samples
	progress func(done, total int) // nil: nobody asks
}

// tell tells how much is done of what takes longest, of the method at hand.
func (e *estimate) tell(kind Kind, done, total int) {
	if e.progress != nil && e.o.Kind == kind {
		e.progress(done, total)
	}
}

// addPrior adds what the regulariser knows of weights, and takes the mean out of products.
func (e *estimate) addPrior() {
	largest := 0.0
	for i := range e.n {
		largest = max(largest, e.hessian[i*e.n+i])
	}
	prior := max(e.o.L2, leastCurvature*largest)
	for _, f := range e.free {
		e.hessian[f*e.n+f] += prior
		e.outer[f*e.n+f] += prior
	}
	for i, g := range e.mean {
		for j := i; j < e.n; j++ {
			e.outer[i*e.n+j] -= g * e.mean[j]
		}
	}
}

// scores goes through the samples: their gradients, and of the pseudo-likelihood the Hessian.
func (e *estimate) scores(ctx context.Context) error {
	terms := ground.PseudoLikelihood{ClassWeights: e.o.ClassWeights}
	var adjoint ground.Adjoint
	statistics := make([]float64, len(e.free))
	var places []influence
	for _, in := range e.o.Data {
		weight := in.Weight() / e.o.Total
		e.behind = false
		if e.o.Kind == Exact {
			for i, labels := range in.Samples() {
				if err := ctx.Err(); err != nil {
					return err
				}
				clear(statistics)
				adjoint.AddChange(statistics, e.o.Model, in, ground.Whole(in), nil, labels, -in.SampleWeight(i))
				for i, v := range statistics {
					e.next[e.free[i]] += v
				}
				e.endSample(weight)
			}
			continue
		}
		sample := 0
		terms.EachTerm(e.o.Model, in, e.o.Whole(in), func(i int, p []float64, y int32, count float64, slots []ground.Slot) {
			for ; sample < i; sample++ {
				e.endSample(weight)
			}
			places = places[:0]
			for _, slot := range slots {
				for x := range p {
					places = append(places, influence{e.free[slot.At+x*slot.Stride], x, slot.Value})
				}
			}
			e.addTerm(places, p, y, count, weight)
		})
		for ; sample < len(in.Samples()); sample++ {
			e.endSample(weight)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	e.flush()
	e.tell(Pseudo, e.samples, e.samples)
	return nil
}

// influence is a parameter that the logit of a state depends on.
type influence struct {
	parameter, state int
	value            float64
}

// addTerm adds a term −count · log p(y), of the sample at hand.
func (e *estimate) addTerm(places []influence, p []float64, y int32, count, weight float64) {
	for _, a := range places {
		rest := p[a.state]
		if a.state == int(y) {
			rest--
		}
		e.next[a.parameter] += count * a.value * rest
		for _, b := range places {
			if b.parameter < a.parameter {
				continue
			}
			curve := -p[a.state] * p[b.state]
			if a.state == b.state {
				curve += p[a.state]
			}
			e.hessian[a.parameter*e.n+b.parameter] += weight * count * a.value * b.value * curve
		}
	}
}

// endSample takes the gradient of a sample, of that share of all.
func (e *estimate) endSample(weight float64) {
	e.tell(Pseudo, e.ended, e.samples)
	e.ended++
	simd.AddScaled(e.mean, e.next, weight)
	e.count += weight * simd.Dot(e.next, e.next)
	e.total += weight
	if e.behind {
		e.lag += weight * simd.Dot(e.next, e.last)
		e.pairs += weight
	}
	row := e.batch[e.rows*e.n:][:e.n]
	for i, g := range e.next {
		row[i] = math.Sqrt(weight) * g
	}
	if e.rows++; e.rows == scoresTogether {
		e.flush()
	}
	e.last, e.next, e.behind = e.next, e.last, true
	clear(e.next)
}

// flush adds the products of the gradients at hand.
func (e *estimate) flush() {
	if e.rows > 0 && e.o.Kind == Pseudo {
		a := blas64.General{Rows: e.rows, Cols: e.n, Stride: e.n, Data: e.batch}
		blas64.Gemm(blas.Trans, blas.NoTrans, 1, a, a, 1, blas64.General{Rows: e.n, Cols: e.n, Stride: e.n, Data: e.outer})
	}
	e.rows = 0
}

// correlate compares samples with the ones before.
func (e *estimate) correlate() {
	square := simd.Dot(e.mean, e.mean) / (e.total * e.total)
	if variance := e.count/e.total - square; e.pairs > 0 && variance > 1e-9*e.count/e.total { // else all are one
		e.Correlation = (e.lag/e.pairs - square) / variance
	}
}

// differences finds the Hessian of the likelihood by differences of its gradient.
func (e *estimate) differences(ctx context.Context) error {
	of := make([][]int, e.n) // the weights of each parameter
	for i, f := range e.free {
		of[f] = append(of[f], i)
	}
	trial, gradient := slices.Clone(e.o.Model.Weights), make([]float64, len(e.free))
	at := func(dst []float64, f int, step float64) error {
		copy(trial, e.o.Model.Weights)
		for _, i := range of[f] {
			trial[i] += step
		}
		value := e.o.Evaluate(ctx, gradient, trial)
		if err := ctx.Err(); err != nil {
			return err
		}
		if math.IsNaN(value) {
			return fmt.Errorf("the likelihood cannot be computed near the weights")
		}
		clear(dst)
		for i, g := range gradient {
			dst[e.free[i]] += g - e.o.L2*trial[i]
		}
		return nil
	}
	up, down := e.last, e.next
	for f := range e.n {
		e.tell(Exact, f, e.n)
		if err := cmp.Or(at(up, f, slopeStep), at(down, f, -slopeStep)); err != nil {
			return err
		}
		for g := range e.n {
			slope := (up[g] - down[g]) / (2 * slopeStep)
			if f != g {
				slope /= 2 // it is measured twice
			}
			e.hessian[min(f, g)*e.n+max(f, g)] += slope
		}
	}
	e.tell(Exact, e.n, e.n)
	return nil
}

// factorise makes the root of what was summed.
func (e *estimate) factorise() error {
	n := e.n
	scale := 1 / math.Sqrt(e.o.Total)
	var linear gonum.Implementation // no interface, for which all of LAPACK would be linked
	if !linear.Dpotrf(blas.Upper, n, e.hessian, max(1, n)) {
		return fmt.Errorf("the Hessian is not positive definite: the run did not end at a minimum, or hidden labels leave " +
			"several")
	}
	if !linear.Dpotrf(blas.Upper, n, e.outer, max(1, n)) {
		return fmt.Errorf("the samples' gradients have no covariance")
	}
	e.root = make([]float64, n*n) // Uᵀ
	for i := range n {
		for j := i; j < n; j++ {
			e.root[j*n+i] = e.outer[i*n+j]
		}
	}
	linear.Dpotrs(blas.Upper, n, n, e.hessian, max(1, n), e.root, max(1, n))
	for i := range e.root {
		e.root[i] *= scale
	}
	return nil
}
