package bp

import (
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// uniformMessages is how many messages are updated together where there are kernels
// without lists: few enough for a row of scratch for each, and for the messages
// themselves, to stay in the nearest cache.
const uniformMessages = 128

// nearTables is how many numbers in tables are taken to be in the second-level cache.
const nearTables = 1 << 17

// uniform is a block of which all nodes have the same few states, so that it needs no
// lists.
type uniform struct {
	on    bool // for the sweep at hand, of those that are made at once
	parts simd.Uniform
	rho   [1]float64 // of every edge, where that is one number
	// unwanted takes sums that nobody asks for.
	unwanted [64]float64
}

// fitUniform decides whether a block can do without lists, and says where its parts
// are.
func (w *Workspace) fitUniform(net *Net, st *State, block *partition.Block) bool {
	if !(net.uniform > 0 && net.uniform <= simd.UniformStates()) || w.logarithms {
		return false
	}
	u := &w.uniform.parts
	u.States = net.uniform
	u.Beliefs, u.Messages, u.Tables, u.At = st.LogBelief, st.LogMessage, w.arena, w.at
	u.Potentials, u.RhoNode, u.Count = w.Potentials.Node, w.sweepRho(net), net.Counting.Node
	u.PerEdge, u.Rho = -1, net.Counting.Edge
	if w.uniform.rho[0] = net.same; w.uniform.rho[0] != 0 {
		u.PerEdge, u.Rho = 0, w.uniform.rho[:]
	}
	u.Nodes, u.Edges, u.Order, u.InStart = block.Nodes, block.Edges, block.Order, block.InStart
	u.In, u.InEdge, u.InSource = block.In, block.InEdge, block.InSource
	u.U, u.V = net.Graph.Ends()
	return true
}

// beginUniform makes what a sweep needs on top.
func (w *Workspace) beginUniform(damping float64) {
	u := &w.uniform.parts
	if n := simd.UniformRow(u.States) * (uniformMessages + simd.UniformPadding); len(u.Rows) < n {
		u.Rows, u.Sums = make([]float64, n), make([]float64, n)
		u.Totals = make([]float64, uniformMessages+simd.UniformPadding)
	}
	u.Damping, u.Far = damping, 0
	if len(u.Tables) > nearTables {
		u.Far = 1
	}
	u.Cold = 1
	if w.swept && u.Far == 0 {
		u.Cold = 0
	}
	w.swept = true
}

// updateUniform updates the nodes lo ≤ i < hi of a run.
func (w *Workspace) updateUniform(net *Net, st *State, block *partition.Block, lo, hi int32, damping float64) (residual float64, err error) {
	for lo < hi {
		end := lo
		for first := block.InStart[lo]; end < hi && end-lo < uniformMessages && block.InStart[end+1]-first <= uniformMessages; {
			end++
		}
		change, absorbed, done := w.uniformBatch(block, int(lo), int(end))
		if !done {
			// A node with very many neighbours, or a sum that needs logarithms; or one that
			// is none, of which this makes the error: messages are damped once.
			end = max(end, lo+1)
			if absorbed {
				damping = 0
			}
			change, err = w.updateRun(net, st, block, lo, end, damping)
		}
		residual = larger(residual, change)
		if err != nil {
			return residual, err
		}
		lo = end
	}
	return residual, nil
}

// uniformBatch updates nodes of a run together. It is not done, and has changed nothing,
// where that can't be without logarithms; and where a belief is no distribution, when
// messages are absorbed already.
func (w *Workspace) uniformBatch(block *partition.Block, lo, hi int) (residual float64, absorbed, done bool) {
	u := &w.uniform.parts
	from, to := int(block.InStart[lo]), int(block.InStart[hi])
	if lo == hi || from == to || !u.Products(from, to) {
		return 0, false, false
	}
	residual = u.Absorb(from, to)
	if u.Shift(lo, hi) < hi-lo {
		return 0, true, false
	}
	totals := u.Totals[:hi-lo]
	simd.Log(totals, totals)
	return larger(residual, u.Settle(lo, hi)), true, true
}

// uniformEdges is EdgeBeliefs without lists. It reports false where that can't be done:
// a table has a shift, or an edge is far from even.
func (w *Workspace) uniformEdges(dst, sum []float64, net *Net, st *State, block *partition.Block, lo, hi int) (freeEnergy float64, done bool) {
	if len(w.forms) > 0 || net.uniform > simd.UniformEdgeStates() || !w.fitUniform(net, st, block) {
		return 0, false
	}
	u := &w.uniform.parts
	if len(dst) < u.Room(hi-lo, u.States*u.States) {
		return 0, false
	}
	if sum == nil {
		sum = w.uniform.unwanted[:]
	}
	return u.WriteEdges(dst, sum, lo, hi)
}

// uniformNodes is NodeBeliefs without lists.
func (w *Workspace) uniformNodes(dst, sum []float64, net *Net, st *State, block *partition.Block, lo, hi int) (freeEnergy float64, done bool) {
	if !w.fitUniform(net, st, block) {
		return 0, false
	}
	u := &w.uniform.parts
	if len(dst) < u.Room(hi-lo, u.States) {
		return 0, false
	}
	if sum == nil {
		sum = w.uniform.unwanted[:]
	}
	return u.WriteNodes(dst, sum, lo, hi), true
}
