package simd

// lowestExponent is the smallest exponent of which every implementation gives the
// exponential: it is still a normal number.
const lowestExponent = -708

// Exponentiate prepares a table of potentials for multiplicative messages:
//
//	dst[i] = exp((theta[i] − largest)·inverse),   largest = max theta.
//
// An entry of −Inf gives 0. It reports false, and leaves dst as it was, where
// largest is not finite (there is no entry, all are −Inf, or one is +Inf), where
// there is a NaN, which largest then is, and where the exponent of an entry other
// than −Inf is a NaN or below lowest, or below −708. inverse > 0.
// len(theta) ≥ len(dst); dst may be theta.
func Exponentiate(dst, theta []float64, inverse, lowest float64) (largest float64, safe bool) {
	return active.exponentiate(dst, theta[:len(dst)], inverse, max(lowest, lowestExponent))
}

// Absorb puts a new log-message in the place of the old one and adds it to the
// sum of which a belief is made:
//
//	new[i] = message[i], or (1−damping)·message[i] + damping·old[i] where the two
//	         differ and damping is not 0;
//	sum[i] += rho·new[i];   old[i] = new[i].
//
// It returns the largest |new[i] − old[i]| over the entries that differ, 0 if
// none does: −Inf does not differ from −Inf, a NaN differs from everything and
// makes the residual a NaN. rho > 0. len(message) and len(sum) ≥ len(old); the
// three are distinct.
func Absorb(old, message, sum []float64, rho, damping float64) (residual float64) {
	return active.absorb(old, message[:len(old)], sum[:len(old)], rho, damping)
}

// EdgeBelief computes the belief of an edge from those of its ends, the messages
// along it, and its exponentiated table. With the cavities left = beliefU −
// messageU and right = beliefV − messageV, −Inf where either term is −Inf,
//
//	dst[i,j] = exp(left[i]) values[i,j] exp(right[j]) / Z
//
// sums to 1 (row-major, len(beliefU) × len(beliefV)). It returns log Z and
//
//	product = Σ_i left[i] Σ_j dst[i,j] + Σ_j right[j] Σ_i dst[i,j]
//
// over the states that are not forbidden, so that ⟨θ,τ⟩ + ρ H(τ) of the edge is
// ρ (log Z + s − product) if s is the logarithm of what the table was divided by.
// It reports false, and leaves dst as it was, where Z e^−(max left + max right)
// is not in [TooSmall, MaxFloat64] or a NaN: the caller must then do it again
// with logarithms throughout. len(messageU) ≥ len(beliefU), len(messageV) ≥
// len(beliefV), len(dst) and len(values) ≥ len(beliefU)·len(beliefV); dst is
// distinct from the others. With more than 64 states at an end it allocates.
func EdgeBelief(dst, beliefU, messageU, beliefV, messageV, values []float64) (logZ, product float64, safe bool) {
	ku, kv := len(beliefU), len(beliefV)
	return active.edgeBelief(dst[:ku*kv], beliefU, messageU[:ku], beliefV, messageV[:kv], values[:ku*kv])
}

// MultiplyMatrix computes dst[r*k+x] = Σ_j f[r*d+j] w[j*k+x]: many rows of
// features times the weights. Each sum is made in an order that depends on d
// alone, so that a row's result is the same in whatever company it comes.
// rows, d and k ≥ 0; len(dst) ≥ rows·k, len(f) ≥ rows·d, len(w) ≥ d·k; dst is
// distinct from the others.
func MultiplyMatrix(dst, f, w []float64, rows, d, k int) {
	active.multiplyMatrix(dst[:rows*k], f[:rows*d], w[:d*k], rows, d, k)
}

// ScatterMatrix computes w[j*k+x] += Σ_r f[r*d+j] t[r*k+x], the adjoint of
// MultiplyMatrix. Each sum is made in the order of the rows. rows, d and k ≥ 0;
// len(w) ≥ d·k, len(f) ≥ rows·d, len(t) ≥ rows·k; w is distinct from the others.
func ScatterMatrix(w, f, t []float64, rows, d, k int) {
	active.scatterMatrix(w[:d*k], f[:rows*d], t[:rows*k], rows, d, k)
}

// fusedStates is the largest number of states that the fused messages take.
const fusedStates = 64

// fused reports whether a message between so many states can be fused.
func fused(source, target int) bool {
	return uint(source-1) < fusedStates && uint(target-1) < fusedStates
}
