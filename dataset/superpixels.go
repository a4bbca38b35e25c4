package dataset

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/npy"
)

// Superpixels are regions that a picture is cut into by other programs, one map for each picture. They are the nodes
// then, and those that touch are joined.

// superpixelsFolder has the maps of models that learned from some, unless an option names another.
const superpixelsFolder = "superpixels"

// cutPictures makes them of the pictures of a folder.
const cutPictures = `import glob, numpy, os; from skimage import io, segmentation; ` +
	`os.makedirs("superpixels", exist_ok=True); [io.imsave("superpixels/" + os.path.basename(f).rpartition(".")[0] + ` +
	`".png", segmentation.slic(numpy.atleast_3d(io.imread(f))[..., :3], 600).astype("uint16"), check_contrast=False) ` +
	`for f in glob.glob(%q)]`

// makeSuperpixels is a line of a shell that makes maps for a picture and all beside it.
func makeSuperpixels(picture string) string {
	return "python3 -c " + shellWord(fmt.Sprintf(cutPictures, filepath.Join(filepath.Dir(picture), "*.*")))
}

// superpixelRecipe says how regions of pictures that touch make features of edges.
type superpixelRecipe struct {
	Count int `json:"count,omitempty"` // of a picture, in models that cut it themselves
	// Scales are the β of contrasts exp(−β|Δrgb|²) of the regions' mean colours of 0 to 255.
	Scales []float64 `json:"scales"`
}

// dim returns the number of features of an edge: a constant, contrasts, and the logarithm of the border's length, by
// which the regions' pixels have more or less to do with each other.
func (r *superpixelRecipe) dim() int { return len(r.Scales) + 2 }

// names describes the features of an edge.
func (r *superpixelRecipe) names() []string {
	names := []string{"constant"}
	for _, beta := range r.Scales {
		names = append(names, fmt.Sprintf("exp(−%.3g |Δrgb|²)", beta))
	}
	return append(names, "log length of the border")
}

// regions are the superpixels of a picture.
type regions struct {
	of         []int32 // [pixels] the region of each, row by row, numbered by their first pixels
	count      int
	borders    []border
	difference []float64 // [borders] |Δrgb|² of the regions' mean colours
	size       []int     // [regions] pixels
}

// border is a side that two regions share, by their numbers, the smaller first.
type border struct {
	ends   [2]int32
	length int // in sides of pixels
}

// readSuperpixels reads a map, a picture or an array [h, w], in which pixels of one number or colour are a region.
func (f *imageFiles) readSuperpixels(d *imageData) error {
	remedy := "name the folder of the maps by {superpixels}, leave the picture out of the list, or make the map, as by " +
		makeSuperpixels(f.picture)
	path, data, err := f.firstThere(d, "a map", "map of superpixels", remedy, f.superpixels+".png", f.superpixels+".npy")
	if err != nil {
		return err
	}
	rows, cols, at, err := regionNumbers(path, data, d.allowed)
	if err != nil {
		return err
	}
	if rows != d.rows || cols != d.cols {
		return misfit(path, rows, cols, &d.image, "[h, w]")
	}
	number := map[float64]int32{}
	d.regions.of = make([]int32, rows*cols)
	for s := range d.regions.of {
		x := at(s)
		if x != x {
			return wrong(path, 0, fmt.Sprintf("[%d,%d]", s/cols, s%cols), "", "is NaN, want the number of a region")
		}
		k, known := number[x]
		if !known {
			k = int32(len(number))
			number[x] = k
		}
		d.regions.of[s] = k
	}
	d.regions.count = len(number)
	return nil
}

// regionNumbers returns the size of a map, and what reads the number of a pixel.
func regionNumbers(path string, data []byte, allowed int64) (rows, cols int, at func(s int) float64, err error) {
	if filepath.Ext(path) != ".npy" {
		picture, _, err := decodePicture(path, data, allowed, "map", "save it again as png, or as npy")
		if err != nil {
			return 0, 0, nil, err
		}
		m, err := pixelNumbers(path, picture)
		if err != nil {
			return 0, 0, nil, err
		}
		return m.rows, m.cols, func(s int) float64 { return float64(m.labels[s]) }, nil
	}
	h, raw, err := npy.Open(data)
	if err != nil {
		return 0, 0, nil, arrayError(path, err)
	}
	if len(h.Shape) < 2 || h.Count == 0 || h.Count != h.Shape[0]*h.Shape[1] {
		return 0, 0, nil, wrong(path, 0, "", "", "shape is %s, want [h, w], none of them 0", npy.ShapeText(h.Shape))
	}
	number := h.Number()
	return h.Shape[0], h.Shape[1], func(s int) float64 { return number(raw[h.Size*h.Place(s):]) }, nil
}

// findRegions measures the regions of all pictures. The colours are needed no longer.
func (l *imageLoader) findRegions() {
	if l.set.Recipe.Superpixels == nil {
		return
	}
	l.each(len(l.images), func(i int) {
		d := l.images[i]
		d.regions.measure(d.colours, d.cols)
		d.colours = nil
	})
	l.set.Rows = make([][]int32, len(l.images))
	for i, d := range l.images {
		l.set.Rows[i] = d.regions.of
	}
}

// measure finds sizes, borders and differences of the regions.
func (r *regions) measure(colours []uint8, width int) {
	r.borders, r.size = r.touching(width), make([]int, r.count)
	for _, k := range r.of {
		r.size[k]++
	}
	mean := r.means(3, func(dst []float64, pixel int) {
		for c := range dst {
			dst[c] = float64(colours[4*pixel+c])
		}
	})
	for _, b := range r.borders {
		sum := 0.0
		for c := range int32(3) {
			d := mean[3*b.ends[0]+c] - mean[3*b.ends[1]+c]
			sum += float64(d * d)
		}
		r.difference = append(r.difference, sum)
	}
}

// touching returns the borders of all regions that touch, in the order of their numbers.
func (r *regions) touching(width int) (borders []border) {
	length := map[[2]int32]int{}
	add := func(a, b int32) {
		if a != b {
			length[[2]int32{min(a, b), max(a, b)}]++
		}
	}
	for s, k := range r.of {
		if (s+1)%width > 0 {
			add(k, r.of[s+1])
		}
		if s+width < len(r.of) {
			add(k, r.of[s+width])
		}
	}
	for _, ends := range slices.SortedFunc(maps.Keys(length), comparePairs) {
		borders = append(borders, border{ends, length[ends]})
	}
	return borders
}

// newSuperpixelRecipe takes the scales from training data: all sums are in the order of pictures.
func (l *imageLoader) newSuperpixelRecipe() *superpixelRecipe {
	n, sum := 0.0, 0.0
	for _, d := range l.images {
		for _, x := range d.regions.difference {
			n, sum = n+1, sum+x
		}
	}
	return &superpixelRecipe{Scales: scalesFor(sum / n)}
}

// graph joins regions that touch.
func (r *regions) graph() (*graph.Graph, error) {
	u, v := make([]int32, len(r.borders)), make([]int32, len(r.borders))
	for e, b := range r.borders {
		u[e], v[e] = b.ends[0], b.ends[1]
	}
	return graph.FromEdges(r.count, u, v)
}

// edges returns the features of the edges.
func (r *regions) edges(recipe *superpixelRecipe) (crf.Features, error) {
	if len(r.borders) == 0 {
		return crf.Constant(0, recipe.dim()), nil
	}
	var values []float64
	for e, b := range r.borders {
		values = append(values, 1)
		for _, beta := range recipe.Scales {
			values = append(values, math.Exp(-beta*r.difference[e]))
		}
		values = append(values, math.Log(float64(b.length)))
	}
	return crf.Dense(values, recipe.dim())
}

// means returns the means over the regions of numbers of pixels, which row writes.
func (r *regions) means(dim int, row func(dst []float64, pixel int)) []float64 {
	sums, pixel := make([]float64, r.count*dim), make([]float64, dim)
	for s, k := range r.of {
		row(pixel, s)
		for j, x := range pixel {
			sums[int(k)*dim+j] += x
		}
	}
	for i := range sums {
		sums[i] /= float64(r.size[i/dim])
	}
	return sums
}

// majority returns the label that most known pixels of each region have, of two the
// smaller, or −1; and how many pixels are known, and have it.
func (r *regions) majority(labels []int32, states int) (of []int32, known, alike int) {
	counts := make([]int, r.count*states)
	for s, y := range labels {
		if y >= 0 {
			counts[int(r.of[s])*states+int(y)]++
			known++
		}
	}
	of = make([]int32, r.count)
	for k := range of {
		count := counts[k*states:][:states]
		most := slices.Max(count)
		if of[k] = crf.Unobserved; most > 0 {
			of[k] = int32(slices.Index(count, most))
		}
		alike += most
	}
	return of, known, alike
}

// regionSpec is the instance of a picture's regions.
func (l *imageLoader) regionSpec(i int, row func(dst []float64, pixel int), dim int) (crf.InstanceSpec, error) {
	d := l.images[i]
	r := &d.regions
	g, err := r.graph()
	if err != nil {
		return crf.InstanceSpec{}, err
	}
	nodes, err := crf.Dense(r.means(dim, row), dim)
	if err != nil {
		return crf.InstanceSpec{}, err
	}
	edges, err := r.edges(l.set.Recipe.Superpixels)
	if err != nil {
		return crf.InstanceSpec{}, err
	}
	spec := crf.InstanceSpec{Name: d.image.ID, Graph: g, NodeFeat: []crf.Features{nodes}, EdgeFeat: []crf.Features{edges}}
	if d.labels != nil {
		labels, _, _ := r.majority(d.labels.labels, l.numStates())
		spec.Labels = [][]int32{labels}
	}
	return spec, nil
}

// keepRowLabels keeps the labels of pixels, and says how many of them no labels of regions can get right.
func (l *imageLoader) keepRowLabels() {
	if l.set.Recipe.Superpixels == nil || l.o.NoLabels {
		return
	}
	known, alike, count := 0, 0, 0
	for _, d := range l.images {
		_, n, same := d.regions.majority(d.labels.labels, l.numStates())
		known, alike, count = known+n, alike+same, count+d.regions.count
		l.set.RowLabels = append(l.set.RowLabels, d.labels.labels)
	}
	if known == 0 {
		return
	}
	l.warn("the %d superpixels of %d pictures have the label of most of their pixels: %.2f %% of the known pixels have "+
		"another, so that no more than %.2f %% can be right",
		count, len(l.images), 100*float64(known-alike)/float64(known), 100*float64(alike)/float64(known))
}
