package study

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/synthetic"
)

// Kinds of features, as real ones may be. They are linear maps of independent N(0, 1) features, so that the model that
// drew the labels is among those that can be learned.
const (
	Plain      = ""           // independent N(0, 1)
	Scaled     = "scaled"     // scales from 10⁻³ to 10³
	Correlated = "correlated" // every pair correlated 0.95
	IllScaled  = "both"       // correlated, then scaled
)

const (
	// correlation of every pair of correlated features.
	correlation = 0.95
	// scaleDecades: the scales of scaled features are spread evenly, in random order,
	// from 10^−scaleDecades to 10^scaleDecades.
	scaleDecades = 3
)

// illConditioned reports whether the features make the objective ill-conditioned.
func (p Problem) illConditioned() bool { return p.Features != Plain }

// transform maps rows of independent features x[row*dim+column] to features of the problem's kind, in place.
func (p Problem) transform(x []float64, dim int, rng *rand.Rand) error {
	if !slices.Contains([]string{Scaled, Correlated, IllScaled}, p.Features) {
		return fmt.Errorf("study: features %q: want %q, %q or %q", p.Features, Scaled, Correlated, IllScaled)
	}
	if p.Features != Scaled {
		correlate(x, dim)
	}
	if p.Features != Correlated {
		rescale(x, dim, rng)
	}
	return nil
}

// correlate replaces each row by S x, S being the symmetric root of the matrix with ones on, and the correlation off
// the diagonal: its eigenvalues are 1 − r, and 1 + (d−1) r for the direction in which all entries are equal.
func correlate(x []float64, dim int) {
	own := math.Sqrt(1 - correlation)
	common := math.Sqrt(1+float64(dim-1)*correlation) - own
	for row := range slices.Chunk(x, dim) {
		mean := 0.0
		for _, v := range row {
			mean += v / float64(dim)
		}
		for j, v := range row {
			row[j] = own*v + common*mean
		}
	}
}

// rescale multiplies each column by its scale.
func rescale(x []float64, dim int, rng *rand.Rand) {
	scales := make([]float64, dim)
	for j, place := range rng.Perm(dim) {
		scales[j] = math.Pow(10, scaleDecades*(2*float64(place)/math.Max(1, float64(dim-1))-1))
	}
	for i := range x {
		x[i] *= scales[i%dim]
	}
}

// streamScales keeps the random order of scales apart from everything else that is drawn from a problem's seed.
const streamScales = 100

// conditioned returns the generated instance with the same labels and features of the problem's kind.
func (p Problem) conditioned(g *synthetic.Generated) (*crf.Instance, error) {
	rng := rand.New(rand.NewPCG(p.Seed, streamScales))
	spec := withoutFeatures(g)
	for _, part := range []struct {
		x    []float64
		dim  int
		into *[]crf.Features
	}{
		{g.Instances[0].NodeFeatures(0).Data().Double, g.Spec.NodeFeatures, &spec.NodeFeat},
		{g.Instances[0].EdgeFeatures(0).Data().Double, g.Spec.EdgeFeatures, &spec.EdgeFeat},
	} {
		if err := p.transform(part.x, part.dim, rng); err != nil {
			return nil, err
		}
		f, err := crf.Dense(part.x, part.dim)
		if err != nil {
			return nil, err
		}
		*part.into = append(*part.into, f)
	}
	return crf.NewInstance(&g.Truth.Schema, spec)
}

// withoutFeatures is the generated instance with its labels alone.
func withoutFeatures(g *synthetic.Generated) crf.InstanceSpec {
	plain := g.Instances[0]
	return crf.InstanceSpec{
		Name: plain.Name, Graph: plain.Graph, Labels: plain.Samples(), Rows: plain.Rows, Cols: plain.Cols,
	}
}

// untied returns the generated labels under a model without features, in which every
// node and edge has weights of its own: the paper's non-templated network.
func (p Problem) untied(g *synthetic.Generated) (*crf.Model, *crf.Instance, error) {
	spec := withoutFeatures(g)
	model, err := untiedModel(&spec, g.Truth.Schema.NodeTypes[0].States)
	if err != nil {
		return nil, nil, err
	}
	in, err := crf.NewInstance(&model.Schema, spec)
	return model, in, err
}

// untiedModel returns the model of a graph's nodes and edges with weights of their own,
// and gives the instance its constant features.
func untiedModel(spec *crf.InstanceSpec, states []string) (*crf.Model, error) {
	nodes, edges := spec.Graph.NumNodes(), spec.Graph.NumEdges()
	schema := crf.Homogeneous(states, 1, 1)
	schema.NodeTypes[0].Copies, schema.EdgeTypes[0].Copies = nodes, edges
	spec.NodeFeat, spec.EdgeFeat = []crf.Features{crf.Constant(nodes, 1)}, []crf.Features{crf.Constant(edges, 1)}
	return crf.NewModel(schema)
}
