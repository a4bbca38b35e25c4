package dataset

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// shapes draws discs and bars of several colours with noise, and says which shape is where.
func discsAndBars(width, height int, noise int, seed uint64) (colours []uint8, of []int) {
	random := rand.New(rand.NewPCG(seed, 0))
	colours, of = make([]uint8, 4*width*height), make([]int, width*height)
	palette := [][3]int{{60, 110, 200}, {200, 60, 50}, {40, 150, 60}, {220, 200, 80}}
	for s := range of {
		x, y := s%width, s/width
		switch {
		case (x-width/4)*(x-width/4)+(y-height/3)*(y-height/3) < height*height/25:
			of[s] = 1
		case (x-2*width/3)*(x-2*width/3)+(y-height/2)*(y-height/2) < height*height/16:
			of[s] = 2
		case 5*y > 4*height-x/2:
			of[s] = 3
		}
		for c, v := range palette[of[s]] {
			colours[4*s+c] = uint8(min(255, max(0, v+random.IntN(2*noise+1)-noise)))
		}
	}
	return colours, of
}

// connected counts the connected parts of regions, by union of neighbours.
func connected(of []int32, width int) int {
	parent := make([]int, len(of))
	for s := range parent {
		parent[s] = s
	}
	var root func(s int) int
	root = func(s int) int {
		if parent[s] != s {
			parent[s] = root(parent[s])
		}
		return parent[s]
	}
	n := len(of)
	join := func(a, b int) {
		if ra, rb := root(a), root(b); of[a] == of[b] && ra != rb {
			parent[ra] = rb
			n--
		}
	}
	for s := range of {
		if (s+1)%width > 0 {
			join(s, s+1)
		}
		if s+width < len(of) {
			join(s, s+width)
		}
	}
	return n
}

// TestCutSuperpixels: regions are connected, about as many as asked for, none is a fragment, and what
// lies on a border of shapes has a border of regions beside it.
func TestCutSuperpixels(t *testing.T) {
	for _, test := range []struct{ width, height, n, noise int }{
		{120, 90, 60, 0}, {120, 90, 60, 25}, {90, 120, 200, 10}, {61, 37, 30, 10}, {200, 3, 20, 5}, {40, 30, 300, 10}, {40, 30, 1, 10},
	} {
		colours, of := discsAndBars(test.width, test.height, test.noise, 1)
		r := cutSuperpixels(colours, test.width, test.height, test.n)
		if got := connected(r.Of, test.width); got != r.Count {
			t.Errorf("%+v: %d regions in %d connected parts", test, r.Count, got)
		}
		if 2*r.Count < test.n || r.Count > 2*test.n {
			t.Errorf("%+v: %d regions", test, r.Count)
		}
		size := make([]int, r.Count)
		for _, k := range r.Of {
			size[k]++
		}
		if least := slices.Min(size); r.Count > 1 && least < test.width*test.height/test.n/4 {
			t.Errorf("%+v: a region has %d pixels", test, least)
		}
		if test.n < 30 {
			continue // too coarse for the shapes
		}
		onEdge, found := 0, 0
		for s := range of {
			x, y := s%test.width, s/test.width
			if x == test.width-1 || of[s] == of[s+1] {
				continue
			}
			onEdge++
			for u := max(0, x-1); u <= min(x+1, test.width-2); u++ { // within a pixel
				if at := y*test.width + u; r.Of[at] != r.Of[at+1] {
					found++
					break
				}
			}
		}
		if recall := float64(found) / float64(onEdge); recall < 0.95 {
			t.Errorf("%+v: %.3f of the edges of shapes are between regions", test, recall)
		}
	}
}
