package simd

// Edge is an edge whose belief is wanted, by where its parts are: offsets of their
// first entries.
type Edge struct {
	BeliefU  int // of U's log-belief, in beliefs
	MessageU int // of the log-message from V to U, in messages
	BeliefV  int // of V's log-belief, in beliefs
	MessageV int // of the log-message from U to V, in messages
	Table    int // of the edge's exponentiated table, in tables
}

// EdgeBeliefs computes the beliefs of edges with ku states at U and kv at V from those of their ends, the messages
// along them, and their exponentiated tables. With the cavities left = beliefU − messageU and right = beliefV −
// messageV, −Inf where either term is −Inf,
//
//	dst[i,j] = exp(left[i]) values[i,j] exp(right[j]) / Z
//
// sums to 1 (row-major, ku × kv): that of edges[q] goes to dst[q*ku*kv:]. log Z goes to logZ[q], and to product[q]
//
//	product = Σ_i left[i] Σ_j dst[i,j] + Σ_j right[j] Σ_i dst[i,j]
//
// over the states that are not forbidden, so that ⟨θ,τ⟩ + ρ H(τ) of the edge is ρ (log Z + s − product) if s is the
// logarithm of what the table was divided by.
//
// It returns how many are done. If done < len(edges), edges[done] is not safe, as Z e^−(max left + max right) is not in
// [TooSmall, MaxFloat64] or a NaN: the caller must compute its belief with logarithms, and call again with the rest,
// edges[done+1:]. What belongs to edges that are not done is rubbish. len(dst) ≥ len(edges)·ku·kv, len(logZ) and
// len(product) ≥ len(edges); they are distinct from each other and from the rest. ku, kv > 0. With more than 64 states
// at an end it allocates.
func EdgeBeliefs(dst, logZ, product, beliefs, messages, tables []float64, edges []Edge, ku, kv int) (done int) {
	n := len(edges)
	return active.edgeBeliefs(dst[:n*ku*kv], logZ[:n], product[:n], beliefs, messages, tables, edges, ku, kv)
}

// slices returns the slices of an edge, in the order of EdgeBelief.
func (e *Edge) slices(beliefs, messages, tables []float64, ku, kv int) (beliefU, messageU, beliefV, messageV,
	values []float64) {
	return beliefs[e.BeliefU:][:ku], messages[e.MessageU:][:ku], beliefs[e.BeliefV:][:kv], messages[e.MessageV:][:kv],
		tables[e.Table:][:ku*kv]
}

func plainEdgeBeliefs(dst, logZ, product, beliefs, messages, tables []float64, edges []Edge, ku, kv int) (done int) {
	for q := range edges {
		beliefU, messageU, beliefV, messageV, values := edges[q].slices(beliefs, messages, tables, ku, kv)
		z, p, safe := plainEdgeBelief(dst[q*ku*kv:][:ku*kv], beliefU, messageU, beliefV, messageV, values)
		if !safe {
			return q
		}
		logZ[q], product[q] = z, p
	}
	return len(edges)
}

// Feasible changes the beliefs of edges of one shape, tables of ku rows and kv columns one behind the other, so that
// the sums of their rows are those of rows, ku for each edge, and the sums of their columns those of columns. Rows
// are scaled to their sums t, and what columns lack then, e, is spread as t eᵀ: single entries may be below 0, which
// a gradient does not mind and an entropy would (Consistent). Sums are exact up to rounding, as long as rows sum to 1
// and none of them has lost all of its mass.
//
// len(rows) is ku for each edge, len(tables) ≥ ku·kv and len(columns) ≥ kv for each; len(factors) ≥ ku + Padding.
func Feasible(tables, rows, columns, factors []float64, ku, kv int) {
	if n := len(rows) / ku; n > 0 {
		active.feasible(tables[:n*ku*kv], rows[:n*ku], columns[:n*kv], factors[:ku+Padding], ku, kv)
	}
}

func plainFeasible(tables, rows, columns, factors []float64, ku, kv int) {
	for i := range len(rows) / ku {
		table, t, scale := tables[i*ku*kv:][:ku*kv], rows[i*ku:][:ku], factors[:0]
		for x := range t {
			sum := 0.0
			for _, b := range table[x*kv:][:kv] {
				sum += b
			}
			scale = append(scale, t[x]/max(sum, TooSmall))
		}
		for y, lack := range columns[i*kv:][:kv] {
			for x, f := range scale {
				lack -= f * table[x*kv+y]
			}
			for x, f := range scale {
				table[x*kv+y] = f*table[x*kv+y] + t[x]*lack
			}
		}
	}
}
