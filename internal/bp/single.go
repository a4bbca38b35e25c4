package bp

import (
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// Precision is that of edge tables, of messages in the making and of the beliefs of
// edges. What persists, log-messages and log-beliefs of nodes, is float64 always, and
// so are all sums over a block.
type Precision uint8

// The precisions.
const (
	Double Precision = iota // float64
	Single                  // float32
)

// String returns the name of the precision on the command line: f64 or f32.
func (p Precision) String() string {
	if p == Single {
		return "f32"
	}
	return "f64"
}

// SingleIsFaster reports whether this processor has vector kernels for single
// precision. Plain Go computes it to the same accuracy, and no faster than double.
func SingleIsFaster() bool { return simd.Name() != "plain" }

// single is what a workspace has of a block in single precision.
type single struct {
	on      bool // for the block at hand
	arena   []float32
	weights []float32 // of messages, as in batch
	out     []float32
	beliefs []float32 // of edges computed together
	double  []float64 // a table
}

// groundSingle is Ground in single precision. It reports false where a potential is
// too large for that: the block has to be ground in double precision.
func (w *Workspace) groundSingle(m *crf.Model, in *crf.Instance, net *Net, block *partition.Block) (done bool, err error) {
	if ground.SharesTables(in) {
		if err := w.groundShared(m, in, net, block); err != nil {
			return false, err
		}
		w.single.on = w.roundTables()
		w.Times.End(PhaseExp)
		return true, nil
	}
	w.Potentials.GroundNodes(m, in, block)
	w.Times.End(PhaseGround)
	if err := w.begin(net, block); err != nil {
		return false, err
	}
	w.Times.End(PhaseExp)
	for lo := 0; lo < len(block.Edges); {
		hi := w.Potentials.GroundEdges32(m, in, block, lo)
		w.Times.End(PhaseGround)
		done := w.prepareSingle(net, block, lo, hi)
		w.Times.End(PhaseExp)
		if !done {
			return false, nil
		}
		lo = hi
	}
	w.single.arena, w.at, w.single.on = w.Potentials.Table32, w.Potentials.EdgeAt, true
	return true, nil
}

// prepareSingle exponentiates, in place, the tables of the edges lo ≤ q < hi, all of
// one type. It reports false where one has large potentials.
func (w *Workspace) prepareSingle(net *Net, block *partition.Block, lo, hi int) (done bool) {
	at, size := w.Potentials.EdgeAt[lo], net.pairStates(block.Edges[lo])
	return simd.Exponentials32(w.Potentials.Table32[at:][:(hi-lo)*size], size, w.inverses(net, block.Edges[lo:hi])) == hi-lo
}

// Entries of tables in single precision are e^±40, of which products of three are
// still numbers.
const smallestSingle, largestSingle = 4e-18, 2.4e17

// roundTables rounds tables that are exponentiated already. It reports false where
// one is not a table that Exponentials32 could have made.
func (w *Workspace) roundTables() (done bool) {
	if len(w.forms) > 0 {
		return false
	}
	w.single.arena = numeric.Resize(w.single.arena, len(w.arena))
	for i, x := range w.arena {
		if !(x >= smallestSingle && x <= largestSingle) {
			return false
		}
		w.single.arena[i] = float32(x)
	}
	return true
}

// values returns the n entries of the table at some place, in double precision.
func (s *single) values(at, n int) []float64 {
	s.double = numeric.Resize(s.double, n)
	for i, x := range s.arena[at:][:n] {
		s.double[i] = float64(x)
	}
	return s.double
}

// absorbSingle is the part of absorb that makes the listed messages, in single
// precision.
func (w *Workspace) absorbSingle(net *Net, st *State, block *partition.Block, damping float64) error {
	b, s := &w.batch, &w.single
	if n := len(b.out) + simd.Padding32; len(s.out) < n {
		s.weights, s.out = make([]float32, n), make([]float32, n)
	}
	weights, out := s.weights[:b.weightsUsed], s.out[:b.outUsed]
	simd.Cavities32(s.weights, st.LogBelief, st.LogMessage, b.messages)
	simd.Exp32(weights, weights)
	simd.Products32(s.out, s.weights, s.arena, b.messages)
	b.unsafe = b.unsafe[:0]
	if !simd.AllSafe32(out) {
		for j := range b.messages {
			if m := &b.messages[j]; !simd.AllSafe32(s.out[m.Out:][:m.Target]) {
				b.unsafe = append(b.unsafe, int32(j))
			}
		}
	}
	simd.Log32(out, out)
	for _, j := range b.unsafe {
		m := &b.messages[j]
		if err := w.redo(net, st, block, b.in[j], w.out); err != nil {
			return err
		}
		for x, v := range w.out[:m.Target] {
			s.out[int(m.Out)+x] = float32(v)
		}
	}
	b.residual = larger(b.residual, simd.AbsorbAll32(st.LogMessage, b.sums, s.out, b.messages, damping))
	return nil
}

// InSingle reports whether the block at hand is in single precision. Ground may have
// decided otherwise than Precision says, where potentials are large.
func (w *Workspace) InSingle() bool { return w.single.on }

// EdgeBeliefs32 is EdgeBeliefs in single precision, for a block that is InSingle.
func (w *Workspace) EdgeBeliefs32(dst []float32, net *Net, st *State, block *partition.Block, lo, hi int) (freeEnergy float64, err error) {
	return listedEdges(w, dst, w.single.arena, simd.EdgeBeliefs32, (*Workspace).EdgeBelief, net, st, block, lo, hi)
}
