package study

import (
	"math"
	"math/rand/v2"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/gibbs"
	"github.com/blockbp/blockbp/internal/synthetic"
)

// countingSet is a kind of data for the study of counting numbers. side is that of its
// grids, whose number of nodes other graphs have as well.
type countingSet struct {
	name string
	// trees: all graphs are forests, on which trw and bethe are the same.
	trees bool
	draw  func(side int, rng *rand.Rand) (heldOut, error)
}

// heldOut are instances to learn from and others, of the same source, to predict.
type heldOut struct {
	schema      crf.Schema
	learn, test []*crf.Instance
}

// How many instances a set has. Few are learnt from: the numbers differ most there.
const learnt, tested = 4, 6

// countingSets are patterns that no pairwise model draws, samples of known models, and
// graphs whose neighbours are alike.
func countingSets() []countingSet {
	return []countingSet{
		{"stripes, noise 0.6", false, stripes(0.6)}, {"stripes, noise 1", false, stripes(1)}, {"stripes, noise 2", false, stripes(2)},
		{"chains", true, chains},
		{"Ising, weak", false, potts(2, 0.3)}, {"Ising, middle", false, potts(2, 0.7)}, {"Ising, strong", false, potts(2, 1.2)},
		{"Potts, 4 states", false, potts(4, 0.9)},
		{"grids", false, generated("grid")}, {"BA graphs", false, generated("ba")}, {"trees", true, generated("tree")},
		{"communities, clear", false, communities(0.9)}, {"communities, mixed", false, communities(0.7)},
	}
}

// several draws the instances of a set of one schema: noisy signs of the label as node
// features, and a constant as that of edges.
func several(states int, rng *rand.Rand, noise float64, one func() (*graph.Graph, []int32, error)) (h heldOut, err error) {
	h.schema = crf.Homogeneous(crf.NumberedStates(states), states+1, 1)
	for i := range learnt + tested {
		g, labels, err := one()
		if err != nil {
			return h, err
		}
		features := make([]float64, 0, len(labels)*(states+1))
		for _, y := range labels {
			for j := range states {
				x := noise * rng.NormFloat64()
				if int(y) == j {
					x++
				}
				features = append(features, x)
			}
			features = append(features, 1)
		}
		if err := h.add(i < learnt, g, labels, features); err != nil {
			return h, err
		}
	}
	return h, nil
}

// add makes an instance of node features, with a constant as the feature of edges.
func (h *heldOut) add(toLearn bool, g *graph.Graph, labels []int32, features []float64) error {
	nodes, err := crf.Dense(features, h.schema.NodeTypes[0].Features)
	if err != nil {
		return err
	}
	ones := make([]float64, g.NumEdges())
	for e := range ones {
		ones[e] = 1
	}
	edges, err := crf.Dense(ones, 1)
	if err != nil {
		return err
	}
	in, err := crf.NewInstance(&h.schema, crf.InstanceSpec{Graph: g, NodeFeat: []crf.Features{nodes}, EdgeFeat: []crf.Features{edges}, Labels: [][]int32{labels}})
	if toLearn {
		h.learn = append(h.learn, in)
	} else {
		h.test = append(h.test, in)
	}
	return err
}

// stripes are pictures of stripes of any slope and width, under noise.
func stripes(noise float64) func(int, *rand.Rand) (heldOut, error) {
	const states = 4
	return func(side int, rng *rand.Rand) (heldOut, error) {
		return several(states, rng, noise, func() (*graph.Graph, []int32, error) {
			g, err := graph.Grid(side, side, graph.GridOptions{})
			angle, width, phase := math.Pi*rng.Float64(), 2.5+2*rng.Float64(), 100+10*rng.Float64()
			labels := make([]int32, side*side)
			for s := range labels {
				place := math.Cos(angle)*float64(s/side) + math.Sin(angle)*float64(s%side)
				labels[s] = int32(place/width+phase) % states
			}
			return g, labels, err
		})
	}
}

// chains are Markov chains that mostly go on to the next state.
func chains(side int, rng *rand.Rand) (heldOut, error) {
	const states, onwards, noise = 5, 0.6, 1
	return several(states, rng, noise, func() (*graph.Graph, []int32, error) {
		g, err := gen.Chain(side * side)
		labels := make([]int32, side*side)
		for s := range labels {
			labels[s] = int32(rng.IntN(states))
			if s > 0 && rng.Float64() < onwards {
				labels[s] = (labels[s-1] + 1) % states
			}
		}
		return g, labels, err
	})
}

// drawSweeps are the sweeps of Gibbs sampling for an instance.
const drawSweeps = 200

// potts are samples of a grid whose neighbours gain by being alike, in fields that
// features tell. The transition is at log(1 + √states).
func potts(states int, coupling float64) func(int, *rand.Rand) (heldOut, error) {
	const features, field = 3, 0.5
	return func(side int, rng *rand.Rand) (h heldOut, err error) {
		h.schema = crf.Homogeneous(crf.NumberedStates(states), features, 1)
		weights := make([]float64, features*states)
		synthetic.Gaussian(weights, rng, field)
		for i := range learnt + tested {
			g, err := graph.Grid(side, side, graph.GridOptions{})
			if err != nil {
				return h, err
			}
			x := make([]float64, side*side*features)
			synthetic.Gaussian(x, rng, 1)
			if err := h.add(i < learnt, g, drawPotts(g, x, weights, states, coupling, rng), x); err != nil {
				return h, err
			}
		}
		return h, nil
	}
}

// drawPotts draws labels from a random start; x are the features of the nodes, and
// weights [features, states].
func drawPotts(g *graph.Graph, x, weights []float64, states int, coupling float64, rng *rand.Rand) []int32 {
	labels, score := make([]int32, g.NumNodes()), make([]float64, states)
	features := len(weights) / states
	for s := range labels {
		labels[s] = int32(rng.IntN(states))
	}
	for range drawSweeps {
		for s := range labels {
			clear(score)
			for j, f := range x[s*features:][:features] {
				for i := range score {
					score[i] += f * weights[j*states+i]
				}
			}
			for _, d := range g.Incoming(int32(s)) {
				score[labels[g.Source(d)]] += coupling
			}
			labels[s] = gibbs.Draw(score, rng)
		}
	}
	return labels
}

// generated are samples of models with random weights, features of edges included.
func generated(kind string) func(int, *rand.Rand) (heldOut, error) {
	return func(side int, rng *rand.Rand) (h heldOut, err error) {
		g, err := synthetic.Generate(synthetic.Synthetic{
			Graph:  synthetic.GraphSpec{Kind: kind, Rows: side, Cols: side, Nodes: side * side, Attach: 2},
			States: 4, NodeFeatures: 4, EdgeFeatures: 3, WeightScale: 0.5, Samples: 1, Instances: learnt + tested, Seed: rng.Uint64(),
		}, 1)
		if err != nil {
			return h, err
		}
		return heldOut{g.Truth.Schema, g.Instances[:learnt], g.Instances[learnt:]}, nil
	}
}

// communities are graphs whose nodes mostly have neighbours of their own kind, that share,
// and features that hardly tell the kinds apart.
func communities(share float64) func(int, *rand.Rand) (heldOut, error) {
	const states, degree, noise = 3, 4, 1.5
	return func(side int, rng *rand.Rand) (heldOut, error) {
		return several(states, rng, noise, func() (*graph.Graph, []int32, error) {
			n := side * side
			labels := make([]int32, n)
			for s := range labels {
				labels[s] = int32(rng.IntN(states))
			}
			var u, v []int32
			known := map[[2]int32]bool{}
			for len(u) < n*degree/2 {
				a, b := int32(rng.IntN(n)), int32(rng.IntN(n))
				a, b = min(a, b), max(a, b)
				if alike := labels[a] == labels[b]; a == b || known[[2]int32{a, b}] || alike != (rng.Float64() < share) {
					continue
				}
				known[[2]int32{a, b}] = true
				u, v = append(u, a), append(v, b)
			}
			g, err := graph.FromEdges(n, u, v)
			return g, labels, err
		})
	}
}
