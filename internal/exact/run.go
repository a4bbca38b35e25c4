package exact

import (
	"context"
	"slices"

	"github.com/blockbp/blockbp/mrf"
)

// Answer is the result of a run.
type Answer struct {
	// LogZ is the natural logarithm of the partition function.
	LogZ float64
	// Marginals[v][i] is P(x_v = i); nil if not asked for.
	Marginals [][]float64
	// Factors[f] is the distribution of the joint state of factor f, laid out as its LogTable; nil if not asked for.
	Factors [][]float64
}

// run is one execution of a plan.
type run struct {
	ctx  context.Context
	plan *Plan
	// A dry run, for a forecast, takes tables and gives them back, and computes nothing.
	dry   bool
	bytes int64   // of tables, in use or free
	free  []table // memory to be used again, by its size

	groups   [][]table // [bucket][group] ψ
	messages []table   // [bucket] m_i
	weights  []table   // [bucket] P_i, then P_i / m_i; on the way back only
	ways     []way     // [bucket]
	blocks   [3][]float64
}

// way is how a bucket was computed on the way forward.
type way struct {
	logarithmic bool
	logScale    float64 // log of the message as computed over the one stored
}

// newRun prepares a run without allocating tables.
func newRun(ctx context.Context, p *Plan, dry bool) *run {
	n := len(p.buckets)
	return &run{ctx: ctx, plan: p, dry: dry, groups: make([][]table, n), messages: make([]table, n),
		weights: make([]table, n), ways: make([]way, n)}
}

// begin prepares a run that takes so many bytes of tables.
func (p *Plan) begin(ctx context.Context, bytes int64) (*run, error) {
	if err := p.Check(bytes); err != nil {
		return nil, err
	}
	return newRun(ctx, p, false), nil
}

// Run computes log Z and, if asked, the marginals of all variables.
//
// A *TooWideError is returned, before any table is allocated, if the forecast exceeds the limit, and ErrZero if Z = 0.
// After ctx is cancelled its error is returned within milliseconds.
func (p *Plan) Run(ctx context.Context, wantMarginals bool) (*Answer, error) {
	if wantMarginals {
		return p.marginals(ctx, nil)
	}
	r, err := p.begin(ctx, p.PartitionBytes)
	if err != nil {
		return nil, err
	}
	logZ, err := r.forward(false)
	if err != nil {
		return nil, err
	}
	return &Answer{LogZ: logZ}, nil
}

// RunFactors is Run with the marginals of all variables and of all factors. Those of
// factors take as much memory as the factors, beside what Bytes forecasts.
func (p *Plan) RunFactors(ctx context.Context) (*Answer, error) {
	factors := make([][]float64, len(p.network.Factors))
	for f := range factors {
		factors[f] = make([]float64, len(p.network.Factors[f].LogTable))
		if len(p.network.Factors[f].Scope) == 0 {
			factors[f][0] = 1
		}
	}
	return p.marginals(ctx, factors)
}

// marginals is Run, which adds those of factors up, too, unless there is no room.
func (p *Plan) marginals(ctx context.Context, factors [][]float64) (*Answer, error) {
	r, err := p.begin(ctx, p.Bytes)
	if err != nil {
		return nil, err
	}
	answer := &Answer{Factors: factors}
	if answer.LogZ, err = r.forward(true); err != nil {
		return nil, err
	}
	return answer, r.backward(answer)
}

// On returns the plan for a network that differs from its own in the values of the
// factors' tables alone. Plans of different networks can run at the same time.
func (p *Plan) On(n *mrf.Network) *Plan {
	q := *p
	q.network = withoutConstants(n)
	return &q
}

// bytesPerEntry is the size of a float64, and wasteLimit how many times larger than asked memory used again may be.
const bytesPerEntry, wasteLimit = 8, 4

// take gets the memory for a table, of any content.
func (r *run) take(entries int) (t table) {
	at := r.placeOf(entries)
	if at > 0 && r.free[at-1].size == entries {
		at--
	}
	if at < len(r.free) && r.free[at].size/wasteLimit <= entries {
		t = r.free[at]
		r.free = slices.Delete(r.free, at, at+1)
	} else {
		t.size = entries
		r.bytes += int64(entries) * bytesPerEntry
	}
	if t.entries == nil && !r.dry {
		t.entries = make([]float64, entries)
	}
	return table{size: t.size, entries: t.entries[:min(entries, cap(t.entries))]}
}

// give takes back a table's memory.
func (r *run) give(t *table) {
	r.free = slices.Insert(r.free, r.placeOf(t.size), table{size: t.size, entries: t.entries})
	*t = table{}
}

// placeOf returns where the memory begins that is larger than so many entries.
func (r *run) placeOf(entries int) int {
	at, _ := slices.BinarySearchFunc(r.free, entries+1, func(t table, n int) int { return t.size - n })
	return at
}

// scratch returns a block of n entries, of any content, for the given use.
func (r *run) scratch(use, n int) []float64 {
	if len(r.blocks[use]) < n {
		r.blocks[use] = make([]float64, n)
	}
	return r.blocks[use][:n]
}

// inputs lists the tables that bucket i multiplies and their scopes.
func (r *run) inputs(i int) (tables []*table, scopes [][]int32) {
	b := &r.plan.buckets[i]
	for g := range b.groups {
		tables, scopes = append(tables, &r.groups[i][g]), append(scopes, b.groups[g].scope)
	}
	for _, c := range b.children {
		tables, scopes = append(tables, &r.messages[c]), append(scopes, r.plan.buckets[c].scope[1:])
	}
	return tables, scopes
}

// multiply prepares a loop over the joint table of bucket i that multiplies its inputs.
func (r *run) multiply(i int, tables []*table, scopes [][]int32) (*loop, *product) {
	b := &r.plan.buckets[i]
	l, p := newLoop(b), &product{}
	for j, t := range tables {
		p.add(l.addView(b, scopes[j], t.entries))
	}
	return l, p
}

// eachBlock calls visit at every outer state of a loop.
func (r *run) eachBlock(l *loop, visit func()) error {
	for more := true; more; more = l.advance() {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		visit()
	}
	return nil
}
