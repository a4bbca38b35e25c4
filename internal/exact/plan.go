package exact

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/mrf"
)

// DefaultLimit is the memory that a run may use for tables unless the plan says otherwise: 2 GiB.
const DefaultLimit = 2 << 30

// Plan is an elimination order for one network together with what following it costs. A plan holds the network: it
// may be run again after values in the factors' tables have changed, but not after anything else has.
type Plan struct {
	// Width is the induced width: the number of variables of the largest table
	// that is stored, one less than those of the largest that is computed.
	Width int
	// Bytes forecasts the memory for all tables of a run with marginals, PartitionBytes that of a run for log Z alone,
	// MaximumBytes that of Maximize. Scratch memory, a few KiB per table, and what Go keeps in reserve come on top.
	Bytes          int64
	PartitionBytes int64
	MaximumBytes   int64
	// Operations is the number of entries of all joint tables. A run for log Z
	// reads about three numbers for each, one with marginals three times that.
	Operations float64
	// LowerBound says that the search for an order gave up on a network far beyond any machine, or beyond what
	// NewPlan was given: the forecasts hold for as far as it got, and the plan cannot be run.
	LowerBound bool

	// Limit is the number of bytes that a run may use for tables, DefaultLimit to begin with.
	Limit int64

	network *mrf.Network
	order   []int32
	buckets []bucket // nil if LowerBound
}

// NewPlan chooses an order for the elimination of the network's variables and forecasts its cost, without allocating
// any table. The network must be valid; one that is too wide is an error only when it is run.
//
// Those who have something else to do with a network on which elimination is not cheap bound its operations, which
// are infinite for the others: the search gives up, with LowerBound, where all orders that it tries take more, or
// where it takes more than about a second.
func NewPlan(n *mrf.Network, operations float64) *Plan {
	n = withoutConstants(n)
	e := findOrder(n, operations)
	p := &Plan{Width: e.width, Operations: e.operations, LowerBound: !e.complete, Limit: DefaultLimit,
		network: n, order: e.order}
	if !e.complete {
		p.Bytes = int64(math.Exp2(min(e.largest, 59))) * bytesPerEntry // 2^59 entries are the most an int64 counts
		p.PartitionBytes, p.MaximumBytes = p.Bytes, p.Bytes
		return p
	}
	p.buckets = buildBuckets(n, e)
	p.PartitionBytes = p.forecast(func(r *run) { _, _ = r.forward(false) })
	p.Bytes = p.forecast(func(r *run) { _, _ = r.forward(true); _ = r.backward(nil) })
	p.MaximumBytes = p.PartitionBytes // its messages, and the states that were best
	for i := range p.buckets {
		p.MaximumBytes += int64(p.buckets[i].entries) * bytesPerState
	}
	return p
}

// withoutConstants leaves variables of one state out of scopes: tables stay as they are. A factor
// may join any number of them, all pairs of which would be gone through.
func withoutConstants(n *mrf.Network) *mrf.Network {
	if !slices.Contains(n.Card, 1) {
		return n
	}
	less := *n
	less.Factors = slices.Clone(n.Factors)
	for f := range less.Factors {
		scope := &less.Factors[f].Scope
		*scope = slices.DeleteFunc(slices.Clone(*scope), func(v int) bool { return n.Card[v] == 1 })
	}
	return &less
}

// forecast counts the bytes of a run's tables by going through its motions: a dry run computes nothing that could fail.
func (p *Plan) forecast(motions func(*run)) int64 {
	r := newRun(context.Background(), p, true)
	motions(r)
	return r.bytes + p.groupBytes()
}

// groupBytes counts the tables of all groups.
func (p *Plan) groupBytes() int64 {
	bytes := int64(0)
	for i := range p.buckets {
		for _, g := range p.buckets[i].groups {
			bytes += int64(g.entries) * bytesPerEntry
		}
	}
	return bytes
}

// Check reports a forecast that exceeds the limit, as a *TooWideError.
func (p *Plan) Check(bytes int64) error {
	if bytes > p.Limit || p.LowerBound {
		return &TooWideError{Width: p.Width, Bytes: bytes, Operations: p.Operations, LowerBound: p.LowerBound, Limit: p.Limit}
	}
	return nil
}

// ErrZero says that every joint state of a network has probability zero: its hard zeros contradict each other. So log
// Z is −Inf, exactly, and marginals, most probable states and samples do not exist.
var ErrZero = errors.New("every joint state has probability zero; look for contradictory evidence or constraints")

// TooWideError says that a network needs more memory than allowed. Nothing has been allocated when it is returned.
type TooWideError struct {
	Width      int     // induced width of the best elimination order found
	Bytes      int64   // forecast for the tables of the whole run
	Operations float64 // forecast for the whole run
	LowerBound bool    // the order search gave up: the true needs are larger
	Limit      int64   // allowed bytes
}

// Error implements error.
func (e *TooWideError) Error() string {
	need := fmt.Sprintf("the best elimination order found has induced width %d and needs %s of memory",
		e.Width, memory.Text(float64(e.Bytes)))
	if e.LowerBound {
		need = fmt.Sprintf("every elimination order tried passes induced width %d and needs more than %s of memory",
			e.Width, memory.Text(float64(e.Bytes)))
	}
	return fmt.Sprintf("exact: %s, the limit is %s: raise the limit, fix more variables by evidence, or use another "+
		"method: the cost of belief propagation and of TRW-S does not depend on the width",
		need, memory.Text(float64(e.Limit)))
}
