package infer

import (
	"fmt"
	"math"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/mrf"
)

// Bytes of numbers, and about what a node and an edge take in a graph, a partition, its
// lists and counting numbers, whatever their states.
const (
	double    = 8.0
	nodeBytes = 120.0
	edgeBytes = 150.0
)

// sizes are those of a pairwise network, as float64: none of them overflows.
type sizes struct {
	nodes, edges  float64
	states, pairs float64 // of all nodes, and in the tables of all edges
	messages      float64 // numbers in the messages of all edges, in both directions
	mostStates    int     // of a node
	mostPairs     float64 // of an edge
}

// addNode counts a node of k states.
func (z *sizes) addNode(k int) {
	z.nodes++
	z.states += float64(k)
	z.mostStates = max(z.mostStates, k)
}

// addEdge counts an edge with a table of its own.
func (z *sizes) addEdge(u, v float64) {
	z.edges++
	z.messages += u + v
	z.pairs += u * v
	z.mostPairs = max(z.mostPairs, u*v)
}

// reason says what the sizes are.
func (z *sizes) reason() string {
	text := fmt.Sprintf("%.0f variables have %.0f states in all, and %.0f edges", z.nodes, z.states, z.edges)
	if z.pairs > 0 {
		text += fmt.Sprintf(" %.4g pairs of them", z.pairs)
	}
	if float64(z.mostStates)*z.nodes > 2*z.states {
		text += fmt.Sprintf("; one alone has %d states", z.mostStates)
	}
	return text
}

// sizesOf measures what a network becomes in pairwise form, in which factors of more than
// two variables are variables of their own; see exact.WithAuxiliary.
func sizesOf(n *mrf.Network) *sizes {
	z := &sizes{}
	for _, k := range n.Card {
		z.addNode(k)
	}
	for f := range n.Factors {
		scope := n.Factors[f].Scope
		if len(scope) == 2 {
			z.addEdge(float64(n.Card[scope[0]]), float64(n.Card[scope[1]]))
		}
		if len(scope) <= 2 {
			continue
		}
		possible := 0
		for _, x := range n.Factors[f].LogTable {
			if !math.IsInf(x, -1) {
				possible++
			}
		}
		possible = max(1, possible)
		z.addNode(possible)
		for _, v := range scope {
			z.addEdge(float64(possible), float64(n.Card[v]))
		}
	}
	return z
}

// network is the pairwise form itself.
func (z *sizes) network() float64 {
	return double*(z.states+z.pairs) + nodeBytes*z.nodes + edgeBytes*z.edges
}

// propagation is what belief propagation on tables of its own takes, with the marginals of all variables.
func (z *sizes) propagation() float64 {
	return double * (3*z.states + 3*z.nodes + z.pairs + z.messages + 6*float64(z.mostStates) + 3*z.mostPairs)
}

// check names the first option that cannot be used, defaults included, and refuses draws of a
// network, and chains that make them, that would take more memory than they may.
func (o *SampleOptions) check(z *sizes, chains int) error {
	if err := o.validate(int(z.nodes)); err != nil {
		return err
	}
	const width, row = 4.0, 32.0 // bytes of a state that was drawn, and of what keeps those of a draw
	draws, network := float64(o.Draws)*(width*z.nodes+row), z.network()+double*z.states
	together := double * float64(chains) * (z.nodes/2 + float64(z.mostStates)) // a state and scratch each
	reason := z.reason()
	if draws > network {
		reason = fmt.Sprintf("%d draws of %.0f variables take %s", o.Draws, z.nodes, memory.Text(draws))
	}
	return tooMuch("sampling", draws+network+together, o.Memory, reason)
}

// tooMuch refuses what would take more memory than it may. Exact looks after itself.
func tooMuch(what string, bytes float64, allowed int64, reason string) error {
	if err, ok := memory.Check(what, bytes, allowed).(*memory.Error); ok {
		err.Reason = reason
		return unsuitedError{err}
	}
	return nil
}

// Bytes returns about how much memory Predict takes for an instance, scratch included.
// counting.Func is asked for the numbers of its graph.
func (p *Predictor) Bytes(in *crf.Instance) (float64, error) {
	numbers, err := p.Counting.Of(in.Graph)
	if err != nil {
		return 0, err
	}
	z := predictedSizes(in)
	tables := *z
	if ground.SharesTables(in) { // its tables are there once, and exponentiated for every class
		_, all, distinct := ground.Entries(in)
		tables.pairs = distinct + min(all, distinct*float64(max(1, numbers.Classes)))
	}
	bytes := tables.propagation() + nodeBytes*z.nodes + edgeBytes*z.edges
	if p.Settled > 0 { // beliefs of the sweep before, three numbers of every node, and its segment
		bytes += double * (z.states + 3.5*z.nodes)
	}
	if p.Exact { // how much of it is known when a plan is made
		bytes += min(exactBytes, z.network()+double*z.states)
	}
	if p.Joint != nil { // all tables are made, and messages between them
		bytes += z.network() + double*(z.messages+z.states)
	}
	return bytes, nil
}

func predictedSizes(in *crf.Instance) *sizes {
	z := &sizes{}
	for s := range int32(in.Graph.NumNodes()) {
		z.addNode(in.States(s))
	}
	u, v := in.Graph.Ends()
	for e := range u {
		z.addEdge(float64(in.States(u[e])), float64(in.States(v[e])))
	}
	return z
}
