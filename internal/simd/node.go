package simd

import "math"

// Incoming is a message into a node, by where its parts are: offsets of their
// first entries.
type Incoming struct {
	Belief  int // of the source's log-belief, in beliefs
	Reverse int // of the log-message from the node to the source, in messages
	Message int // of the message itself, in messages
	Table   int // of the edge's exponentiated table, in tables
	States  int // of the source
	// Rho is the factor with which the message enters the sum.
	Rho float64
	// Backward: the rows of the table are states of the node, not of the source.
	Backward bool
}

// NodeUpdate recomputes messages into a node, in their order, and then its
// log-belief. Each message is what MessageForward or MessageBackward makes of the
// source's belief, the reverse message and the table, and enters old message and
// sum as by Absorb, with the message's Rho. sum holds the node's potentials
// before, or these and the messages that were absorbed already, and all of them
// afterwards.
//
// The belief is NormaliseLog of the sum with rho, a positive normal number, or, if
// normalise is false, (sum − max)/rho, which is ready earlier: messages and
// EdgeBelief's log Z − product are the same for either.
//
// It returns the largest residual of the messages absorbed, and how many these
// are. If done < len(in), message in[done] is not safe and is as it was: the
// caller must compute it with logarithms, Absorb it, and call again with the rest,
// in[done+1:]. (A message may be done although MessageForward would report that it
// is not safe, where its sums are large enough without the shift.) If all are done
// and possible is false, the largest sum is not finite or a sum is NaN. belief is
// rubbish unless possible is true, which it never is with done < len(in).
//
// len(sum) ≥ len(belief), the number of states. No message is the reverse of
// another of the list, or another a second time. belief may lie in beliefs, but is
// the belief of no source. An offset that is outside of its slice panics.
func NodeUpdate(belief, sum, beliefs, messages, tables []float64, in []Incoming, rho, damping float64, normalise bool) (residual float64, done int, possible bool) {
	return active.nodeUpdate(belief, sum[:len(belief)], beliefs, messages, tables, in, rho, damping, normalise)
}

// nodeKernels are what NodeUpdate is composed of.
type nodeKernels struct {
	forward, backward func(out, belief, message, values []float64) (safe bool)
	absorb            func(old, message, sum []float64, rho, damping float64) (residual float64)
	normaliseLog      func(belief, sum []float64, rho float64) (possible bool)
	max               func(x []float64) float64
}

// update is NodeUpdate. The belief, which comes last, is the scratch for messages.
func (k *nodeKernels) update(belief, sum, beliefs, messages, tables []float64, in []Incoming, rho, damping float64, normalise bool) (residual float64, done int, possible bool) {
	for i := range in {
		change, safe := k.message(belief, sum, beliefs, messages, tables, &in[i], damping)
		if !safe {
			return residual, i, false
		}
		residual = largerOrNaN(residual, change)
	}
	if normalise {
		return residual, len(in), k.normaliseLog(belief, sum, rho)
	}
	return residual, len(in), k.shift(belief, sum, rho)
}

// shift is normaliseLog without the normalisation.
func (k *nodeKernels) shift(belief, sum []float64, rho float64) (possible bool) {
	largest := k.max(sum)
	if !(math.Abs(largest) <= math.MaxFloat64) {
		return false
	}
	for i, x := range sum {
		belief[i] = (x - largest) / rho
	}
	return true
}

// message recomputes one message.
func (k *nodeKernels) message(belief, sum, beliefs, messages, tables []float64, m *Incoming, damping float64) (residual float64, safe bool) {
	compute := k.forward
	if m.Backward {
		compute = k.backward
	}
	source, reverse := beliefs[m.Belief:][:m.States], messages[m.Reverse:][:m.States]
	old, table := messages[m.Message:][:len(belief)], tables[m.Table:][:m.States*len(belief)]
	if !compute(belief, source, reverse, table) {
		return 0, false
	}
	return k.absorb(old, belief, sum, m.Rho, damping), true
}

// largerOrNaN is the larger of two residuals, or a NaN where there is one.
func largerOrNaN(a, b float64) float64 {
	if b > a || b != b {
		return b
	}
	return a
}

var plainNode = nodeKernels{plainMessageForward, plainMessageBackward, plainAbsorb, plainNormaliseLog, plainMax}

func plainNodeUpdate(belief, sum, beliefs, messages, tables []float64, in []Incoming, rho, damping float64, normalise bool) (residual float64, done int, possible bool) {
	return plainNode.update(belief, sum, beliefs, messages, tables, in, rho, damping, normalise)
}
