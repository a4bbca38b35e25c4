package synthetic

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gibbs"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/parallel"
)

// Synthetic describes a problem of the paper (docs/explanation/equations.md, section 9).
// Zero fields take the defaults noted.
type Synthetic struct {
	// Graph is shared by all instances; Rows and Cols are those of a grid.
	Graph      *graph.Graph
	Rows, Cols int
	// States of every variable; 8.
	States int
	// NodeFeatures and EdgeFeatures are the lengths of the feature vectors, all entries N(0,1); 20 and 10.
	NodeFeatures, EdgeFeatures int
	// Samples drawn per instance, which share its features, 65536 at most; 20.
	Samples int
	// Instances with features of their own; 1.
	Instances int
	// WeightScale is the standard deviation of the true weights; 1.
	WeightScale float64
	// Sweeps of Gibbs sampling before a sample is taken, from a random start of its own; 100.
	Sweeps int
	Seed   uint64
}

// Grid describes the paper's problem on a grid.
func Grid(rows, cols int, seed uint64) Synthetic {
	g := instances.Must(graph.Grid(rows, cols, graph.GridOptions{}))
	return Synthetic{Graph: g, Rows: rows, Cols: cols, Seed: seed}
}

// withDefaults resolves zero fields.
func (s Synthetic) withDefaults() Synthetic {
	s.States = cmp.Or(s.States, 8)
	s.NodeFeatures, s.EdgeFeatures = cmp.Or(s.NodeFeatures, 20), cmp.Or(s.EdgeFeatures, 10)
	s.Samples, s.Instances, s.Sweeps = cmp.Or(s.Samples, 20), cmp.Or(s.Instances, 1), cmp.Or(s.Sweeps, 100)
	s.WeightScale = cmp.Or(s.WeightScale, 1)
	return s
}

// Generated is a synthetic problem: the true model and instances drawn from it.
type Generated struct {
	Truth     *crf.Model
	Instances []*crf.Instance
	// Spec is the description with its defaults resolved.
	Spec Synthetic
}

// Stream numbers keep the parts of a problem independent: changing the number of
// samples leaves the graph and the features as they were.
const (
	StreamGraph = iota + 1
	streamWeights
	streamFeatures
	streamSamples
)

// Source is the random source of one part of a problem.
func (s *Synthetic) Source(stream, part uint64) *rand.Rand { return source(s.Seed, stream<<32+part) }

// Generate draws a problem. threads samples are drawn at a time; the result does not depend on threads.
func Generate(s Synthetic, threads int) *Generated {
	s = s.withDefaults()
	schema := crf.Homogeneous(crf.NumberedStates(s.States), s.NodeFeatures, s.EdgeFeatures)
	out := &Generated{Truth: instances.Must(crf.NewModel(schema)), Spec: s}
	gaussian(out.Truth.Weights, s.Source(streamWeights, 0), s.WeightScale)
	for i := range s.Instances {
		out.addInstance(i, threads)
	}
	return out
}

func (o *Generated) addInstance(i, threads int) {
	s := &o.Spec
	rng := s.Source(streamFeatures, uint64(i))
	features := func(rows, columns int) []crf.Features {
		numbers := make([]float64, rows*columns)
		gaussian(numbers, rng, 1)
		return []crf.Features{instances.Must(crf.Dense(numbers, columns))}
	}
	spec := crf.InstanceSpec{Name: fmt.Sprint(i), Graph: s.Graph, Rows: s.Rows, Cols: s.Cols}
	spec.NodeFeat = features(s.Graph.NumNodes(), s.NodeFeatures)
	spec.EdgeFeat = features(s.Graph.NumEdges(), s.EdgeFeatures)
	spec.Labels = o.sample(instances.Must(crf.NewInstance(&o.Truth.Schema, spec)), i, threads)
	o.Instances = append(o.Instances, instances.Must(crf.NewInstance(&o.Truth.Schema, spec)))
}

// sample draws every sample in a chain, and from a random source, of its own.
func (o *Generated) sample(in *crf.Instance, instance, threads int) [][]int32 {
	network, labels := ground.Condition(o.Truth, in), make([][]int32, o.Spec.Samples)
	_ = parallel.Each(context.Background(), len(labels), threads, func(j int) {
		rng := o.Spec.Source(streamSamples, uint64(instance)<<16+uint64(j))
		labels[j] = gibbs.Sample(network, o.Spec.Sweeps, rng)
	})
	return labels
}

func gaussian(x []float64, rng *rand.Rand, scale float64) {
	for i := range x {
		x[i] = scale * rng.NormFloat64()
	}
}

// paperSide is how many rows and columns a grid of the paper's study has.
const paperSide = 50

// fillGrid writes the paper's grid.
func fillGrid(f *folder, seed uint64) { Grid(paperSide, paperSide, seed).fill(f) }

// Write writes a problem into a folder: an .npz for each instance, and the true model.
func (s Synthetic) Write(path string) error {
	f := &folder{path: path}
	s.fill(f)
	return f.err
}

func (s Synthetic) fill(f *folder) {
	o := Generate(s, runtime.GOMAXPROCS(0))
	for _, in := range o.Instances {
		f.npz(in.Name+".npz", &dataset.Arrays{
			Edges:        in.Graph.Pairs(),
			NodeFeatures: &dataset.Matrix{Columns: o.Spec.NodeFeatures, Data: in.NodeFeatures(0).Data().Double},
			EdgeFeatures: &dataset.Matrix{Columns: o.Spec.EdgeFeatures, Data: in.EdgeFeatures(0).Data().Double},
			Labels:       in.Samples(), GridShape: [2]int{in.Rows, in.Cols}, States: []int32{int32(o.Spec.States)},
		})
	}
	recipe := dataset.Recipe{Kind: "npz", NodeForm: "dense", EdgeForm: "dense"}
	f.write("truth.safetensors", func(path string) error {
		return crf.Save(path, o.Truth, map[string]string{"recipe": recipe.String()})
	})
	directed := true
	f.manifest("", dataset.Manifest{States: o.Truth.Schema.NodeTypes[0].States, Directed: &directed})
}
