//go:build !purego

package simd

import "unsafe"

var (
	node512 = nodeKernels{anyMessageForward512, anyMessageBackward512, absorb512, normaliseLog512, max512}
	node256 = nodeKernels{messageForward256, messageBackward256, absorb256, normaliseLog256, max256}
)

// registerStates is the number of states up to which a node and its messages fit
// one register each.
const registerStates = 8

// How nodeUpdate512 ended.
const (
	nodeDone       = iota
	nodeUnsafe     // the first message that is left is not safe
	nodeImpossible // no state of the node is
	nodeOutOfRange // a part of the first message that is left is not in its slice
	nodeTooWide    // its source has more than registerStates
)

// anyNodeUpdate512 leaves to Go what the assembly does not take.
func anyNodeUpdate512(belief, sum, beliefs, messages, tables []float64, in []Incoming, rho, damping float64, normalise bool) (residual float64, done int, possible bool) {
	if uint(len(belief)-1) >= registerStates {
		return node512.update(belief, sum, beliefs, messages, tables, in, rho, damping, normalise)
	}
	for {
		rest := in[done:]
		change, left, status := nodeUpdate512(belief, sum, beliefs, messages, tables, (*int)(unsafe.Pointer(unsafe.SliceData(rest))), len(rest), rho, damping, normalise)
		residual = largerOrNaN(residual, change)
		done = len(in) - left
		if status <= nodeImpossible {
			return residual, done, status == nodeDone
		}
		// What is out of range panics here.
		change, safe := node512.message(belief, sum, beliefs, messages, tables, &in[done], damping)
		if !safe {
			return residual, done, false
		}
		residual = largerOrNaN(residual, change)
		done++
	}
}

func nodeUpdate256(belief, sum, beliefs, messages, tables []float64, in []Incoming, rho, damping float64, normalise bool) (residual float64, done int, possible bool) {
	return node256.update(belief, sum, beliefs, messages, tables, in, rho, damping, normalise)
}
