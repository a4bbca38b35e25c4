package infer

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/mrf"
)

// Result is the answer of LogPartition or Marginals, and what is known of it.
type Result struct {
	Method Method
	// NotExact says why the best method that fits was not Exact; "": it was, or a method was asked for.
	NotExact string
	// LogZ is the natural logarithm of the sum over all joint states that agree with the evidence, or what stands for it.
	//
	// Where a dual exists, Propagation gives the dual value, which is a certified bound at any messages: D of equation
	// (7) of docs/explanation/equations.md, or for tree-reweighted numbers that kept their forests the mean of what each
	// proves. Elsewhere it gives the free energy at the final beliefs.
	LogZ float64
	// Bound says what LogZ is relative to the true value. Without a dual it is None
	// unless the iteration converged to 1e-8 or less.
	Bound counting.Bound
	// Gap of Propagation is the dual minus the value of beliefs made consistent; NaN
	// where no dual exists, +Inf where consistency would take a forbidden state.
	Gap float64
	// Marginals [variable][state]; nil of LogPartition. Of an observed variable its state has probability 1.
	Marginals [][]float64
	// Lower and Upper [i][state] bound the probabilities of the i-th variable of Options.Query: of Exact they are equal.
	// They hold if there is a joint state of positive probability; that there is none is ErrZero where it is found.
	Lower, Upper [][]float64
	Outcome
	// Stationary says that the iteration converged to a stationary point that need not
	// be the best: of a free energy not known to be convex.
	Stationary bool

	// Counting are the counting numbers of Propagation.
	Counting *counting.Numbers
	// Classes is between how many classes of variables messages of Options.Lift went, those of one with a row of Marginals
	// in common, and LogZ the free energy; 0: between all variables, for want of symmetry.
	Classes int
	// Auxiliary is the number of variables that Propagation added, one for each factor of more than two.
	Auxiliary int

	// Width, Bytes and Operations are what Exact took.
	Width      int
	Bytes      int64
	Operations float64
}

// exactResult is the answer of a method that knows log Z.
func exactResult(method Method, logZ float64) *Result {
	return &Result{Method: method, LogZ: logZ, Bound: counting.Exact, Outcome: Outcome{Converged: true}}
}

// LogPartition computes the log-partition function of a network, given evidence, or a bound on it or an approximation:
// see Result.Bound. Where a method proves that every joint state has probability zero the answer is −Inf, exactly.
//
// An iteration that ends before it has converged, or because ctx ended, is no error of Propagation, whose answer
// holds nevertheless: see Result.Outcome. Other methods return the error of ctx. Errors are *OptionError and
// ErrUnsuited; those of the network name the variable or factor.
func LogPartition(ctx context.Context, n *mrf.Network, o Options) (*Result, error) {
	return o.withDefaults().infer(ctx, n, false)
}

// Marginals computes the probabilities of the states of all variables, given evidence, or approximates them. It says
// of log Z what LogPartition says. Errors are those of LogPartition, and ErrZero.
func Marginals(ctx context.Context, n *mrf.Network, o Options) (*Result, error) {
	return o.withDefaults().infer(ctx, n, true)
}

// infer computes log Z and, if asked, marginals.
func (o Options) infer(ctx context.Context, n *mrf.Network, marginals bool) (*Result, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	for _, v := range o.Query {
		if v < 0 || v >= len(n.Card) {
			return nil, &OptionError{"Query", fmt.Sprintf("variable %d does not exist: variables are 0 to %d", v, len(n.Card)-1)}
		}
	}
	other, instead := Propagation, func() (*Result, error) { return o.propagate(ctx, n, marginals) }
	if o.Query != nil && marginals {
		other, instead = walking, func() (*Result, error) { return o.walk(ctx, n) }
	}
	r, notExact, err := follow(o.Method, other, func() (*Result, error) { return o.eliminate(ctx, n, marginals) }, instead)
	if err != nil {
		return nil, err
	}
	if o.Query != nil && r.Method == Exact && marginals {
		for _, v := range o.Query {
			r.Lower = append(r.Lower, r.Marginals[v])
		}
		r.Upper, r.Marginals = r.Lower, nil
	}
	r.NotExact = notExact
	return r, nil
}

// propagate is the method Propagation.
func (o *Options) propagate(ctx context.Context, n *mrf.Network, marginals bool) (*Result, error) {
	reduced, err := reduce(n, o.Evidence, func(left *mrf.Network) error {
		z := sizesOf(left)
		return tooMuch("inference by bp", z.network()+z.propagation(), o.Memory, z.reason())
	})
	if err != nil {
		return nil, err
	}
	makeNumbers := o.Counting
	if makeNumbers == nil {
		makeNumbers, _ = counting.Parse(ctx, "trw", o.Seed) // which it knows
	}
	numbers, err := makeNumbers(reduced.pairwise.Graph)
	if err != nil {
		return nil, err
	}
	o.Limits.threads = o.Threads
	var end *fixedPoint
	if o.Lift {
		end, err = lift(ctx, reduced.pairwise, numbers, o.Limits)
	}
	if end == nil && err == nil {
		end, err = propagate(ctx, reduced.pairwise, numbers, o.Limits)
	}
	if err == nil && marginals {
		err = searchZero(reduced.pairwise, o.Seed)
	}
	switch {
	case errors.Is(err, ErrZero) && !marginals:
		r := exactResult(Propagation, math.Inf(-1))
		r.Counting = numbers
		return r, nil
	case err != nil:
		return nil, reduced.locate(err)
	}
	r := end.Result // a copy, which lets go of the messages
	r.Auxiliary = reduced.numAuxiliary()
	free := r.Marginals
	if r.Marginals = nil; marginals {
		r.Marginals = reduced.conditioned.Marginals(free)
	}
	return &r, nil
}
