package learn_test

import (
	"context"
	"fmt"
	"log"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/learn"
)

// stripes returns an instance on a 4 × 4 grid whose label is the sign of a noisy feature.
func stripes(schema *crf.Schema) (*crf.Instance, error) {
	g, err := graph.Grid(4, 4, graph.GridOptions{})
	if err != nil {
		return nil, err
	}
	feature := []float64{
		1.0, 0.8, -0.9, -1.1,
		0.7, -0.2, -1.0, -0.8,
		1.2, 0.9, 0.1, -0.9,
		0.9, 1.1, -0.8, -1.0,
	}
	labels := make([]int32, 16)
	for s := range labels {
		if s%4 >= 2 {
			labels[s] = 1
		}
	}
	nodes, err := crf.Dense(feature, 1)
	if err != nil {
		return nil, err
	}
	return crf.NewInstance(schema, crf.InstanceSpec{
		Graph: g, NodeFeat: []crf.Features{nodes}, EdgeFeat: []crf.Features{crf.Constant(g.NumEdges(), 1)}, Labels: [][]int32{labels},
	})
}

// Learn the weights of a small grid by block belief propagation on four blocks.
func Example() {
	model, err := crf.NewModel(crf.Homogeneous([]string{"left", "right"}, 1, 1))
	if err != nil {
		log.Fatal(err)
	}
	in, err := stripes(&model.Schema)
	if err != nil {
		log.Fatal(err)
	}
	result, err := learn.Fit(context.Background(), learn.Problem{Model: model, Data: []*crf.Instance{in}, L2: 0.5},
		learn.Settings{Method: learn.BBPL, RelativeTolerance: 1e-8})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s, one optimum: %t, objective %.6f\n", result.Status, result.Convex, result.Objective)
	for i, w := range result.Model.Weights {
		fmt.Printf("%-42s %+.4f\n", result.Model.WeightName(i), w)
	}
	// Output:
	// converged, one optimum: true, objective 18.996117
	// node.node[state left, feature 0]           +3.2934
	// node.node[state right, feature 0]          -3.2934
	// edge.edge[states left, left, feature 0]    +0.9929
	// edge.edge[states left, right, feature 0]   -0.2284
	// edge.edge[states right, left, feature 0]   -1.7387
	// edge.edge[states right, right, feature 0]  +0.9742
}

// momentum is gradient descent with a memory of the directions before: v ← βv + g and θ ← θ − αv/n, where n is the
// mean number of variables of a sample.
type momentum struct {
	Alpha, Beta float64
	velocity    []float64 // one per weight
	scale       float64
}

func (m *momentum) String() string { return fmt.Sprintf("momentum:%v", m.Alpha) }

// Start forgets any run before.
func (m *momentum) Start(p learn.StepProblem) error {
	m.scale, m.velocity = m.Alpha/p.Variables, make([]float64, p.Model.Layout.Size)
	return nil
}

// Step moves theta in place. It must not change the gradient, part of which is from earlier weights.
func (m *momentum) Step(theta, gradient []float64) float64 {
	for i, g := range gradient {
		m.velocity[i] = m.Beta*m.velocity[i] + g
		theta[i] -= m.scale * m.velocity[i]
	}
	return m.Alpha
}

// State is what a checkpoint has to keep: all fields.
func (m *momentum) State() any { return m }

// Guarded is false: the rule does not take bad steps back by itself.
func (m *momentum) Guarded() bool { return false }

// A step rule of one's own. It claims nothing: package learn checks convergence itself. To offer it in the command,
// add its name to ParseStep, and the rule to the tests that run all of them twice and on several threads.
func ExampleStepRule() {
	model, err := crf.NewModel(crf.Homogeneous(crf.NumberedStates(2), 1, 1))
	if err != nil {
		log.Fatal(err)
	}
	in, err := stripes(&model.Schema)
	if err != nil {
		log.Fatal(err)
	}
	problem := learn.Problem{Model: model, Data: []*crf.Instance{in}, L2: 0.5}
	for _, rule := range []learn.StepRule{&momentum{Alpha: 0.1, Beta: 0.9}, nil} {
		result, err := learn.Fit(context.Background(), problem, learn.Settings{Step: rule, RelativeTolerance: 1e-8})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s, objective %.6f\n", result.Status, result.Objective)
	}
	// Output:
	// converged, objective 18.996117
	// converged, objective 18.996117
}
