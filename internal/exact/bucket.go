package exact

import (
	"math"
	"slices"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/mrf"
)

// Variables are called by their position in the elimination order from here on: bucket i eliminates variable i.
// Scopes are ascending, so a bucket's own variable comes first and is the slowest of its table, and the separator is
// a table of its own without any stride changed.

// bucket is one step of the elimination.
type bucket struct {
	scope    []int32 // positions; scope[0] is the bucket's own variable
	card     []int   // states of the variables in scope
	entries  int     // entries of the separator's table
	parent   int32   // bucket that takes the message, noParent for a root
	children []int32 // buckets whose messages come here
	groups   []group
}

const noParent = -1

// group is a set of factors of one bucket that are multiplied beforehand into
// one small table, so that the bucket's own loop has fewer tables to read.
type group struct {
	scope   []int32 // positions, ascending
	entries int
	factors []int // indices into the network's factors
}

// groupEntries is the size up to which factors are multiplied beforehand: 32 KiB,
// which stay in the cache while the bucket's table is walked.
const groupEntries = 1 << 12

// buildBuckets turns an elimination order into the bucket tree. All tables must
// fit an int, which a complete elimination guarantees.
func buildBuckets(n *mrf.Network, e *elimination) []bucket {
	position := make([]int32, len(n.Card))
	for i, v := range e.order {
		position[v] = int32(i)
	}
	buckets := make([]bucket, len(e.order))
	for i := range buckets {
		b := &buckets[i]
		b.scope = append(numeric.Map(e.separators[i], func(v int32) int32 { return position[v] }), int32(i))
		slices.Sort(b.scope)
		b.parent = noParent
		if len(b.scope) > 1 {
			b.parent = b.scope[1]
			buckets[b.parent].children = append(buckets[b.parent].children, int32(i))
		}
		b.entries = 1
		for j, p := range b.scope {
			b.card = append(b.card, n.Card[e.order[p]])
			if j > 0 {
				b.entries *= b.card[j]
			}
		}
	}
	for f := range n.Factors {
		scope := numeric.Map(n.Factors[f].Scope, func(v int) int32 { return position[v] })
		if slices.Sort(scope); len(scope) > 0 {
			b := &buckets[scope[0]]
			b.groups = append(b.groups, group{scope, len(n.Factors[f].LogTable), []int{f}})
		}
	}
	for i := range buckets {
		buckets[i].groups = mergeGroups(buckets[i].groups, n, e.order)
	}
	return buckets
}

// mergeGroups puts every factor, larger ones first, into the first group whose
// table stays within groupEntries or does not grow at all.
func mergeGroups(single []group, n *mrf.Network, order []int32) []group {
	slices.SortStableFunc(single, func(a, b group) int { return b.entries - a.entries })
	var merged []group
next:
	for _, s := range single {
		for i := range merged {
			m := &merged[i]
			scope := slices.Compact(slices.Sorted(slices.Values(slices.Concat(m.scope, s.scope))))
			entries := 1
			for _, p := range scope {
				entries *= n.Card[order[p]]
			}
			if entries <= groupEntries || len(scope) == len(m.scope) {
				m.scope, m.entries, m.factors = scope, entries, append(m.factors, s.factors...)
				continue next
			}
		}
		merged = append(merged, s)
	}
	return merged
}

// buildGroup multiplies the group's factors into one table.
func (p *Plan) buildGroup(g *group) table {
	t, zero := p.logGroup(g), math.Inf(-1)
	low, high := widen(-zero, zero, t.entries, zero)
	t.shift = t.normalize(true, low, high)
	return t
}

// logGroup adds the logarithms of the group's factors.
func (p *Plan) logGroup(g *group) table {
	t := table{entries: make([]float64, g.entries), logarithmic: true}
	for _, f := range g.factors {
		factor := &p.network.Factors[f]
		p.eachEntry(g, factor, func(inGroup, inFactor int) { t.entries[inGroup] += factor.LogTable[inFactor] })
	}
	return t
}

// eachEntry calls visit with the offsets of every joint state of the group in the group's table and in the factor's.
func (p *Plan) eachEntry(g *group, factor *mrf.Factor, visit func(inGroup, inFactor int)) {
	card := make([]int, len(g.scope))
	strides := make([]int, len(g.scope)) // in the factor's table
	for i, position := range g.scope {
		card[i] = p.network.Card[p.order[position]]
		stride := 1
		for j := len(factor.Scope) - 1; j >= 0; j-- {
			if factor.Scope[j] == int(p.order[position]) {
				strides[i] = stride
			}
			stride *= p.network.Card[factor.Scope[j]]
		}
	}
	digits, inFactor := make([]int, len(g.scope)), 0
	for inGroup := range g.entries {
		visit(inGroup, inFactor)
		for i := len(digits) - 1; i >= 0; i-- {
			digits[i]++
			inFactor += strides[i]
			if digits[i] < card[i] {
				break
			}
			inFactor -= digits[i] * strides[i]
			digits[i] = 0
		}
	}
}
