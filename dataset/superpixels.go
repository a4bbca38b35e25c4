package dataset

import (
	"maps"
	"math"
	"path/filepath"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/formats"
)

// Superpixels are regions that a picture is cut into by other programs, one map for each picture. They are the nodes
// then, and those that touch are joined.

// makeSuperpixels is a line of a shell that makes maps for a picture and all beside it.
func makeSuperpixels(picture string) string {
	return formats.Look(filepath.Join(filepath.Dir(picture), "*.*")).Advise("pictures to cut")
}

// superpixelRecipe says how regions of pictures that touch make features of edges.
type superpixelRecipe struct {
	// Scales are the β of contrasts exp(−β|Δrgb|²) of the regions' mean colours of 0 to 255.
	Scales []float64 `json:"scales"`
}

// regions are the superpixels of a picture.
type regions struct {
	of      []int32   // [pixels] the region of each, row by row, numbered by their first pixels
	size    []int     // [regions] pixels
	lengths []int     // [edges] sides of pixels that the two regions share
	colours []float64 // [regions × 3] means of those of the pixels
}

// newRegions makes a region of the pixels that have one number.
func newRegions(numbers []int32) *regions {
	r, number := &regions{of: make([]int32, len(numbers))}, map[int32]int32{}
	for s, x := range numbers {
		k, known := number[x]
		if !known {
			k = int32(len(r.size))
			number[x], r.size = k, append(r.size, 0)
		}
		r.of[s] = k
		r.size[k]++
	}
	return r
}

// joinRegions joins regions that have pixels that are joined, in the order of their numbers, the smaller first. The
// colours of pixels are needed no longer.
func (d *imageData) joinRegions() (err error) {
	r, length := d.regions, map[[2]int32]int{}
	first, second := d.graph.Ends()
	for e := range first {
		if a, b := r.of[first[e]], r.of[second[e]]; a != b {
			length[[2]int32{min(a, b), max(a, b)}]++
		}
	}
	var u, v []int32
	for _, ends := range slices.SortedFunc(maps.Keys(length), comparePairs) {
		u, v, r.lengths = append(u, ends[0]), append(v, ends[1]), append(r.lengths, length[ends])
	}
	r.colours = r.means(3, func(dst []float64, pixel int) {
		for c := range dst {
			dst[c] = float64(d.colours[3*pixel+c])
		}
	})
	d.colours = nil
	d.graph, err = graph.FromEdges(len(r.size), u, v)
	return err
}

// features returns those of the edges of regions.
func (r *superpixelRecipe) features(d *imageData, dim int) (crf.Features, error) {
	var values []float64
	for e, length := range d.regions.lengths {
		values = append(append(values, contrastsOf(r.Scales, d.difference(int32(e)))...), math.Log(float64(length)))
	}
	if len(values) == 0 {
		return crf.Constant(0, dim), nil
	}
	return crf.Dense(values, dim)
}

// means returns the means over the regions of numbers of pixels, which row writes.
func (r *regions) means(dim int, row func(dst []float64, pixel int)) []float64 {
	sums, pixel := make([]float64, len(r.size)*dim), make([]float64, dim)
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

// majority returns the label that most known pixels of each region have, of two the smaller, or −1.
func (r *regions) majority(labels []int32, states int) []int32 {
	counts, of := make([]int, len(r.size)*states), make([]int32, len(r.size))
	for s, y := range labels {
		if y >= 0 {
			counts[int(r.of[s])*states+int(y)]++
		}
	}
	for k := range of {
		count := counts[k*states:][:states]
		if of[k] = crf.Unobserved; slices.Max(count) > 0 {
			of[k] = int32(slices.Index(count, slices.Max(count)))
		}
	}
	return of
}

// keepRows keeps the regions and labels of pixels, and says how many of them no labels of regions can get right.
func (l *imageLoader) keepRows() {
	known, alike, count := 0, 0, 0
	for i, d := range l.images {
		if d.regions == nil {
			return
		}
		count += len(d.regions.size)
		if l.set.Rows = append(l.set.Rows, d.regions.of); d.labels == nil {
			continue
		}
		l.set.RowLabels = append(l.set.RowLabels, d.labels.numbers)
		of := l.set.Instances[i].Samples()[0]
		for s, y := range d.labels.numbers {
			if y >= 0 {
				if known++; of[d.regions.of[s]] == y {
					alike++
				}
			}
		}
	}
	if known > 0 {
		l.warn("the %d superpixels of %d pictures have the label of most of their pixels: no more than %.2f %% of the known "+
			"pixels can be right", count, len(l.images), 100*float64(alike)/float64(known))
	}
}
