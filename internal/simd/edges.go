package simd

// Edges are edges of one shape of which beliefs are computed, and scratch for that.
type Edges struct {
	from                  [2]end
	count                 int
	beliefAt, messageAt   []int
	edge                  []int32   // 0, 1, 2, ...
	logs, weights         []float64 // cavities at V, then those at U
	out                   []float64 // sums at U, then those at V
	factors               []float64 // of rows
	totals, logged, other []float64 // Z, Σ log right, and Σ log left
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
	for len(s.edge) < most {
		s.edge = append(s.edge, int32(len(s.edge)))
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
	v, u := s.from[0], s.from[1]
	ku, kv, count := u.n, v.n, s.count
	for _, x := range []*[]float64{
		&s.logs, &s.weights, &s.out, &s.factors, &s.totals, &s.logged, &s.other,
	} {
		if n := count*(ku+kv) + Padding; len(*x) < n {
			*x = make([]float64, n)
		}
	}
	with := active.forRows(max(ku, kv))
	s.sum(with, beliefs, messages, tables, at)
	for z := s.totals[:count]; done < count && z[done] >= TooSmall && z[done] <= 1/TooSmall; done++ {
		logZ[done], product[done] = z[done], (s.logged[done]+s.other[done])/z[done]
	}
	Log(logZ[:done], logZ)
	if done == 0 {
		return done
	}
	left := s.weights[count*kv:]
	for q, z := range s.totals[:done] {
		for i, a := range left[q*ku:][:ku] {
			s.factors[q*ku+i] = a / z
		}
	}
	active.outer(dst[:done*ku*kv], tables, s.factors, s.weights, at[:done], ku, kv)
	return done
}

// sum leaves cavities in weights, first those at V, what they send in out, first what goes to U, and sums.
func (s *Edges) sum(with *implementation, beliefs, messages, tables []float64, at []int) {
	v, u, count := s.from[0], s.from[1], s.count
	half := count * v.n // where what belongs to U begins
	for i, e := range s.from {
		with.cavities(s.logs[i*half:], beliefs, messages, e.source[:count], e.directed[:count], s.beliefAt, s.messageAt, e.n,
			nil)
	}
	Exp(s.weights[:count*(u.n+v.n)], s.logs)
	right, left, atU, atV := s.weights, s.weights[half:], s.out, s.out[count*u.n:]
	with.products(atU, right, tables, v.directed[:count], s.edge, at, v.n, u.n, nil, nil)
	with.products(atV, left, tables, u.directed[:count], s.edge, at, u.n, v.n, nil, nil)
	with.moments(s.totals[:count], s.other, s.logs[half:], left, atU, u.n)
	with.moments(s.totals[:count], s.logged, s.logs, right, atV, v.n)
}
