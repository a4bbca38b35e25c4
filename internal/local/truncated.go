package local

import (
	"context"
	"math"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// truncated is the univariate logistic loss of belief propagation that is stopped early,
//
//	Σ_n Σ_s −ω(x_s) log τ_s(x_s),
//
// over the nodes s that have a label, τ being the beliefs after so many sweeps of Workspace.Trace from constant
// messages (Stoyanov et al. 2011, Domke 2013). All of a sweep can be seen from what was before and after it: a node is
// updated once, and so is a message. So its derivatives are taken from the last node to the first, each of which is
// then put back to where it was.
type truncated struct {
	objective *Objective
	space     bp.Workspace
	state     bp.State
	before    []bp.State        // each sweep, to go back to
	theta     ground.Potentials // as logarithms, which those of space are not
	slope     bp.State          // derivatives by what state holds
	nodes     []float64         // and by theta.Node, ...
	tables    []float64         // ... theta.Table
	adjoint   ground.Adjoint
	sum       []float64 // of one node
	cavity    []float64 // of the source of a message: log τ less the message that came from the target
	joint     []float64 // states of target × states of source
}

// Add implements ground.LocalObjective. What inference cannot compute is NaN.
func (t *truncated) Add(ctx context.Context, gradient []float64, m *crf.Model, in *crf.Instance,
	whole *partition.Block, weight float64) (value float64) {
	net, st := t.objective.nets[in], &t.state
	st.Fit(net)
	err := t.space.Ground(m, in, net, nil, whole)
	if err == nil {
		_, err = t.space.Trace(ctx, net, st, whole, t.objective.Sweeps, func(k int) {
			if len(t.before) <= k {
				t.before = append(t.before, bp.State{})
			}
			t.before[k].LogMessage = append(t.before[k].LogMessage[:0], st.LogMessage...)
			t.before[k].LogBelief = append(t.before[k].LogBelief[:0], st.LogBelief...)
		})
	}
	if err != nil || ctx.Err() != nil {
		return math.NaN()
	}
	t.slope.Fit(net)
	clear(t.slope.LogMessage)
	clear(t.slope.LogBelief)
	for i, labels := range in.Samples() {
		for s, y := range labels {
			if y == crf.Unobserved {
				continue
			}
			counts := weight * in.SampleWeight(i) * ground.ClassWeight(t.objective.ClassWeights, in, int32(s), y)
			at := net.BeliefAt(int32(s)) + int(y)
			value -= counts * st.LogBelief[at]
			t.slope.LogBelief[at] -= counts
		}
	}
	if gradient == nil {
		return value
	}
	t.theta.Ground(m, in, whole)
	t.nodes, t.tables = numeric.Resize(t.nodes, len(t.theta.Node)), numeric.Resize(t.tables, len(t.theta.Table))
	clear(t.nodes)
	clear(t.tables)
	for k := t.objective.Sweeps - 1; k >= 0 && ctx.Err() == nil; k-- {
		t.undo(net, whole, k)
	}
	t.scatter(gradient, m, in, whole)
	return value
}

// undo takes the derivatives through sweep k, and the state back before it.
func (t *truncated) undo(net *bp.Net, block *partition.Block, k int) {
	n := len(block.Order)
	for i := range n {
		place := i // sweeps that went back ended with the first
		if k%2 == 1 {
			place = n - 1 - i
		}
		p := block.Order[place]
		u := block.Nodes[p]
		at, states := net.BeliefAt(u), int(net.Card[u])
		belief, slope := t.state.LogBelief[at:][:states], t.slope.LogBelief[at:][:states]
		total := numeric.Sum(slope)
		t.sum = numeric.Resize(t.sum, states)
		theta := t.nodes[t.theta.NodeAt[p]:]
		for x, g := range slope {
			t.sum[x] = (g - math.Exp(belief[x])*total) / net.Counting.Rho[u]
			theta[x] += t.sum[x]
		}
		copy(belief, t.before[k].LogBelief[at:])
		clear(slope)
		for i := block.InStart[place]; i < block.InStart[place+1]; i++ {
			t.undoMessage(net, block, i, k)
		}
	}
}

// undoMessage is undo for message i into a node the sum of which has the derivatives t.sum.
func (t *truncated) undoMessage(net *bp.Net, block *partition.Block, i int32, k int) {
	d, at := block.In[i], net.MessageAt(block.In[i])
	message, slope := t.state.LogMessage[at:][:len(t.sum)], t.slope.LogMessage[at:][:len(t.sum)]
	rho, counts := net.Counting.Edge[d>>1], false
	for x, g := range t.sum {
		slope[x] += rho * g
		counts = counts || slope[x] != 0
	}
	if counts {
		t.undoSum(slope, net, block.InSource[i], d, t.theta.EdgeAt[block.InEdge[i]], rho)
	}
	copy(message, t.before[k].LogMessage[at:])
	clear(slope)
}

// undoSum hands the derivatives by a message, log Σ_y exp(cavity[y] + θ(y,x)/ρ), on to those by what it was made of.
// What makes its largest entry 0 moves no belief.
func (t *truncated) undoSum(slope []float64, net *bp.Net, source, d int32, table int, rho float64) {
	states, n := int(net.Card[source]), len(slope)
	at, back := net.BeliefAt(source), net.MessageAt(d^1)
	t.cavity, t.joint = numeric.Resize(t.cavity, states), numeric.Resize(t.joint, states*n)
	for y := range t.cavity {
		b, m := t.state.LogBelief[at+y], t.state.LogMessage[back+y]
		if t.cavity[y] = b - m; math.IsInf(b, -1) || math.IsInf(m, -1) {
			t.cavity[y] = math.Inf(-1)
		}
	}
	ofX, ofY := 1, n // strides in the table, which is row-major with the state of U slow
	if d&1 == 1 {
		ofX, ofY = states, 1
	}
	theta, derivatives := t.theta.Table[table:], t.tables[table:]
	for x := range slope {
		row, largest := t.joint[x*states:][:states], math.Inf(-1)
		for y, c := range t.cavity {
			row[y] = c + theta[x*ofX+y*ofY]/rho
			largest = max(largest, row[y])
		}
		for y := range row {
			row[y] -= max(largest, -math.MaxFloat64) // of a forbidden state all are −Inf
		}
	}
	simd.Exp(t.joint, t.joint)
	for x, g := range slope {
		row := t.joint[x*states:][:states]
		total := numeric.Sum(row)
		if total == 0 || g == 0 {
			continue
		}
		for y, p := range row {
			p *= g / total
			derivatives[x*ofX+y*ofY] += p / rho
			t.slope.LogBelief[at+y] += p
			t.slope.LogMessage[back+y] -= p
		}
	}
}

// scatter adds the derivatives by potentials to those by weights: of tables that edges share, once.
func (t *truncated) scatter(gradient []float64, m *crf.Model, in *crf.Instance, block *partition.Block) {
	for p := range block.Nodes {
		t.adjoint.AddNodes(gradient, m, in, block.Nodes[p:p+1], t.nodes[t.theta.NodeAt[p]:t.theta.NodeAt[p+1]])
	}
	t.adjoint.ReleaseAll(gradient, m, in)
	next := int32(0)
	for q, e := range block.Edges {
		if t.theta.TableID[q] == next {
			next++
			t.adjoint.AddEdges(gradient, m, in, block.Edges[q:q+1],
				t.tables[t.theta.EdgeAt[q]:][:m.Layout.Edge[in.EdgeType(e)].States])
		}
	}
}
