package bp

import (
	"fmt"
	"math"

	"github.com/blockbp/blockbp/counting"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/simd"
)

// Net is the frozen shape of one inference problem: topology, states per node, counting numbers, and which nodes are
// observed. It may be shared by all states of the same shape.
type Net struct {
	Graph    *graph.Graph
	Card     []int32 // [nodes] number of states
	Counting *counting.Numbers
	// Observed is nil, or the state of each observed node and −1 for the others. Where at most half of the nodes are
	// observed, and all have the same number of states, a State also has messages into observed nodes and their
	// log-beliefs, −Inf but for the observed state, so that kernels need not ask. They never change.
	Observed []int32

	rhoNode     []float64              // [nodes] ρ_s
	proximal    [kindsOfProx][]float64 // [nodes] ρ_s + κ_s of the prox (prox.go); nil where no node has one
	class       []uint8                // [edges] which of the distinct c_uv an edge has, where these are few
	classes     int                    // how many distinct c_uv there are, where these are few
	same        float64                // c_uv of every edge, or 0 where they differ
	uniform     int                    // states of each node, where all have as many and at most half are observed; else 0
	beliefAt    []int                  // [nodes] offset in State.LogBelief, −1 if observed
	messageAt   []int                  // [directed edges] offset in State.LogMessage, −1 if there is none
	numBeliefs  int
	numMessages int
	maxCard     int
	maxPair     int // most pairs of states that an edge joins
}

// NewNet returns the shape of inference on g, whose node s has card[s] states.
// observed, states of nodes or −1, may be nil. The slices are kept without copying.
func NewNet(g *graph.Graph, card []int32, counting *counting.Numbers, observed []int32) (*Net, error) {
	if len(card) != g.NumNodes() || len(counting.Node) != g.NumNodes() || len(counting.Edge) != g.NumEdges() {
		return nil, fmt.Errorf("bp: %d nodes and %d edges, but %d cardinalities and counting numbers for %d nodes and %d "+
			"edges", g.NumNodes(), g.NumEdges(), len(card), len(counting.Node), len(counting.Edge))
	}
	net := &Net{Graph: g, Card: card, Counting: counting, Observed: observed, rhoNode: counting.Rho}
	if net.class, net.classes = counting.EdgeClass, counting.Classes; net.classes == 1 {
		net.same = counting.Edge[0]
	}
	net.proximal = proximal(g, counting)
	same, free := true, 0 // of observation
	for s, k := range card {
		if k < 1 {
			return nil, fmt.Errorf("bp: node %d has %d states, want at least 1", s, k)
		}
		net.maxCard = max(net.maxCard, int(k))
		if same = same && k == card[0]; !net.observed(int32(s)) {
			free++
		}
	}
	for e := range int32(g.NumEdges()) {
		net.maxPair = max(net.maxPair, net.pairStates(e))
		if same {
			break
		}
	}
	if same && len(card) > 0 && 2*free >= len(card) {
		net.uniform = int(card[0])
		net.numBeliefs = net.uniform * g.NumNodes()
		net.numMessages = net.uniform * 2 * g.NumEdges()
		return net, nil
	}
	net.layOut()
	return net, nil
}

// layOut gives every belief and message its place, where they differ in size or many are left out.
func (n *Net) layOut() {
	n.beliefAt, n.messageAt = make([]int, n.Graph.NumNodes()), make([]int, 2*n.Graph.NumEdges())
	for s := range n.beliefAt {
		n.beliefAt[s] = -1
		if !n.observed(int32(s)) {
			n.beliefAt[s] = n.numBeliefs
			n.numBeliefs += int(n.Card[s])
		}
	}
	for d := range n.messageAt {
		n.messageAt[d] = -1
		if t := n.Graph.Target(int32(d)); !n.observed(t) {
			n.messageAt[d] = n.numMessages
			n.numMessages += int(n.Card[t])
		}
	}
}

func (n *Net) observed(s int32) bool { return n.Observed != nil && n.Observed[s] >= 0 }

// rho returns c_uv of an edge.
func (n *Net) rho(e int32) float64 {
	if n.same != 0 {
		return n.same
	}
	return n.Counting.Edge[e]
}

// belief returns the log-belief of node s, or nil if there is none, as it is observed.
func (n *Net) belief(st *State, s int32) []float64 {
	if at := n.BeliefAt(s); at >= 0 {
		return st.LogBelief[at:][:n.Card[s]]
	}
	return nil
}

// message returns the log-message of directed edge d, whose target is t, or nil if there is none.
func (n *Net) message(st *State, d, t int32) []float64 {
	if at := n.MessageAt(d); at >= 0 {
		return st.LogMessage[at:][:n.Card[t]]
	}
	return nil
}

// BeliefAt says where the log-belief of node s begins in State.LogBelief; −1: there is none, as it is observed.
func (n *Net) BeliefAt(s int32) int {
	if n.uniform > 0 {
		return int(s) * n.uniform
	}
	return n.beliefAt[s]
}

// MessageAt says where the log-message of directed edge d begins in State.LogMessage; −1: its target has no belief.
func (n *Net) MessageAt(d int32) int {
	if n.uniform > 0 {
		return int(d) * n.uniform
	}
	return n.messageAt[d]
}

// State is what inference on a network remembers between visits of a block.
type State struct {
	// LogMessage holds λ_d/ρ of every directed edge d over the states of its target, zeros or none where that is observed.
	// The largest entry is 0, or less where damping has mixed it with an older message.
	LogMessage []float64
	// LogBelief holds log τ_s of every node, or of every one that is not observed.
	LogBelief []float64
}

// NewState returns constant messages and uniform beliefs: the fixed point where all potentials are zero.
func NewState(net *Net) *State {
	st := &State{}
	st.Fit(net)
	return st
}

// Fit makes st what NewState returns, in the memory of st if that is enough.
func (st *State) Fit(net *Net) {
	st.LogMessage, st.LogBelief = numeric.Resize(st.LogMessage, net.numMessages),
		numeric.Resize(st.LogBelief, net.numBeliefs)
	st.Reset(net)
}

// Reset makes all messages and beliefs of st, a state of net, uniform.
func (st *State) Reset(net *Net) {
	clear(st.LogMessage)
	for s := range int32(net.Graph.NumNodes()) {
		net.Begin(st.LogBelief, s)
	}
}

// Begin makes the log-belief of node s, if there is one, uniform, or sure of the state in which it is observed.
func (n *Net) Begin(beliefs []float64, s int32) {
	at, x := n.BeliefAt(s), -math.Log(float64(n.Card[s]))
	if at < 0 {
		return
	}
	if n.observed(s) {
		x = math.Inf(-1)
	}
	for i := range n.Card[s] {
		beliefs[at+int(i)] = x
	}
	if n.observed(s) {
		beliefs[at+int(n.Observed[s])] = 0
	}
}

// Bytes returns the memory that a state of this shape takes.
func (n *Net) Bytes() int { return 8 * (n.numMessages + n.numBeliefs) }

// Messages returns the length of State.LogMessage.
func (n *Net) Messages() int { return n.numMessages }

// Beliefs returns the length of State.LogBelief.
func (n *Net) Beliefs() int { return n.numBeliefs }

// NodeBeliefs writes τ_s of all nodes into dst [their states], one behind the other.
func (n *Net) NodeBeliefs(dst []float64, st *State) {
	if n.beliefAt == nil || n.Observed == nil {
		simd.Exp(dst, st.LogBelief)
		return
	}
	for s, k := range n.Card {
		n.Belief(dst[:k], st, int32(s))
		dst = dst[k:]
	}
}

// Belief writes τ_s over the states of node s into dst [Card[s]].
func (n *Net) Belief(dst []float64, st *State, s int32) {
	b := n.belief(st, s)
	if b == nil {
		clear(dst)
		dst[n.Observed[s]] = 1
		return
	}
	simd.Exp(dst, b)
}
