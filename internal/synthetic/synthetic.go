package synthetic

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/gibbs"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/parallel"
)

// Synthetic describes a problem of the paper (docs/explanation/equations.md, section 9).
// Zero fields take the defaults noted.
type Synthetic struct {
	// Graph is shared by all instances.
	Graph GraphSpec
	// States of every variable; 8.
	States int
	// NodeFeatures and EdgeFeatures are the lengths of the feature vectors, all entries N(0,1); 20 and 10.
	NodeFeatures, EdgeFeatures int
	// Samples drawn per instance, which share its features; 20.
	Samples int
	// Instances with features of their own; 1.
	Instances int
	// WeightScale is the standard deviation of the true weights; 1.
	WeightScale float64
	// Sweeps of Gibbs sampling before a sample is taken, from a random start of its own; 100.
	Sweeps int
	Seed   uint64
}

// GraphSpec names a graph generator and its sizes.
type GraphSpec struct {
	Kind       string // grid, chain or ba
	Rows, Cols int    // grid
	Nodes      int    // the others
	Attach     int    // ba: edges from each new node; 2 in a Synthetic
}

// withDefaults resolves zero fields.
func (s Synthetic) withDefaults() Synthetic {
	s.States = cmp.Or(s.States, 8)
	s.NodeFeatures, s.EdgeFeatures = cmp.Or(s.NodeFeatures, 20), cmp.Or(s.EdgeFeatures, 10)
	s.Samples, s.Instances, s.Sweeps = cmp.Or(s.Samples, 20), cmp.Or(s.Instances, 1), cmp.Or(s.Sweeps, 100)
	s.Graph.Attach, s.WeightScale = cmp.Or(s.Graph.Attach, 2), cmp.Or(s.WeightScale, 1)
	return s
}

// Build makes the graph; rng is used by random graphs only.
func (g GraphSpec) Build(rng *rand.Rand) (*graph.Graph, error) {
	switch g.Kind {
	case "grid":
		return graph.Grid(g.Rows, g.Cols, graph.GridOptions{})
	case "chain":
		return gen.Chain(g.Nodes)
	case "ba":
		return gen.BarabasiAlbert(g.Nodes, g.Attach, rng)
	}
	return nil, fmt.Errorf("graph %q: want grid, chain or ba", g.Kind)
}

// Generated is a synthetic problem: the true model and instances drawn from it.
type Generated struct {
	Truth     *crf.Model
	Instances []*crf.Instance
	// NodeFeatures [instances][nodes*features] and EdgeFeatures
	// [instances][edges*features] are the raw numbers, for writing files.
	NodeFeatures, EdgeFeatures [][]float64
	// Spec is the description with its defaults resolved.
	Spec Synthetic
}

// stream numbers keep the parts of a problem independent: changing the number of
// samples leaves the graph and the features as they were.
const (
	StreamGraph = iota + 1
	StreamWeights
	StreamFeatures
	StreamSamples
)

// mostParts bounds instances, and samples of each, so that every sample has a random source of its own.
const mostParts = 1 << 16

func (s *Synthetic) Source(stream, part uint64) *rand.Rand {
	return rand.New(rand.NewPCG(s.Seed, stream<<32+part))
}

// validate quotes the first constraint that a description, with its defaults
// resolved, violates. Sizes of the graph are the generators' to check.
func (s *Synthetic) validate() error {
	for _, field := range []struct {
		name           string
		value, largest int
	}{
		{"States", s.States, math.MaxInt32},
		{"NodeFeatures", s.NodeFeatures, math.MaxInt32},
		{"EdgeFeatures", s.EdgeFeatures, math.MaxInt32},
		{"Samples", s.Samples, mostParts},
		{"Instances", s.Instances, mostParts},
		{"Sweeps", s.Sweeps, math.MaxInt},
	} {
		if field.value < 1 || field.value > field.largest {
			return fmt.Errorf("synthetic: violated constraint: 1 ≤ %s ≤ %d, got %d", field.name, field.largest, field.value)
		}
	}
	if !(s.WeightScale > 0) || math.IsInf(s.WeightScale, 0) {
		return fmt.Errorf("synthetic: violated constraint: 0 < WeightScale < ∞, got %v", s.WeightScale)
	}
	return nil
}

// bytes returns about how much memory Generate takes: features and labels of all
// instances, the graph, and the tables of the model given one of them.
func (s *Synthetic) bytes(threads int) float64 {
	const number, label, node, edge = 8, 4, 50, 60
	nodes := max(float64(s.Graph.Nodes), float64(s.Graph.Rows)*float64(s.Graph.Cols))
	edges := nodes * map[string]float64{"grid": 2, "chain": 1, "ba": float64(s.Graph.Attach)}[s.Graph.Kind]
	states, instances := float64(s.States), float64(s.Instances)
	weights := states * (float64(s.NodeFeatures) + states*float64(s.EdgeFeatures))
	features := nodes*float64(s.NodeFeatures) + edges*float64(s.EdgeFeatures)
	return instances*(number*features+label*nodes*float64(s.Samples)) +
		number*(weights+edges*states*states+nodes*states*float64(1+threads)) + node*nodes + edge*edges
}

// Generate draws a problem. threads samples are drawn at a time; the result does not depend on threads.
func Generate(s Synthetic, threads int) (*Generated, error) {
	s = s.withDefaults()
	if err := s.validate(); err != nil {
		return nil, err
	}
	if err := memory.Check("making these data", s.bytes(threads), 0); err != nil {
		return nil, fmt.Errorf("synthetic: %w", err)
	}
	g, err := s.Graph.Build(s.Source(StreamGraph, 0))
	if err != nil {
		return nil, err
	}
	truth, err := crf.NewModel(crf.Homogeneous(crf.NumberedStates(s.States), s.NodeFeatures, s.EdgeFeatures))
	if err != nil {
		return nil, err
	}
	Gaussian(truth.Weights, s.Source(StreamWeights, 0), s.WeightScale)
	out := &Generated{Truth: truth, Spec: s}
	for i := range s.Instances {
		if err := out.addInstance(g, i, threads); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (o *Generated) addInstance(g *graph.Graph, i, threads int) error {
	s := &o.Spec
	rng := s.Source(StreamFeatures, uint64(i))
	node := make([]float64, g.NumNodes()*s.NodeFeatures)
	edge := make([]float64, g.NumEdges()*s.EdgeFeatures)
	Gaussian(node, rng, 1)
	Gaussian(edge, rng, 1)
	nodeFeatures, err := crf.Dense(node, s.NodeFeatures)
	if err != nil {
		return err
	}
	edgeFeatures, err := crf.Dense(edge, s.EdgeFeatures)
	if err != nil {
		return err
	}
	spec := crf.InstanceSpec{Name: fmt.Sprint(i), Graph: g, NodeFeat: []crf.Features{nodeFeatures},
		EdgeFeat: []crf.Features{edgeFeatures}}
	if s.Graph.Kind == "grid" {
		spec.Rows, spec.Cols = s.Graph.Rows, s.Graph.Cols
	}
	in, err := crf.NewInstance(&o.Truth.Schema, spec)
	if err != nil {
		return err
	}
	spec.Labels = o.sample(in, i, threads)
	if in, err = crf.NewInstance(&o.Truth.Schema, spec); err != nil {
		return err
	}
	o.Instances = append(o.Instances, in)
	o.NodeFeatures = append(o.NodeFeatures, node)
	o.EdgeFeatures = append(o.EdgeFeatures, edge)
	return nil
}

// sample draws every sample in a chain, and from a random source, of its own.
func (o *Generated) sample(in *crf.Instance, instance, threads int) [][]int32 {
	network := ground.Condition(o.Truth, in)
	labels := make([][]int32, o.Spec.Samples)
	_ = parallel.Each(context.Background(), len(labels), threads, func(j int) {
		rng := o.Spec.Source(StreamSamples, uint64(instance)<<16+uint64(j))
		labels[j] = gibbs.Sample(network, o.Spec.Sweeps, rng)
	})
	return labels
}

func Gaussian(x []float64, rng *rand.Rand, scale float64) {
	for i := range x {
		x[i] = scale * rng.NormFloat64()
	}
}
