package synthetic

import (
	"fmt"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gibbs"
	"github.com/blockbp/blockbp/internal/ground"
)

const (
	latticeSide    = 10
	spinSamples    = 1000
	spinSweeps     = 50 // Gibbs sweeps before a sample is taken
	couplingMean   = 0.2
	couplingSpread = 0.3
)

// fillIsing writes samples of p(x) ∝ exp Σ_uv J_uv x_u x_v over spins x = ±1 on a periodic lattice: spins.npz with
// label 0 for −1 and 1 for +1, the couplings as couplings.tsv, and the same as weights in truth.safetensors.
func fillIsing(f *folder, seed uint64) {
	var lattice *graph.Graph
	if lattice, f.err = graph.Grid(latticeSide, latticeSide, graph.GridOptions{Torus: true}); f.err != nil {
		return
	}
	rng := source(seed, 0)
	var table strings.Builder
	table.WriteString("#u\tv\tJ\n")
	couplings := make([]float64, lattice.NumEdges())
	for e := range couplings {
		couplings[e] = couplingMean + couplingSpread*rng.NormFloat64()
		fmt.Fprintf(&table, "%d\t%d\t%.6f\n", lattice.U(int32(e)), lattice.V(int32(e)), couplings[e])
	}
	f.text("couplings.tsv", table.String())
	arrays := &dataset.Arrays{Edges: lattice.Pairs(), States: []int32{2}, GridShape: [2]int{latticeSide, latticeSide}}
	f.write("truth.safetensors", func(path string) error {
		// The instance without labels says how the weights of its model are laid out.
		set, err := dataset.FromArrays(dataset.Manifest{}, dataset.Options{Untied: true}, arrays)
		if err != nil {
			return err
		}
		truth, err := crf.NewModel(set.Schema)
		if err != nil {
			return err
		}
		edges := truth.Layout.Edge[0]
		for e, coupling := range couplings {
			copy(truth.Weights[edges.At+e*edges.Copy():], []float64{coupling, -coupling, -coupling, coupling})
		}
		network := ground.Condition(truth, set.Instances[0])
		for i := range spinSamples {
			arrays.Labels = append(arrays.Labels, gibbs.Sample(network, spinSweeps, source(seed, 1+uint64(i))))
		}
		return crf.Save(path, truth, map[string]string{"recipe": set.Recipe.String()})
	})
	f.npz("spins.npz", arrays)
}
