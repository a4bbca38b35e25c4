package dataset

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
)

// imageLoader turns an image folder into a set.
type imageLoader struct {
	loader
	images []*imageData
	pixels []pixelFeatures

	book         []float64 // of contrasts: the distinct features of edges
	ofDifference []uint16  // and their bins of colours
}

// loadImages reads an image folder.
func loadImages(ctx context.Context, folder string, o *Options) (*Set, []error) {
	l := &imageLoader{loader: newLoader(ctx, o)}
	l.manifestPath = filepath.Join(folder, ManifestName)
	if l.readManifest(folder, true); len(l.problems) > 0 {
		return nil, l.problems
	}
	files, sources, list := findImages(folder, o)
	l.set.Sources = append(l.set.Sources, sources...)
	l.problems = list
	l.read(files)
	l.run(l.chooseColourFeatures, l.checkDepths, l.readColours, l.chooseStates, l.keepPalette,
		func() { l.checkNumbers(func(int) int { return l.numStates() }, l.numbers...) }, l.buildPixels,
		l.findRegions, l.chooseEdges, func() { l.askWhatHides() }, l.freezeAll, l.keepRowLabels)
	return l.result()
}

func (l *imageLoader) read(files []imageFiles) {
	l.images = make([]*imageData, len(files))
	lists := make([][]error, len(files))
	if !l.each(len(files), func(i int) { l.images[i], lists[i] = files[i].read(l.o) }) {
		return
	}
	turned, first := 0, ""
	for i, d := range l.images {
		if d.image.turned {
			turned, first = turned+1, cmp.Or(first, d.image.Path)
		}
		l.fail(lists[i]...)
		l.set.Sources = append(l.set.Sources, d.sources...)
		l.set.files = append(l.set.files, d.files...)
		l.set.Images = append(l.set.Images, d.image)
	}
	if turned > 0 {
		l.warn("%d pictures are read as they are stored, which viewers turn, such as %s: where labels or features were made "+
			"as they are shown, %s", turned, first, upright)
	}
}

// chooseColourFeatures takes one number for each pixel where all pictures are grey, and three where they have colours.
func (l *imageLoader) chooseColourFeatures() {
	if !l.images[0].features.isColours() {
		return
	}
	if l.o.Recipe == nil {
		l.warn("there is no folder %s: the features of pixels are their colours",
			filepath.Join(filepath.Dir(l.manifestPath), featuresFolder))
	} else if l.o.Recipe.FeatureDim == 3 {
		return
	}
	grey := make([]bool, len(l.images))
	l.each(len(l.images), func(i int) { grey[i] = l.images[i].features.grey() })
	if at := slices.Index(grey, false); at >= 0 && l.o.Recipe != nil {
		l.failAt(l.images[at].image.Path, "", "make it grey, or learn from pictures in colours",
			"it has colours, and the model learned from grey pictures")
	} else if at < 0 {
		for _, d := range l.images {
			d.features.oneColour()
		}
	}
}

// checkDepths checks that all feature vectors have the same length: the model's, or that of the first picture.
func (l *imageLoader) checkDepths() {
	first := l.images[0].features
	want, where := first.depth, first.path
	if l.o.Recipe != nil {
		want, where = l.o.Recipe.FeatureDim, "the model"
		l.adoptModel()
		if l.o.Recipe.LabelColours { // of which one may have been named so
			l.manifest.States = withoutHidden(l.manifest.States)
		}
		l.compareNames()
	} else {
		l.set.Recipe = Recipe{Kind: KindImages, FeatureDim: want, Colours: first.isColours(), Bias: !l.o.NoBias,
			Neighbours: cmp.Or(l.o.Neighbours, defaultNeighbours)}
		if l.o.Superpixels != "" {
			l.set.Recipe.Superpixels = &superpixelRecipe{}
		} else if l.o.edgesOfImages() == EdgesContrast {
			l.set.Recipe.Edges = &edgeRecipe{}
		}
	}
	for _, d := range l.images {
		if got := d.features.depth; got != want {
			l.failAt(d.features.path, "", "", "it has %d features per pixel, %s has %d", got, where, want)
		}
	}
	if names := l.manifest.NodeFeatures; names != nil && len(names) != want {
		l.failAt(l.manifestPath, "node_features", "", "it names %d features, %s has %d", len(names), where, want)
	}
}

// chooseStates names the states: by the model, the options, dataset.json, or the largest label.
func (l *imageLoader) chooseStates() {
	for _, d := range l.images {
		if m := d.labels; m != nil {
			hides := map[bool]string{true: hiddenNumber, false: fmt.Sprint(voidLabel)}[m.form == labelsText]
			l.numbers = append(l.numbers, numbered{m.labels, func(int) int { return 0 }, m.place, hides})
		}
	}
	switch r := &l.set.Recipe; {
	case r.LabelColours:
	case l.o.Schema != nil:
		l.readNames(nil, true)
	default:
		r.States, _ = l.namedStates(0)
		all := l.countLabels()
		if l.readNames(all, len(r.States) > 0); len(r.States) == 0 {
			r.States, r.LabelNames = l.countStates(0, all, "pixels are", "every label of every picture", " or {states}",
				optionError("States", "there are no labels to tell the number of states; name them")),
				slices.Sorted(maps.Keys(l.names))
		}
	}
}

// numStates returns the number of states of a pixel.
func (l *imageLoader) numStates() int {
	if l.o.Schema != nil {
		return l.set.Schema.NodeStates(0)
	}
	return len(l.set.Recipe.States)
}

// buildPixels stretches the features over the pixels. Pictures of the same size share one grid.
func (l *imageLoader) buildPixels() {
	if l.checkPixels(); len(l.problems) > 0 {
		return
	}
	grids := map[[2]int]*graph.Graph{}
	l.pixels = make([]pixelFeatures, len(l.images))
	r := l.set.Recipe
	for i, d := range l.images {
		size := [2]int{d.image.Height, d.image.Width}
		if grids[size] == nil && r.Superpixels == nil {
			grid, err := graph.Grid(size[0], size[1], graph.GridOptions{Eight: r.Neighbours == 8})
			if err != nil {
				l.fail(ofFile(d.image.Path, err))
				return
			}
			grids[size] = grid
		}
		l.pixels[i] = pixelFeatures{graph: grids[size], features: d.features.over(&d.image, r.Bias)}
	}
}

// checkPixels refuses pictures whose pixels take too much memory: their features do not,
// since they stay in their files.
func (l *imageLoader) checkPixels() {
	// A label, the colours, and the bin and the graph of an edge, which pictures of one size
	// share; and what is mapped from no file.
	const label, colours, edge, fine = 4, 4, 40, 12
	r, total := &l.set.Recipe, 0.0
	edges := edge * float64(numDirections(r.Neighbours))
	largest := l.images[0]
	for _, d := range l.images {
		pixels := d.image.pixels()
		total += pixels * (label + colours + edges)
		if r.Colours {
			total += pixels * fine
		}
		if pixels > largest.image.pixels() {
			largest = d
		}
	}
	l.allow(largest.image.Path, fmt.Sprintf("pixels and edges of %d pictures", len(l.images)), total,
		func() string {
			return fmt.Sprintf("this one, the largest, has %d×%d pixels", largest.image.Width, largest.image.Height)
		})
}

// chooseEdges takes the model's bins or scales, or those of the training data, which completes recipe and schema.
func (l *imageLoader) chooseEdges() {
	r := &l.set.Recipe
	if l.o.Schema == nil {
		names := l.chooseBins()
		l.set.Schema = crf.Homogeneous(r.States, l.pixels[0].features.Dim(), len(names))
		if r.Colours && l.manifest.NodeFeatures == nil {
			l.manifest.NodeFeatures = map[int][]string{1: {"grey"}, 3: {"red", "green", "blue"}}[r.FeatureDim]
		}
		l.set.Schema.NodeTypes[0].FeatureNames = l.featureNames(r.FeatureDim, r.Bias)
		l.set.Schema.EdgeTypes[0].FeatureNames = names
		// Above and below, right and left are not the same in photographs.
		l.directed = r.Edges != nil // which superpixels have not
		l.completeSchema()
	}
	if r.Edges != nil {
		l.book, l.ofDifference = r.Edges.book(r.Neighbours), r.Edges.ofDifference()
	}
}

// chooseBins completes the recipe, and returns the names of the features of an edge.
func (l *imageLoader) chooseBins() (names []string) {
	r := &l.set.Recipe
	if r.Superpixels != nil {
		r.Superpixels = l.newSuperpixelRecipe()
		return r.Superpixels.names()
	}
	if r.Edges != nil {
		parts := make([]edgeSums, len(l.images))
		l.each(len(l.images), func(i int) { parts[i] = l.images[i].pixelEdges.sums(r.Neighbours) })
		if len(l.problems) > 0 {
			return nil
		}
		r.Edges = newEdgeRecipe(parts)
		return r.Edges.names(r.Neighbours)
	}
	wanted := cmp.Or(l.o.Bins, DefaultBins)
	r.BinEdges = binEdges(sampleDistances(l.pixels), wanted)
	r.Bins = len(r.BinEdges) + 1
	if r.Bins < wanted {
		l.warn("the distances of neighbouring pixels' features fill %d bins, not %d: many are equal", r.Bins, wanted)
	}
	return binNames(r.BinEdges)
}

// binNames describes the bins of the distance.
func binNames(edges []float64) []string {
	if len(edges) == 0 {
		return []string{"any distance"}
	}
	names := []string{fmt.Sprintf("distance < %.4g", edges[0])}
	for i := 1; i < len(edges); i++ {
		names = append(names, fmt.Sprintf("%.4g ≤ distance < %.4g", edges[i-1], edges[i]))
	}
	return append(names, fmt.Sprintf("distance ≥ %.4g", edges[len(edges)-1]))
}

// freezeAll makes the instances.
func (l *imageLoader) freezeAll() {
	specs, failures := make([]crf.InstanceSpec, len(l.images)), make([]error, len(l.images))
	l.each(len(l.images), func(i int) { specs[i], failures[i] = l.spec(i) })
	for i, err := range failures {
		switch {
		case err != nil:
			l.fail(ofFile(l.images[i].features.path, err))
		case specs[i].Graph != nil: // the context did not end before
			l.freeze(l.images[i].image.Path, specs[i], nil)
		}
	}
}

func (l *imageLoader) spec(i int) (crf.InstanceSpec, error) {
	d, p := l.images[i], &l.pixels[i]
	if l.set.Recipe.Superpixels != nil {
		return l.regionSpec(i, p.features.Reader(), p.features.Dim())
	}
	var edges crf.Features
	var err error
	if r := &l.set.Recipe; r.Edges != nil {
		edges, err = r.Edges.features(&d.pixelEdges, p.graph.NumEdges(), r.Neighbours, l.book, l.ofDifference)
		d.pixelEdges = pixelEdges{}
	} else {
		edges, err = crf.Bins(p.bins(r.BinEdges), r.Bins)
	}
	if err != nil {
		return crf.InstanceSpec{}, err
	}
	spec := crf.InstanceSpec{
		Name: d.image.ID, Graph: p.graph, Rows: d.image.Height, Cols: d.image.Width,
		NodeFeat: []crf.Features{crf.Compute(p.features)}, EdgeFeat: []crf.Features{edges},
	}
	if d.labels != nil {
		spec.Labels = [][]int32{d.labels.labels}
	}
	return spec, nil
}
