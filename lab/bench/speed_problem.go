package bench

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/partition"
	"github.com/blockbp/blockbp/internal/synthetic"
	"github.com/blockbp/blockbp/learn"
)

// What the networks of a measurement have in common: the features of the paper's
// synthetic problem, and a source of numbers.
const (
	speedNodeFeatures = 20
	speedEdgeFeatures = 10
	speedSeed         = 1
	// speedWeightScale is that of the weights that labels are drawn from and that the
	// phases are measured at: clear preferences, and nothing near the bounds of exp.
	speedWeightScale = 0.3
)

// speedNetwork is a graph with features, cut into blocks, for any number of states.
type speedNetwork struct {
	name       string
	spec       synthetic.GraphSpec
	graph      *graph.Graph
	part       *partition.Partition // nil: not cut yet
	together   int                  // blocks that an iteration visits; 0: one
	node, edge []float64            // features
}

// The kinds of graphs.
const (
	kindGrid = "grid"
	kindBA   = "ba"
)

// gridSpec is a square grid, and baSpec a Barabási–Albert graph with two edges per new
// node.
func gridSpec(side int) synthetic.GraphSpec {
	return synthetic.GraphSpec{Kind: kindGrid, Rows: side, Cols: side}
}

func baSpec(nodes int) synthetic.GraphSpec {
	return synthetic.GraphSpec{Kind: kindBA, Nodes: nodes, Attach: 2}
}

// nameOf is how people call a graph.
func nameOf(spec synthetic.GraphSpec) string {
	if spec.Kind == kindGrid {
		return fmt.Sprintf("grid %d×%d", spec.Rows, spec.Cols)
	}
	return fmt.Sprintf("BA %d", spec.Nodes)
}

// newSpeedNetwork draws a network.
func newSpeedNetwork(spec synthetic.GraphSpec) (*speedNetwork, error) {
	source := synthetic.Synthetic{Seed: speedSeed}
	g, err := spec.Build(source.Source(synthetic.StreamGraph, 0))
	if err != nil {
		return nil, err
	}
	n := &speedNetwork{name: nameOf(spec), spec: spec, graph: g}
	n.draw(source.Source(synthetic.StreamFeatures, 0))
	return n, nil
}

// draw gives the network new features.
func (n *speedNetwork) draw(rng *rand.Rand) {
	n.node = make([]float64, n.graph.NumNodes()*speedNodeFeatures)
	n.edge = make([]float64, n.graph.NumEdges()*speedEdgeFeatures)
	synthetic.Gaussian(n.node, rng, 1)
	synthetic.Gaussian(n.edge, rng, 1)
}

// cutInto cuts the network into blocks by the block of every node.
func (n *speedNetwork) cutInto(of []int32, blocks int) (err error) {
	n.part, err = partition.FromAssignment(n.graph, of, blocks)
	return err
}

// cutNetwork is a network cut as training cuts it, and learning on it.
func cutNetwork(spec synthetic.GraphSpec, states int) (*speedNetwork, learn.Problem, error) {
	n, err := newSpeedNetwork(spec)
	if err != nil {
		return nil, learn.Problem{}, err
	}
	p, err := n.problem(states)
	if err != nil {
		return nil, p, err
	}
	return n, p, n.cut(p)
}

// cut cuts the network as training cuts it where nobody says how, and has an
// iteration visit as many blocks.
func (n *speedNetwork) cut(p learn.Problem) error {
	cuts, together, err := learn.Cut{}.Resolve(p.Model, p.Data)
	if err != nil {
		return err
	}
	n.together = together
	of, blocks, err := cuts[0].Assign(p.Data[0], 0)
	if err != nil {
		return err
	}
	return n.cutInto(of, blocks)
}

// speedShape is that of a model for so many states.
func speedShape(states int) modelShape {
	return modelShape{float64(states), speedNodeFeatures, speedEdgeFeatures}
}

// instance returns a model with random weights and the network with labels that are
// drawn from it as if there were no edges: learning has something to learn, and
// drawing takes no time.
func (n *speedNetwork) instance(states int) (*crf.Model, *crf.Instance, error) {
	model, err := crf.NewModel(crf.Homogeneous(crf.NumberedStates(states), speedNodeFeatures, speedEdgeFeatures))
	if err != nil {
		return nil, nil, err
	}
	source := synthetic.Synthetic{Seed: speedSeed}
	synthetic.Gaussian(model.Weights, source.Source(synthetic.StreamWeights, 0), speedWeightScale)
	node, err := crf.Dense(n.node, speedNodeFeatures)
	if err != nil {
		return nil, nil, err
	}
	edge, err := crf.Dense(n.edge, speedEdgeFeatures)
	if err != nil {
		return nil, nil, err
	}
	in, err := crf.NewInstance(&model.Schema, crf.InstanceSpec{
		Name: n.name, Graph: n.graph, Rows: n.spec.Rows, Cols: n.spec.Cols, NodeFeat: []crf.Features{node}, EdgeFeat: []crf.Features{edge},
		Labels: [][]int32{n.labels(model, source.Source(synthetic.StreamSamples, 0))},
	})
	return model, in, err
}

// labels draws a label for every node from its own features: the state of largest
// potential after noise, which is a draw in proportion to its exponential.
func (n *speedNetwork) labels(m *crf.Model, rng *rand.Rand) []int32 {
	span := m.Layout.Node[0]
	weights := m.Weights[span.At:][:span.Len]
	labels := make([]int32, n.graph.NumNodes())
	for s := range labels {
		best := math.Inf(-1)
		for state := range span.States {
			potential := -math.Log(rng.ExpFloat64())
			for j, f := range n.node[s*speedNodeFeatures:][:speedNodeFeatures] {
				potential += f * weights[j*span.States+state]
			}
			if potential > best {
				best, labels[s] = potential, int32(state)
			}
		}
	}
	return labels
}

// problem is learning from nothing on this network.
func (n *speedNetwork) problem(states int) (learn.Problem, error) {
	model, in, err := n.instance(states)
	if err != nil {
		return learn.Problem{}, err
	}
	clear(model.Weights)
	return learn.Problem{Model: model, Data: []*crf.Instance{in}, L2: slowL2}, nil
}

// slowL2 is so small that no run that is measured comes to its optimum: with more,
// small networks do in a few dozen passes. An iteration costs the same.
const slowL2 = 1e-3

// visitSweeps is how many sweeps a visit makes in what is measured, so that figures
// stay comparable whatever the default of learning is.
const visitSweeps = 2

// settings are those of BBPL as it is by default, on the blocks of this network,
// except that every visit makes visitSweeps sweeps, that no gradient is small
// enough to end the run, and that steps are fixed: a Hessian of all weights together would fall
// into some of what is timed, and make it three to five times as long.
func (n *speedNetwork) settings() learn.Settings {
	return learn.Settings{
		Step:              fixedStep(),
		InnerSweeps:       visitSweeps,
		Method:            learn.BBPL,
		Together:          n.together,
		Assign:            func(*crf.Instance) ([]int32, int, error) { return n.part.Of, len(n.part.Blocks), nil },
		InnerTolerance:    math.SmallestNonzeroFloat64,
		GradientTolerance: math.SmallestNonzeroFloat64,
	}
}

// fixedStep is so short that no run diverges.
func fixedStep() learn.StepRule {
	rule, err := learn.ParseStep("fixed:0.05")
	if err != nil {
		panic(err)
	}
	return rule
}
