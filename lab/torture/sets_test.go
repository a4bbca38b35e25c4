//go:build linux

package torture

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// data is the path of one of the data sets, good data of every kind that attacks begin with:
//
//	sentences/train, sentences/test, images, graph, ising/spins.npz, net.uai: as
//	blockbp example makes them
//	grid:  two 12 × 12 grids of 3 states, with grid_shape
//	ba:    two scale-free graphs with hidden labels and binned edge features
//	one:   the first of the grids
//	typed: two networks of two types of nodes, with forbidden pairs
func (c *campaign) data(name string) string { return filepath.Join(c.sets, name) }

func (c *campaign) makeData(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for kind, out := range map[string]string{"sentences": "sentences", "images": "images", "graph": "graph",
		"ising": "ising", "network": "net.uai"} {
		if _, err := c.must(dir, "example", kind, "-o", out); err != nil {
			return err
		}
	}
	for name, one := range map[string]func(*rand.Rand) []array{"grid": gridInstance, "ba": scaleFreeInstance,
		"typed": typedInstance} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			return err
		}
		rng := c.source()
		for i := range 2 {
			if err := os.WriteFile(filepath.Join(dir, name, fmt.Sprintf("%d.npz", i)), npz(one(rng)...), 0o644); err != nil {
				return err
			}
		}
	}
	one := filepath.Join(dir, "one")
	if err := os.CopyFS(one, os.DirFS(filepath.Join(dir, "grid"))); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(one, "1.npz")); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "typed", "dataset.json"), []byte(typedNames), 0o644)
}

// source is what the networks of a data set are drawn from.
func (c *campaign) source() *rand.Rand { return rand.New(rand.NewPCG(c.seed, 0)) }

// typedNames is the dataset.json of the typed networks.
const typedNames = `{"node_types": [{"name": "pixel", "states": ["sky", "tree", "sea"], "features": ["height", "bias"]},
                {"name": "region", "states": ["in", "out"], "features": ["size", "none"]}],
 "edge_types": ["next", {"name": "part of", "u": "pixel", "v": "region"}], "forbidden_pairs": [["sky", "out"]]}
`

// features are n·d random features, the last of each row 1.
func features(rng *rand.Rand, n, d int) []float64 {
	x := make([]float64, n*d)
	for i := range x {
		if x[i] = rng.NormFloat64(); i%d == d-1 {
			x[i] = 1
		}
	}
	return x
}

func gridInstance(rng *rand.Rand) []array {
	const rows, cols, states = 12, 12, 3
	var edges []int
	labels := make([]int, rows*cols)
	for i := range labels {
		if labels[i] = rng.IntN(states); i >= cols && rng.IntN(3) > 0 {
			labels[i] = labels[i-cols]
		}
		if i%cols+1 < cols {
			edges = append(edges, i, i+1)
		}
		if i+cols < rows*cols {
			edges = append(edges, i, i+cols)
		}
	}
	labels[0] = states - 1 // every file has all states
	x := features(rng, rows*cols, 3)
	for i, label := range labels {
		x[3*i] += float64(label)
	}
	return []array{
		ints("edges", []int{len(edges) / 2, 2}, edges), floats("node_features", []int{rows * cols, 3}, x),
		ints("labels", []int{rows * cols}, labels), ints("grid_shape", []int{2}, []int{rows, cols}),
	}
}

func scaleFreeInstance(rng *rand.Rand) []array {
	const n, states, bins = 60, 3, 4
	var edges, ends, edgeBins []int
	for v := 1; v < n; v++ {
		other := map[int]bool{}
		for len(other) < min(2, v) {
			u := 0
			if len(ends) > 0 {
				u = ends[rng.IntN(len(ends))]
			}
			if other[u] || u == v {
				u = rng.IntN(v)
			}
			if !other[u] {
				other[u] = true
				edges = append(edges, u, v)
				edgeBins = append(edgeBins, rng.IntN(bins))
			}
		}
		for u := range v {
			if other[u] {
				ends = append(ends, u, v)
			}
		}
	}
	edgeBins[0] = bins - 1
	labels := make([]int, n)
	for i := range labels {
		if labels[i] = rng.IntN(states); rng.IntN(5) == 0 {
			labels[i] = -1
		}
	}
	labels[0] = states - 1
	return []array{
		ints("edges", []int{len(edges) / 2, 2}, edges), floats("node_features", []int{n, 4}, features(rng, n, 4)),
		ints("edge_bins", []int{len(edgeBins)}, edgeBins), ints("labels", []int{n}, labels),
		floats("weight", nil, []float64{1.5}),
	}
}

func typedInstance(rng *rand.Rand) []array {
	const pixels, regions = 24, 4
	var edges, edgeTypes []int
	types, labels := make([]int, pixels+regions), make([]int, pixels+regions)
	for i := range pixels {
		labels[i] = rng.IntN(3)
		if i > 0 {
			edges, edgeTypes = append(edges, i-1, i), append(edgeTypes, 0)
		}
		edges, edgeTypes = append(edges, i, pixels+i*regions/pixels), append(edgeTypes, 1)
	}
	for i := pixels; i < pixels+regions; i++ {
		types[i] = 1 // all in: sky and out may not meet
	}
	return []array{
		ints("edges", []int{len(edges) / 2, 2}, edges), ints("edge_types", []int{len(edgeTypes)}, edgeTypes),
		ints("node_types", []int{len(types)}, types), ints("labels", []int{len(labels)}, labels),
		floats("node_features", []int{pixels + regions, 2}, features(rng, pixels+regions, 2)),
		floats("edge_features", []int{len(edges) / 2, 1}, features(rng, len(edges)/2, 1)),
	}
}

// grey is a picture in PNG format, all of whose pixels are 0 to 2.
func grey(width, height int) []byte {
	picture := image.NewGray(image.Rect(0, 0, width, height))
	for i := range picture.Pix {
		picture.Pix[i] = uint8(i % 3)
	}
	var out bytes.Buffer
	_ = png.Encode(&out, picture) // a buffer takes all that is written to it
	return out.Bytes()
}

// copyPath copies a file or a folder.
func copyPath(from, to string) error {
	if info, err := os.Stat(from); err == nil && info.IsDir() {
		return os.CopyFS(to, os.DirFS(from))
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}
