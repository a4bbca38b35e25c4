package experiment

import (
	"time"

	"github.com/blockbp/blockbp/bp"
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph/partition"
	"github.com/blockbp/blockbp/internal/simd"
)

// The phases of an iteration, in their order.
const (
	phaseGround = iota
	phaseExp
	phaseSweep
	phaseGradient
	numPhases
)

// phaseNames are the names of the phases in results.
var phaseNames = [numPhases]string{"ground", "exp", "sweep", "gradient"}

// visitor visits block after block of a network as learning does, and times the
// phases of the visits where they stand: between the others, with the caches as
// these leave them. The weights stay as they are.
type visitor struct {
	model  *crf.Model
	in     *crf.Instance
	part   *partition.Partition
	net    *bp.Net
	state  *bp.State
	sweeps int

	space   bp.Workspace
	adjoint *crf.Adjoint
	belief  []float64 // of one node
	beliefs []float64 // of edges computed together
	// contribution is what a visit gives to the gradient, per group of edges: M τ,
	// sums of the beliefs of nodes and edges, and the free energy.
	contribution []float64
	stride       int

	seconds [numPhases][]float64 // of every pass
}

// newVisitor prepares visits with so many sweeps each.
func newVisitor(n *speedNetwork, states, sweeps int) (*visitor, error) {
	model, in, err := n.instance(states)
	if err != nil {
		return nil, err
	}
	net, err := bp.NewNet(n.graph, in.Cards(), bp.Convex(n.graph), nil)
	if err != nil {
		return nil, err
	}
	v := &visitor{
		model: model, in: in, part: n.part, net: net, state: bp.NewState(net), sweeps: sweeps,
		adjoint: crf.NewAdjoint(model), belief: make([]float64, states), beliefs: make([]float64, edgesTogether*states*states),
		stride: model.Layout.Size + states + states*states + 1,
	}
	groups := 0
	for i := range v.part.Blocks {
		groups = max(groups, len(v.part.Blocks[i].Groups))
	}
	v.contribution = make([]float64, groups*v.stride)
	return v, nil
}

// Run implements machine.Task: one visit of every block.
func (v *visitor) Run() (seconds float64, err error) {
	var spent [numPhases]time.Duration
	for i := range v.part.Blocks {
		if err := v.visit(&v.part.Blocks[i], &spent); err != nil {
			return 0, err
		}
	}
	for phase, d := range spent {
		seconds += d.Seconds()
		v.seconds[phase] = append(v.seconds[phase], d.Seconds())
	}
	return seconds, nil
}

// visit does to a block what an iteration does, and adds up the time of each phase.
func (v *visitor) visit(block *partition.Block, spent *[numPhases]time.Duration) error {
	clock := time.Now()
	lap := func(phase int) {
		now := time.Now()
		spent[phase] += now.Sub(clock)
		clock = now
	}
	v.model.Ground(&v.space.Potentials, v.in, block)
	lap(phaseGround)
	if err := v.space.Prepare(v.net, block); err != nil {
		return err
	}
	lap(phaseExp)
	for range v.sweeps {
		if _, err := v.space.Sweep(v.net, v.state, block, 0); err != nil {
			return err
		}
	}
	lap(phaseSweep)
	if err := v.gradient(block); err != nil {
		return err
	}
	lap(phaseGradient)
	return nil
}

// gradient computes the contributions of the block's groups from the beliefs as
// they are, like learn's visit of a block; a test holds the two against each other.
func (v *visitor) gradient(block *partition.Block) error {
	used := v.contribution[:len(block.Groups)*v.stride]
	clear(used)
	for g, group := range block.Groups {
		share := used[g*v.stride:][:v.stride]
		if g == 0 {
			for p, s := range block.Nodes {
				v.addNode(share, block, p, s)
			}
		}
		for q, hi := int(group.Lo), int(group.Hi); q < hi; q += edgesTogether {
			if err := v.addEdges(share, block, q, min(q+edgesTogether, hi)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v *visitor) addNode(share []float64, block *partition.Block, p int, s int32) {
	span := &v.model.Layout.Node[0]
	belief := v.belief[:span.States]
	share[v.stride-1] += v.space.NodeBelief(belief, v.net, v.state, block, p)
	v.adjoint.ScatterNode(share[span.At:][:span.Len], v.in, s, belief)
	simd.AddScaled(share[v.model.Layout.Size:][:span.States], belief, 1)
}

// edgesTogether is how many edges' beliefs learn computes in one call at 8 states.
const edgesTogether = 24

func (v *visitor) addEdges(share []float64, block *partition.Block, lo, hi int) error {
	span := &v.model.Layout.Edge[0]
	free, err := v.space.EdgeBeliefs(v.beliefs, v.net, v.state, block, lo, hi)
	if err != nil {
		return err
	}
	share[v.stride-1] += free
	for i, e := range block.Edges[lo:hi] {
		belief := v.beliefs[i*span.States:][:span.States]
		v.adjoint.ScatterEdge(share[span.At:][:span.Len], v.in, e, belief)
		simd.AddScaled(share[v.model.Layout.Size+v.model.Layout.Node[0].States:][:span.States], belief, 1)
	}
	return nil
}
