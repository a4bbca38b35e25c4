package synthetic

import (
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"math/rand/v2"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/npy"
)

const (
	trainPictures, testPictures = 8, 4
	longSide, shortSide         = 64, 48 // pixels
	// featureCell is the side, in pixels, of the square that one feature vector
	// describes: the features see the picture blurred.
	featureCell = 2
	// featureNoise is the standard deviation of what is added to colours from 0 to 1.
	featureNoise = 0.5
)

// The states of pixels.
const (
	sky = iota
	grass
	tree
	post
)

var (
	landscapeStates = []string{"sky", "grass", "tree", "post"}
	// landscapeColours are red, green and blue from 0 to 1.
	landscapeColours = [][3]float64{{0.5, 0.7, 0.95}, {0.5, 0.75, 0.25}, {0.1, 0.4, 0.15}, {0.7, 0.25, 0.15}}
)

// fillImages writes an image folder: every third picture is upright.
func fillImages(f *folder, seed uint64) {
	lists := map[string]string{}
	for i := range trainPictures + testPictures {
		rng := source(seed, uint64(i))
		rows, columns := shortSide, longSide
		if i%3 == 2 {
			rows, columns = columns, rows
		}
		picture := drawLandscape(rows, columns, rng)
		photograph := picture.photograph(rng)
		f.file(fmt.Sprintf("images/%d.jpg", i), func(w io.Writer) error {
			return jpeg.Encode(w, photograph, &jpeg.Options{Quality: 90})
		})
		f.text(fmt.Sprintf("labels/%d.regions.txt", i), picture.regions())
		shape, features := picture.features(rng)
		f.file(fmt.Sprintf("features/%d.npy", i), func(w io.Writer) error { return npy.Write(w, shape, features) })
		list := "train.txt"
		if i >= trainPictures {
			list = "test.txt"
		}
		lists[list] += fmt.Sprintln(i)
	}
	for name, text := range lists {
		f.text(name, text)
	}
	f.manifest("", dataset.Manifest{States: landscapeStates, NodeFeatures: []string{"red", "green", "blue"}})
}

// landscape is the label of every pixel, [row][column], and how light it is.
type landscape struct {
	truth [][]int
	light float64
}

// colour returns channel k of a pixel, from 0 to 1.
func (l *landscape) colour(r, c, k int) float64 { return l.light * landscapeColours[l.truth[r][c]][k] }

// drawLandscape draws grass under the sky, a tree, and a post, in uneven light.
func drawLandscape(rows, columns int, rng *rand.Rand) *landscape {
	horizon, slope := float64(rows)*(0.4+0.3*rng.Float64()), 0.4*(rng.Float64()-0.5)
	treeColumn, treeRow, radius := columns/6+rng.IntN(columns/4), int(horizon)-rng.IntN(8), 6+rng.IntN(5)
	postColumn, postTop := columns/2+rng.IntN(columns/3), int(horizon)-8-rng.IntN(10)
	truth := make([][]int, rows)
	for r := range truth {
		truth[r] = make([]int, columns)
		for c := range truth[r] {
			dr, dc := r-treeRow, c-treeColumn
			switch {
			case c >= postColumn && c < postColumn+5 && r >= postTop && r < postTop+22:
				truth[r][c] = post
			case dr*dr+dc*dc <= radius*radius:
				truth[r][c] = tree
			case float64(r) > horizon+slope*float64(c-columns/2):
				truth[r][c] = grass
			}
		}
	}
	return &landscape{truth, 0.9 + 0.2*rng.Float64()}
}

// photograph is what people look at.
func (l *landscape) photograph(rng *rand.Rand) image.Image {
	out := image.NewRGBA(image.Rect(0, 0, len(l.truth[0]), len(l.truth)))
	for r, row := range l.truth {
		for c := range row {
			grain := 0.04 * rng.NormFloat64()
			channel := func(k int) uint8 { return uint8(255 * min(max(l.colour(r, c, k)+grain, 0), 1)) }
			out.Set(c, r, color.RGBA{channel(0), channel(1), channel(2), 255})
		}
	}
	return out
}

// regions writes the labels, a line a row.
func (l *landscape) regions() (text string) {
	for _, row := range l.truth {
		text += spaced(row) + "\n"
	}
	return text
}

// features returns the mean colour of every cell, with noise: what a poor network might say of the picture.
func (l *landscape) features(rng *rand.Rand) (shape []int, features []float32) {
	shape = []int{len(l.truth) / featureCell, len(l.truth[0]) / featureCell, 3}
	for r := range shape[0] {
		for c := range shape[1] {
			for k := range 3 {
				sum := 0.0
				for i := range featureCell * featureCell {
					sum += l.colour(r*featureCell+i/featureCell, c*featureCell+i%featureCell, k)
				}
				features = append(features, float32(sum/(featureCell*featureCell)+featureNoise*rng.NormFloat64()))
			}
		}
	}
	return shape, features
}
