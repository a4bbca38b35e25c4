package dataset

import (
	"fmt"
	"math"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
)

// superpixelRecipe says how pictures are cut into regions, which are the nodes then. Those that touch are joined.
type superpixelRecipe struct {
	Count int `json:"count"` // of a picture, about
	// Scales are the β of contrasts exp(−β|Δrgb|²) of the regions' mean colours of 0 to 255.
	Scales []float64 `json:"scales"`
}

// mostSuperpixels bounds what an option asks for: pictures have more pixels nowhere.
const mostSuperpixels = mostPixels / leastPixels

// problem says what makes a recipe that was read from a file unusable.
func (r *superpixelRecipe) problem() string {
	if r.Count < 1 || r.Count > mostSuperpixels {
		return fmt.Sprintf("superpixels.count is %d, want 1 to %d", r.Count, mostSuperpixels)
	}
	if n := len(r.Scales); n == 0 || n > mostOffsets {
		return fmt.Sprintf("superpixels has %d scales, want 1 to %d", n, mostOffsets)
	}
	if problem := scalesProblem(r.Scales); problem != "" {
		return "superpixels.scales: " + problem
	}
	return ""
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
	superpixels
	borders    []border
	difference []float64 // [borders] |Δrgb|² of the regions' mean colours
	size       []int     // [regions] pixels
}

// checkSuperpixels refuses pictures with too few pixels.
func (l *imageLoader) checkSuperpixels(count int) {
	for _, d := range l.images {
		if pixels := int(d.image.pixels()); pixels < leastPixels*count {
			l.failAt(d.image.Path, "", "ask for fewer, or leave superpixels out: pixels are the nodes then",
				"it has %d pixels, too few for %d superpixels, of at least %d in the mean", pixels, count, leastPixels)
		}
	}
}

// segment cuts all pictures into regions. The colours are needed no longer.
func (l *imageLoader) segment() {
	r := l.set.Recipe.Superpixels
	if r == nil {
		return
	}
	if l.checkSuperpixels(r.Count); len(l.problems) > 0 {
		return
	}
	l.regions = make([]regions, len(l.images))
	l.each(len(l.images), func(i int) {
		d := l.images[i]
		l.regions[i] = newRegions(d.colours, d.cols, d.rows, r.Count)
		d.colours = nil
	})
	if len(l.problems) > 0 {
		return
	}
	l.set.Rows = make([][]int32, len(l.images))
	for i := range l.regions {
		l.set.Rows[i] = l.regions[i].Of
	}
}

func newRegions(colours []uint8, width, height, count int) regions {
	r := regions{superpixels: cutSuperpixels(colours, width, height, count)}
	r.borders, r.size = r.touching(width), make([]int, r.Count)
	for _, k := range r.Of {
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
			d := mean[3*b.U+c] - mean[3*b.V+c]
			sum += float64(d * d)
		}
		r.difference = append(r.difference, sum)
	}
	return r
}

// newSuperpixelRecipe takes the scales from training data: all sums are in the order of pictures.
func (l *imageLoader) newSuperpixelRecipe(count int) *superpixelRecipe {
	n, sum := 0.0, 0.0
	for i := range l.regions {
		for _, x := range l.regions[i].difference {
			n, sum = n+1, sum+x
		}
	}
	return &superpixelRecipe{Count: count, Scales: scalesFor(sum / n)}
}

// graph joins regions that touch.
func (r *regions) graph() (*graph.Graph, error) {
	u, v := make([]int32, len(r.borders)), make([]int32, len(r.borders))
	for e, b := range r.borders {
		u[e], v[e] = b.U, b.V
	}
	return graph.FromEdges(r.Count, u, v)
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
		values = append(values, math.Log(float64(b.Length)))
	}
	return crf.Dense(values, recipe.dim())
}

// means returns the means over the regions of numbers of pixels, which row writes.
func (r *regions) means(dim int, row func(dst []float64, pixel int)) []float64 {
	sums, pixel := make([]float64, r.Count*dim), make([]float64, dim)
	for s, k := range r.Of {
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
	counts := make([]int, r.Count*states)
	for s, y := range labels {
		if y >= 0 {
			counts[int(r.Of[s])*states+int(y)]++
			known++
		}
	}
	of = make([]int32, r.Count)
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
	d, r := l.images[i], &l.regions[i]
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
	for i, d := range l.images {
		_, n, same := l.regions[i].majority(d.labels.labels, l.numStates())
		known, alike, count = known+n, alike+same, count+l.regions[i].Count
		l.set.RowLabels = append(l.set.RowLabels, d.labels.labels)
	}
	if known == 0 {
		return
	}
	l.warn("the %d superpixels of %d pictures have the label of most of their pixels: %.2f %% of the known pixels have "+
		"another, so that no more than %.2f %% can be right",
		count, len(l.images), 100*float64(known-alike)/float64(known), 100*float64(alike)/float64(known))
}
