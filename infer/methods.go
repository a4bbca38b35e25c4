package infer

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/blockbp/blockbp/internal/exact"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/mrf"
)

// Method names a way to infer.
type Method string

// The methods of LogPartition and Marginals are Exact and Propagation. Those of
// MostProbable are Exact and TRWS, and those of Sample Exact and Gibbs.
//
// No method, "", is the best that fits: Exact wherever its tables have room and take about ten seconds at most; else
// Propagation, TRWS, or Gibbs. Counting numbers ask for Propagation.
const (
	Propagation Method = "bp"    // convex belief propagation
	Exact       Method = "exact" // variable elimination; independent draws
	Gibbs       Method = "gibbs" // Markov chains
	TRWS        Method = "trws"  // sequential tree-reweighted max-product
)

// way is a method, and what follows it.
type way[T any] struct {
	method Method
	follow func() (T, error)
}

// follow takes the method that is asked for, or where none is, the first of the ways that
// suits the network: the best. notExact says why that is not Exact.
func follow[T any](asked Method, ways ...way[T]) (answer T, notExact string, err error) {
	var names []string
	for _, w := range ways {
		if names = append(names, string(w.method)); w.method == asked {
			answer, err = w.follow()
			return answer, "", err
		}
	}
	if asked != "" {
		last := len(names) - 1
		return answer, "", &OptionError{"Method", fmt.Sprintf("it is %q, want %s or %s", asked,
			strings.Join(names[:last], ", "), names[last])}
	}
	for _, w := range ways {
		why, next := "", false
		answer, err = w.follow()
		if why, next = unsuited(err); !next {
			break
		}
		notExact = cmp.Or(why, notExact)
	}
	return answer, notExact, err
}

// unsuited reports whether an error says that another method should be tried, and of Exact why.
func unsuited(err error) (notExact string, ok bool) {
	var wide *exact.TooWideError
	switch {
	case !errors.As(err, &wide):
		return "", false
	case wide.LowerBound:
		return fmt.Sprintf("by the orders of variables that were looked at, exact inference computes more than %.1e "+
			"entries of tables, over an induced width of %d or more", wide.Operations, wide.Width), true
	}
	return fmt.Sprintf("exact inference would take %s of memory, over an induced width of %d",
		memory.Text(float64(wide.Bytes)), wide.Width), true
}

// classified makes errors of methods that do not suit a network match ErrUnsuited.
func classified(err error) error {
	if _, ok := unsuited(err); ok {
		return unsuitedError{err}
	}
	return err
}

// mostOperations bounds the work of an elimination that nobody asked for by name: ten seconds on one core of 2026 for
// marginals, and a few for log Z; quickOperations is a second or so.
const mostOperations, quickOperations = 1e9, 2e8

// newPlan plans an elimination whose tables may take some bytes; 0: what package exact allows, and is available.
// Where the method is not asked for by name, the search for an order gives up beyond the given operations.
func newPlan(n *mrf.Network, asked Method, operations float64, bytes int64) (*exact.Plan, error) {
	var plan *exact.Plan
	var err error
	if asked == Exact {
		plan, err = exact.NewPlan(n)
	} else {
		plan, err = exact.NewPlanWithin(n, operations)
	}
	if err == nil {
		plan.Limit = cmp.Or(bytes, min(exact.DefaultLimit, memory.Allowed(0)))
	}
	return plan, err
}
