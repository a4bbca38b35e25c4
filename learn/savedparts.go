package learn

import (
	"fmt"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/runstate"
)

// What visits change is in a state by the parts of the jobs (parts.go), an array for each. So the file of a state is
// the same whatever the number of processes that have made it (checkpoint). Any number goes on from it: each process
// reads its own parts, and then tells the others what they see of these.

// savedParts are the parts of a state, of which a process has its own.
type savedParts struct {
	*ranks
	passStarts, accepted bool      // whether the state also has unit.passStart, and unit.acceptedState
	lengths              []float64 // [mostParts] how many numbers it has of each part
	buffer               []float64
}

// copies is how many of all messages a state has, beside those at hand.
func (s *savedParts) copies() int {
	u := s.inf.units[0]
	return numeric.OneIf(u.passStart != nil && s.passStarts) + numeric.OneIf(u.acceptedState != nil && s.accepted)
}

// noPart is what process 0 asks for when it needs no more.
const noPart = -1

// serve brings to process 0 what it asks for.
func (s *savedParts) serve() {
	asked := []float64{noPart}
	s.lengths = s.Share(nil, s.ownLengths())
	for s.Agree(asked); asked[0] != noPart; s.Agree(asked) {
		s.bring(int32(asked[0]))
	}
}

// eachOfPart calls do for all that a state has of the blocks of a part. That is the messages into their nodes and the
// beliefs there, as they are and, where they are kept, as they were when the last pass began and when weights were last
// accepted; what edges to higher blocks keep; and contributions, if not all processes have these.
func (s *savedParts) eachOfPart(part int32, do func([]float64)) {
	for at, of := range s.inf.parts {
		if of != part {
			continue
		}
		u, x := s.inf.jobAt(at)
		eachOfBlock(u, x, func(p piece) { do(p.of(u.state.LogMessage, u.state.LogBelief)) })
		if u.passStart != nil && s.passStarts {
			eachOfBlock(u, x, func(p piece) { do(p.of(u.passStart.halves(u))) })
		}
		if u.acceptedState != nil && s.accepted {
			eachOfBlock(u, x, func(p piece) { do(p.of(u.acceptedState.halves(u))) })
		}
		for _, g := range u.partition.Blocks[x].Groups {
			if int(g.Other) > x {
				at, n := s.inf.shape.cutRange(u, &g)
				do(u.cutBeliefs[at:][:n])
			}
		}
		if s.inf.oneUnit() {
			do(s.inf.contribution[x*s.inf.shape.stride:][:s.inf.shape.stride])
		}
	}
}

// ownLengths returns how many numbers a state has of the parts of this process.
func (s *savedParts) ownLengths() (lengths []float64) {
	for part, to := s.ownParts(); part < to; part++ {
		n := 0
		s.eachOfPart(int32(part), func(x []float64) { n += len(x) })
		lengths = append(lengths, float64(n))
	}
	return lengths
}

// partArrays are the arrays of parts from first on, of these lengths, which pieces goes through.
func partArrays(first int, lengths []float64, pieces func(int32, func([]float64) bool)) (arrays []runstate.Array) {
	for i, n := range lengths {
		if part := int32(first + i); n > 0 {
			all := func(yield func([]float64) bool) { pieces(part, yield) }
			arrays = append(arrays, runstate.Array{Name: fmt.Sprintf("part.%02d", part), Pieces: all, Length: int(n)})
		}
	}
	return arrays
}

// own goes through a part of this process, where its numbers are used.
func (s *savedParts) own(part int32, yield func([]float64) bool) {
	more := true
	s.eachOfPart(part, func(x []float64) { more = more && yield(x) })
}

// ask goes through a part of any process, in process 0.
func (s *savedParts) ask(part int32, yield func([]float64) bool) {
	if s.Owns(part) {
		s.own(part, yield)
		return
	}
	s.Agree([]float64{float64(part)})
	yield(s.bring(part))
}

// bring brings the numbers of a part of another process to process 0.
func (s *savedParts) bring(part int32) []float64 {
	owner, send, receive := s.owner(part), make([][]float64, s.size), make([][]float64, s.size)
	s.buffer = numeric.Resize(s.buffer, int(s.lengths[part]))
	switch s.me {
	case owner:
		at := 0
		s.eachOfPart(part, func(x []float64) { at += copy(s.buffer[at:], x) })
		send[0] = s.buffer
	case 0:
		receive[owner] = s.buffer
	}
	s.Exchange(send, receive)
	return s.buffer
}
