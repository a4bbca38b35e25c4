package bp

import (
	"math"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/simd"
)

// Where no c_s is negative a sweep is descent on the convex dual (7), node by node. The changes that are left after a
// few sweeps spread over a picture as heat does, and take as many sweeps as the square of its width. With x_k the
// messages and beliefs after sweep k, the next one begins at
//
//	y_k = x_k + β_k (x_k − x_{k−1})
//
// (Nesterov, 1983). Log-messages and log-beliefs move alike, as (4) is linear in them but for a constant of each
// belief, on which no message depends. Then the width counts, not its square. Where some c_s is
// negative no dual is convex in messages, and such steps diverge.

// mostMomentum bounds β_k: with (k−1)/(k+2) alone, what is nearly at rest overshoots. Which β is best depends on the
// network: a change that plain sweeps multiply by λ is multiplied by z with momentum,
//
//	z² = λ ((1 + β) z − β),
//
// and vanishes the fastest where both roots are the same: 1 − √(1 − λ) over 1 + √(1 − λ) is the best β. With more of it
// roots are complex, |z| = √(λβ), and changes circle for longer than they need; with less the larger root is near λ.
// Sweeps begin with mostMomentum at most, and mostOfFew may be chosen where they are not made several at once.
const mostMomentum, mostOfFew = 0.9, 0.95

// moreMomentum is added to the best β: too little of it costs more than too much.
const moreMomentum = 0.2

// bestMomentum returns the best β where residuals are multiplied by z in a sweep with some β: 1 where they do not fall.
func bestMomentum(z, beta float64) float64 {
	if !(z < 1) {
		return 1
	}
	lambda := z * z / beta
	if z > 2*beta/(1+beta) { // of real roots the larger one
		lambda = z * z / ((1+beta)*z - beta)
	}
	root := math.Sqrt(max(0, 1-lambda))
	return (1 - root) / (1 + root)
}

// momentumDamping over-relaxes sweeps with momentum. More of it would make messages circle.
const momentumDamping = -0.1

// Momentum returns (k−1)/(k+2) for sweep k, without a bound; it is 0 for the first two sweeps, k = 0 and 1.
func Momentum(sweep int) float64 {
	k := float64(sweep)
	return max(0, (k-1)/(k+2))
}

// last has x_{k−1}, messages and beliefs as the sweep before the last has left them, laid out as in a State.
type last struct{ messages, beliefs []float64 }

func (l *last) fit(net *Net) {
	l.messages, l.beliefs = numeric.Resize(l.messages, net.numMessages), numeric.Resize(l.beliefs, net.numBeliefs)
}

// extrapolate replaces x_k by y_k in a segment of messages and in one of beliefs, and keeps x_k.
func (l *last) extrapolate(st *State, message, messages, belief, beliefs int, beta float64) {
	simd.Extrapolate(st.LogMessage[message:messages], l.messages[message:], beta)
	simd.Extrapolate(st.LogBelief[belief:beliefs], l.beliefs[belief:], beta)
}
