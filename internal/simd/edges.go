package simd

// Edges are edges of one shape of which beliefs are computed, and scratch for that. Of each edge it has what
// belongs to V, then what belongs to U; in out and in ends it is the other way round.
type Edges struct {
	ku, kv, count, listed int
	list                  []Message // from V and from U
	logs, weights         []float64 // cavities
	out                   []float64 // sums at U and at V
	ends, factors         []float64 // beliefs of the nodes, and factors of rows
	totals, logged        []float64 // of messages: Z, and Σ log right or Σ log left
}

// Begin begins with edges of ku states at U and kv at V.
func (s *Edges) Begin(ku, kv int) {
	if s.ku != ku || s.kv != kv {
		s.ku, s.kv, s.listed, s.list = ku, kv, 0, s.list[:0]
	}
	s.count = 0
}

// Add adds an edge by the offsets of the first entries of its parts: the log-belief of U and the log-message
// from V to U, the log-belief of V and the log-message from U to V, and the exponentiated table. They are not
// checked: the caller answers for them.
func (s *Edges) Add(beliefU, messageU, beliefV, messageV, table int) {
	if ku, kv := int32(s.ku), int32(s.kv); s.count == s.listed { // what is the same for all edges at this place
		at := int32(s.count) * (ku + kv)
		s.list = append(s.list, Message{Weight: at, Out: at, Sum: at + ku, Source: kv, Target: ku, Backward: 1},
			Message{Weight: at + kv, Out: at + ku, Sum: at, Source: ku, Target: kv})
		s.listed++
	}
	v, u := &s.list[2*s.count], &s.list[2*s.count+1]
	v.Belief, v.Reverse, v.Table, u.Belief, u.Reverse, u.Table = beliefV, messageV, table, beliefU, messageU, table
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
// Feasible beliefs have the sums of the nodes. Rows are scaled to their sums t, and what columns lack then, e, is
// spread as t eᵀ: single entries may be below 0, which a gradient does not mind and an entropy would (Consistent).
// Sums are exact up to rounding, as long as no row has lost all of its mass.
//
// It returns how many are done. If those are not all, the next one is not safe, as its Z is not in [TooSmall,
// 1/TooSmall] or a NaN: the caller must compute its belief with logarithms, and call again with the rest. What belongs
// to edges that are not done is rubbish.
func (s *Edges) WriteBeliefs(dst, logZ, product, beliefs, messages, tables []float64, feasible bool) (done int) {
	size, list := s.ku+s.kv, s.list[:2*s.count]
	used := s.count * size
	for _, x := range []*[]float64{&s.logs, &s.weights, &s.out, &s.ends, &s.factors, &s.totals, &s.logged} {
		if len(*x) < used+Padding {
			*x = make([]float64, used+Padding)
		}
	}
	with := active.forRows(max(s.ku, s.kv))
	with.cavities(s.logs, beliefs, messages, list)
	Exp(s.weights[:used], s.logs)
	with.products(s.out, s.weights, tables, list)
	with.moments(s.totals, s.logged, s.logs, s.weights, s.out, list)
	for z := s.totals; done < s.count && z[2*done] >= TooSmall && z[2*done] <= 1/TooSmall; done++ {
		logZ[done], product[done] = z[2*done], (s.logged[2*done]+s.logged[2*done+1])/z[2*done]
	}
	Log(logZ[:done], logZ)
	if feasible {
		for i := range done {
			ends := s.ends[i*size:][:size]
			copy(ends[:s.ku], beliefs[list[2*i+1].Belief:])
			copy(ends[s.ku:], beliefs[list[2*i].Belief:])
		}
		Exp(s.ends[:done*size], s.ends)
		active.ratios(s.factors[:done*size], s.ends, s.out)
	} else {
		for i := range done {
			for x, a := range s.weights[i*size+s.kv:][:s.ku] {
				s.factors[i*size+x] = a / s.totals[2*i]
			}
		}
	}
	if done > 0 {
		active.outer(dst[:done*s.ku*s.kv], tables, s.factors, s.ends, s.weights, list, s.ku, s.kv, feasible)
	}
	return done
}

// Feasible changes the belief of an edge into one with the sums rows and columns, as WriteBeliefs has them.
// len(factors) ≥ len(rows).
func Feasible(belief, rows, columns, factors []float64) {
	for x, t := range rows {
		sum := 0.0
		for _, v := range belief[x*len(columns):][:len(columns)] {
			sum += v
		}
		factors[x] = t / max(sum, TooSmall)
	}
	for y, lack := range columns {
		for x := range rows {
			lack -= factors[x] * belief[x*len(columns)+y]
		}
		for x, t := range rows {
			at := x*len(columns) + y
			belief[at] = factors[x]*belief[at] + t*lack
		}
	}
}
