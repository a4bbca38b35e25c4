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
	"github.com/blockbp/blockbp/internal/formats"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/upsample"
)

// imageLoader turns an image folder into a set.
type imageLoader struct {
	loader
	images []*imageData
	book   []float64 // of contrasts: the distinct features of edges
}

// loadImages reads an image folder.
func loadImages(ctx context.Context, paths []string, o *Options) (*Set, []error) {
	l, folder := &imageLoader{loader: newLoader(ctx, o)}, paths[0]
	if len(paths) > 1 {
		return nil, []error{option.Wrong("paths", "%d image folders are given, want one", len(paths))}
	}
	l.manifestPath = filepath.Join(folder, ManifestName)
	if l.readManifest(folder, true); len(l.problems) > 0 {
		return nil, l.problems
	}
	if folders := l.findFolders(folder); len(l.problems) == 0 {
		l.read(folders, l.chosen(folder))
	}
	states := func(int) int { return len(l.set.Recipe.States) }
	l.run(l.checkDepths, l.readColours, l.chooseStates, l.keepPalette,
		func() { l.checkNumbers(states, l.numbers...) }, l.checkPixels, l.joinPixels, l.chooseEdges,
		l.askWhatHides, l.freezeAll, l.keepRows)
	return l.result()
}

// read reads the pictures, and what there is beside them.
func (l *imageLoader) read(f imageFolders, pictures []string) {
	l.images = make([]*imageData, len(pictures))
	lists := make([][]error, len(pictures))
	if !l.each(len(pictures), func(i int) { l.images[i], lists[i] = f.read(pictures[i], l.o.Memory) }) {
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
		_, colours := first.cells.(upsample.Values)
		if colours {
			l.warn("there is no folder %s: the features of pixels are their colours",
				filepath.Join(filepath.Dir(l.manifestPath), featuresFolder))
			if i := slices.IndexFunc(l.images, func(d *imageData) bool { return d.image.clear }); i >= 0 {
				path := l.images[i].image.Path
				l.warn("the alpha band of pictures, as of %s, which says how much shows through, is left out: where it tells "+
					"something of the labels, %s", path, option.Text(formats.Look(path).Advise("an alpha band")))
			}
		}
		l.set.Recipe = Recipe{Kind: kindImages, FeatureDim: want, Colours: colours, Bias: !l.o.NoBias,
			Neighbours: cmp.Or(l.o.Neighbours, defaultNeighbours)}
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

// chooseStates names the states: by the colours of labels, the model, the options, dataset.json, or the largest label.
func (l *imageLoader) chooseStates() {
	switch r := &l.set.Recipe; {
	case r.LabelColours:
	case l.o.Schema != nil:
		l.readNames(nil, true)
	default:
		r.States, _ = l.namedStates(0)
		all := l.countLabels()
		if l.readNames(all, len(r.States) > 0); len(r.States) == 0 {
			r.States, r.LabelNames = l.countStates(0, all, "pixels are", "every label of every picture", " or {states}",
				option.Wrong("States", "there are no labels to tell the number of states; name them")),
				slices.Sorted(maps.Keys(l.names))
		}
	}
}

// checkPixels refuses pictures whose pixels take too much memory: their features do not,
// since they stay in their files.
func (l *imageLoader) checkPixels() {
	// A label, the colours, and the bin and the graph of an edge, which pictures of one size share.
	const label, colours, edge = 4, 12, 40
	pixels, each := 0.0, float64(label+colours+edge*l.set.Recipe.Neighbours/2)
	for _, d := range l.images {
		pixels += d.image.pixels()
	}
	l.allow(filepath.Dir(l.images[0].image.Path),
		fmt.Sprintf("%.0f pixels and edges of %d pictures", pixels, len(l.images)), pixels*each, nil)
}

// joinPixels joins the pixels of each picture, or then its regions, and upsamples the features over the pixels.
// Pictures of the same size share one grid.
func (l *imageLoader) joinPixels() {
	grids, failures := map[[2]int]*graph.Graph{}, make([]error, len(l.images))
	for i, d := range l.images {
		m := d.features
		d.pixels = upsample.New(m.cells, upsample.Size{Rows: m.rows, Cols: m.cols}, m.depth,
			upsample.Size{Rows: d.image.Height, Cols: d.image.Width}, l.set.Recipe.Bias)
		size := [2]int{d.image.Height, d.image.Width}
		if grids[size] == nil {
			grids[size], failures[i] = graph.Grid(size[0], size[1], graph.GridOptions{Eight: l.set.Recipe.Neighbours == 8})
		}
		d.graph = grids[size]
	}
	l.each(len(l.images), func(i int) {
		if d := l.images[i]; d.regions != nil && d.graph != nil {
			failures[i] = d.joinRegions()
		}
	})
	for i, err := range failures {
		l.fail(option.OfFile(l.images[i].image.Path, err))
	}
}

// chooseEdges takes the model's bins or scales, or those of the training data, which completes recipe and schema.
func (l *imageLoader) chooseEdges() {
	r := &l.set.Recipe
	if l.o.Schema == nil {
		l.chooseBins()
		names := r.imageEdges()
		l.set.Schema = crf.Homogeneous(r.States, l.images[0].pixels.Dim(), len(names))
		nodes := slices.Clone(l.manifest.NodeFeatures)
		if nodes == nil && r.Colours {
			nodes = []string{"red", "green", "blue"}
		} else if nodes == nil {
			nodes = crf.NumberedStates(r.FeatureDim)
		}
		if r.Bias {
			nodes = append(nodes, biasName)
		}
		l.set.Schema.NodeTypes[0].FeatureNames = nodes
		l.set.Schema.EdgeTypes[0].FeatureNames = names
		// Above and below, right and left are not the same in photographs.
		l.directed = r.Edges != nil // which superpixels have not
		l.completeSchema()
	}
	if r.Edges != nil {
		l.book = r.Edges.book(r.Neighbours)
	}
}

// chooseBins completes the recipe by scales or bins.
func (l *imageLoader) chooseBins() {
	r, wanted := &l.set.Recipe, cmp.Or(l.o.Bins, defaultBins)
	switch {
	case l.o.Superpixels != "":
		r.Superpixels = &superpixelRecipe{Scales: scalesFor(l.meanDifference())}
	case l.o.Edges != edgesBins && l.o.Bins == 0:
		r.Edges = &edgeRecipe{[1]int{1}, [1]contrast{newContrast(l.meanDifference())}}
	default:
		r.BinEdges = binEdges(sampleDistances(l.images), wanted)
		if r.Bins = len(r.BinEdges) + 1; r.Bins < wanted {
			l.warn("the distances of neighbouring pixels' features fill %d bins, not %d: many are equal", r.Bins, wanted)
		}
	}
}

// freezeAll makes the instances.
func (l *imageLoader) freezeAll() {
	specs, failures := make([]crf.InstanceSpec, len(l.images)), make([]error, len(l.images))
	l.each(len(l.images), func(i int) { specs[i], failures[i] = l.spec(l.images[i]) })
	for i, err := range failures {
		switch {
		case err != nil:
			l.fail(option.OfFile(l.images[i].features.path, err))
		case specs[i].Graph != nil: // the context did not end before
			l.freeze(l.images[i].image.Path, specs[i], nil)
		}
	}
}

// spec is the instance of a picture: its pixels or its regions.
func (l *imageLoader) spec(d *imageData) (spec crf.InstanceSpec, err error) {
	r, nodes, edges, labels := &l.set.Recipe, crf.Compute(d.pixels), crf.Features{}, []int32(nil)
	spec = crf.InstanceSpec{Name: d.image.ID, Graph: d.graph, Rows: d.image.Height, Cols: d.image.Width}
	if d.labels != nil {
		labels = d.labels.numbers
	}
	switch {
	case d.regions != nil:
		spec.Rows, spec.Cols = 0, 0
		if nodes, err = crf.Dense(d.regions.means(d.pixels.Dim(), d.pixels.Reader()), d.pixels.Dim()); err != nil {
			return spec, err
		}
		edges, err = r.Superpixels.features(d, r.edgeDim())
		if labels != nil {
			labels = d.regions.majority(labels, len(r.States))
		}
	case r.Edges != nil:
		edges, err = r.Edges.features(d, l.book, r.edgeDim())
	default:
		edges, err = crf.Bins(d.bins(r.BinEdges), r.Bins)
	}
	d.colours = nil
	spec.NodeFeat, spec.EdgeFeat = []crf.Features{nodes}, []crf.Features{edges}
	if labels != nil {
		spec.Labels = [][]int32{labels}
	}
	return spec, err
}
