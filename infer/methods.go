package infer

import (
	"cmp"
	"errors"
	"fmt"
	"math"

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

// follow takes the method that is asked for, or where none is, Exact where it suits the network, and else the other.
// notExact says why it does not.
func follow[T any](asked, other Method, exactly, otherwise func() (T, error)) (answer T, notExact string, err error) {
	switch asked {
	case other:
		answer, err = otherwise()
		return answer, "", err
	case "", Exact:
	default:
		return answer, "", &OptionError{"Method", fmt.Sprintf("it is %q, want %s or %s", asked, Exact, other)}
	}
	answer, err = exactly()
	var wide *exact.TooWideError
	switch {
	case !errors.As(err, &wide):
		return answer, "", err
	case asked == Exact:
		return answer, "", unsuitedError{err}
	case wide.LowerBound:
		notExact = fmt.Sprintf("by the orders of variables that were looked at, exact inference computes more than %.1e "+
			"entries of tables, over an induced width of %d or more", wide.Operations, wide.Width)
	default:
		notExact = fmt.Sprintf("exact inference would take %s of memory, over an induced width of %d",
			memory.Text(float64(wide.Bytes)), wide.Width)
	}
	answer, err = otherwise()
	return answer, notExact, err
}

// mostOperations bounds the work of an elimination that nobody asked for by name: ten seconds on one core of 2026 for
// marginals, and a few for log Z; quickOperations is a second or so.
const mostOperations, quickOperations = 1e9, 2e8

// newPlan plans an elimination whose tables may take some bytes; 0: what package exact allows, and is available.
// Where the method is not asked for by name, the search for an order gives up beyond the given operations.
func newPlan(n *mrf.Network, asked Method, operations float64, bytes int64) *exact.Plan {
	if asked == Exact {
		operations = math.Inf(1)
	}
	plan := exact.NewPlan(n, operations)
	plan.Limit = cmp.Or(bytes, min(exact.DefaultLimit, memory.Allowed(0)))
	return plan
}
