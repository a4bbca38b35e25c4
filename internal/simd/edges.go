package simd

import "github.com/blockbp/blockbp/internal/numeric"

// PairBeliefs is WriteBeliefs for edges between u[e] and v[e] of two states each, where beliefs and messages follow
// each other. It reports false where that is not what it can do, or a sum is not safe: what it wrote is rubbish then.
func PairBeliefs(dst, logZ, product, beliefs, messages, tables []float64, edges, u, v []int32, at []int) bool {
	return active.pairs.beliefs != nil && len(edges) >= active.pairs.least &&
		active.pairs.beliefs(dst, logZ, product, beliefs, messages, tables, edges, u, v, at)
}

// Edges are edges of one shape of which beliefs are computed, and scratch for that.
type Edges struct {
	from                [2]end
	count               int
	beliefAt, messageAt []int
	logs, weights       []float64 // cavities, those at V first
}

// end is what belongs to V, or to U, as the source of messages.
type end struct {
	source, directed []int32
	n                int // states
}

// Begin begins with up to so many edges of ku states at U and kv at V. The places of beliefs are those of their nodes,
// and of messages those of directed edges: 2e of edge e leads to V, and 2e+1 to U.
func (s *Edges) Begin(most, ku, kv int, beliefAt, messageAt []int) {
	s.beliefAt, s.messageAt, s.count = beliefAt, messageAt, 0
	for i, n := range [2]int{kv, ku} {
		s.from[i].n = n
		for len(s.from[i].source) < most {
			s.from[i].source, s.from[i].directed = append(s.from[i].source, 0), append(s.from[i].directed, 0)
		}
	}
}

// Add adds edge e between u and v. Offsets are not checked: the caller answers for them.
func (s *Edges) Add(e, u, v int32) {
	a, b, i := &s.from[0], &s.from[1], s.count
	a.source[i], a.directed[i], b.source[i], b.directed[i] = v, 2*e+1, u, 2*e
	s.count++
}

// WriteBeliefs computes the beliefs of the edges. With the cavities left = belief of U − message to U and
// right = belief of V − message to V, −Inf where either term is −Inf,
//
//	dst[i,j] = exp(left[i]) table[i,j] exp(right[j]) / Z
//
// sums to 1 (row-major, ku × kv): that of the q-th edge goes to dst[q*ku*kv:]. log Z goes to logZ[q], and to product[q]
//
//	product = Σ_i left[i] Σ_j dst[i,j] + Σ_j right[j] Σ_i dst[i,j]
//
// over the states that are not forbidden, so that ⟨θ,τ⟩ + ρ H(τ) of the edge is ρ (log Z + s − product) if s is the
// logarithm of what the table was divided by.
//
// It returns how many are done. If those are not all, the next one is not safe, as its Z is not in [TooSmall,
// 1/TooSmall] or a NaN: the caller must compute its belief with logarithms, and call again with the rest. What belongs
// to edges that are not done is rubbish. The table of the q-th edge begins at at[q] of tables.
func (s *Edges) WriteBeliefs(dst, logZ, product, beliefs, messages, tables []float64, at []int) (done int) {
	if s.count == 0 {
		return 0
	}
	v, u := s.from[0], s.from[1]
	half := s.count * v.n // where what belongs to U begins
	n := half + s.count*u.n
	s.logs, s.weights = numeric.Resize(s.logs, n+Padding), numeric.Resize(s.weights, n+Padding)
	with := active.forRows(max(u.n, v.n))
	for i, e := range s.from {
		with.cavities(s.logs[i*half:], beliefs, messages, e.source[:s.count], e.directed[:s.count], s.beliefAt, s.messageAt,
			e.n, nil)
	}
	Exp(s.weights[:n], s.logs)
	active.edgeBeliefs(dst, logZ, product, tables, s.weights, s.logs, at[:s.count], u.n, v.n)
	for done < s.count && logZ[done] >= TooSmall && logZ[done] <= 1/TooSmall {
		done++
	}
	Log(logZ[:done], logZ)
	return done
}
