package dataset

import (
	"math"
	"slices"
)

// Superpixels are connected regions of similar colour, which photographs are cut into by simple
// linear iterative clustering (SLIC; Achanta, Shaji, Smith, Lucchi, Fua and Süsstrunk,
// PAMI 2012): k-means of place and colour, each centre of which sees its surroundings only.

const (
	// slicRounds of k-means: as in the paper, after which pixels hardly move.
	slicRounds = 10
	// compactness weighs place against colour: one spacing of centres counts as this
	// distance in CIELAB, as in the paper.
	compactness = 10
	// fragments of regions that are smaller than this share of the mean region go to a neighbour.
	fragment = 0.25
)

// superpixels are those of a photograph.
type superpixels struct {
	Of    []int32 // [pixels] the region of each, row by row
	Count int
}

// leastPixels is how many pixels a region must have in the mean: centres of fewer lie side
// by side, and see nothing between them.
const leastPixels = 4

// cutSuperpixels makes about n regions, each of them connected by sides of pixels. colours has four
// bytes for each of width × height pixels: red, green, blue, and one that is not looked at.
// The same photograph gives the same regions. There must be leastPixels·n pixels or more.
func cutSuperpixels(colours []uint8, width, height, n int) superpixels {
	p := newLabPicture(colours, width, height)
	spacing := math.Sqrt(float64(width*height) / float64(n))
	centres := p.plant(spacing)
	of := make([]int32, width*height)
	distance := make([]float64, width*height)
	for range slicRounds {
		p.assign(of, distance, centres, spacing)
		p.move(centres, of)
	}
	parts, of := p.parts(of)
	p.merge(parts, of, int(fragment*spacing*spacing))
	return numberedByPixels(of)
}

// labPicture is a photograph in CIELAB.
type labPicture struct {
	width, height int
	lab           [][3]float64
}

// newLabPicture converts sRGB to CIELAB, with the white of D65.
func newLabPicture(colours []uint8, width, height int) *labPicture {
	p := &labPicture{width, height, make([][3]float64, width*height)}
	var linear [256]float64
	for v := range linear {
		c := float64(v) / 255
		linear[v] = c / 12.92
		if c > 0.04045 {
			linear[v] = math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	for i := range p.lab {
		r, g, b := linear[colours[4*i]], linear[colours[4*i+1]], linear[colours[4*i+2]]
		x := curve((0.4124564*r + 0.3575761*g + 0.1804375*b) / 0.950470)
		y := curve(0.2126729*r + 0.7151522*g + 0.0721750*b)
		z := curve((0.0193339*r + 0.1191920*g + 0.9503041*b) / 1.088830)
		p.lab[i] = [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
	}
	return p
}

// curve is the f of CIELAB.
func curve(t float64) float64 {
	const delta = 6.0 / 29
	if t > delta*delta*delta {
		return math.Cbrt(t)
	}
	return t/(3*delta*delta) + 4.0/29
}

// centre is the mean of a cluster: of colours and places.
type centre struct {
	lab  [3]float64
	x, y float64
}

// plant puts centres on a grid, each where the picture changes least around it, so that none begins on an edge.
func (p *labPicture) plant(spacing float64) (centres []centre) {
	across := max(1, int(math.Round(float64(p.width)/spacing)))
	down := max(1, int(math.Round(float64(p.height)/spacing)))
	for j := range down {
		for i := range across {
			x := int((float64(i) + 0.5) * float64(p.width) / float64(across))
			y := int((float64(j) + 0.5) * float64(p.height) / float64(down))
			x, y = p.calmest(x, y)
			centres = append(centres, centre{p.lab[y*p.width+x], float64(x), float64(y)})
		}
	}
	return centres
}

// calmest returns the pixel around another whose neighbours differ least.
func (p *labPicture) calmest(x, y int) (atX, atY int) {
	least := math.Inf(1)
	atX, atY = x, y
	for v := max(1, y-1); v <= min(y+1, p.height-2); v++ {
		for u := max(1, x-1); u <= min(x+1, p.width-2); u++ {
			s := v*p.width + u
			if g := apart(&p.lab[s-1], &p.lab[s+1]) + apart(&p.lab[s-p.width], &p.lab[s+p.width]); g < least {
				least, atX, atY = g, u, v
			}
		}
	}
	return atX, atY
}

// apart is the squared distance of two colours.
func apart(a, b *[3]float64) float64 {
	l, m, n := a[0]-b[0], a[1]-b[1], a[2]-b[2]
	return float64(l*l) + float64(m*m) + float64(n*n)
}

// assign gives every pixel to the nearest centre of those that see it:
//
//	D² = |Δlab|² + (compactness/spacing)² |Δplace|²
//
// of two as near, the first. What none sees keeps its cluster, in the first round the first.
func (p *labPicture) assign(of []int32, distance []float64, centres []centre, spacing float64) {
	for i := range distance {
		distance[i] = math.Inf(1)
	}
	weight := compactness * compactness / (spacing * spacing)
	reach := int(math.Ceil(spacing))
	for k := range centres {
		c := &centres[k]
		cx, cy := int(c.x), int(c.y)
		for y := max(0, cy-reach); y <= min(p.height-1, cy+reach); y++ {
			dy := float64(y) - c.y
			for x := max(0, cx-reach); x <= min(p.width-1, cx+reach); x++ {
				s, dx := y*p.width+x, float64(x)-c.x
				if d := apart(&p.lab[s], &c.lab) + float64(weight*(float64(dx*dx)+float64(dy*dy))); d < distance[s] {
					distance[s], of[s] = d, int32(k)
				}
			}
		}
	}
}

// move puts every centre into the mean of its cluster. One without pixels stays.
func (p *labPicture) move(centres []centre, of []int32) {
	sums, count := make([]centre, len(centres)), make([]float64, len(centres))
	for s, k := range of {
		c := &sums[k]
		for i, v := range p.lab[s] {
			c.lab[i] += v
		}
		c.x += float64(s % p.width)
		c.y += float64(s / p.width)
		count[k]++
	}
	for k := range centres {
		if n := count[k]; n > 0 {
			c := &sums[k]
			centres[k] = centre{[3]float64{c.lab[0] / n, c.lab[1] / n, c.lab[2] / n}, c.x / n, c.y / n}
		}
	}
}

// part is a connected part of a cluster.
type part struct {
	colour [3]float64 // the sum
	pixels []int32
}

func (q *part) mean() [3]float64 {
	n, c := float64(len(q.pixels)), &q.colour
	return [3]float64{c[0] / n, c[1] / n, c[2] / n}
}

// parts finds those of all clusters, in the order of their first pixels, and replaces the clusters of pixels by them.
func (p *labPicture) parts(cluster []int32) (parts []*part, of []int32) {
	of = slices.Repeat([]int32{-1}, len(cluster))
	for first := range cluster {
		if of[first] >= 0 {
			continue
		}
		number, q := int32(len(parts)), &part{pixels: []int32{int32(first)}}
		of[first], parts = number, append(parts, q)
		for at := 0; at < len(q.pixels); at++ {
			s := int(q.pixels[at])
			for i, v := range p.lab[s] {
				q.colour[i] += v
			}
			p.beside(s, func(t int) {
				if of[t] < 0 && cluster[t] == cluster[s] {
					of[t], q.pixels = number, append(q.pixels, int32(t))
				}
			})
		}
	}
	return parts, of
}

// beside goes through the pixels that share a side with one.
func (p *labPicture) beside(s int, do func(t int)) {
	if x := s % p.width; x > 0 {
		do(s - 1)
	}
	if x := s % p.width; x < p.width-1 {
		do(s + 1)
	}
	if s >= p.width {
		do(s - p.width)
	}
	if s < len(p.lab)-p.width {
		do(s + p.width)
	}
}

// merge gives every part smaller than least to that beside it which is nearest in colour, the smallest parts first.
func (p *labPicture) merge(parts []*part, of []int32, least int) {
	order := numbersTo(len(parts))
	slices.SortStableFunc(order, func(a, b int32) int { return len(parts[a].pixels) - len(parts[b].pixels) })
	for _, small := range order {
		q := parts[small]
		if len(q.pixels) >= least {
			continue // it may have grown
		}
		nearest, distance, own := int32(-1), math.Inf(1), q.mean()
		for _, s := range q.pixels {
			p.beside(int(s), func(t int) {
				to := of[t]
				if to == small {
					return
				}
				other := parts[to].mean()
				if d := apart(&own, &other); d < distance || d == distance && to < nearest {
					nearest, distance = to, d
				}
			})
		}
		if nearest < 0 {
			return // it is the whole picture
		}
		for _, s := range q.pixels {
			of[s] = nearest
		}
		into := parts[nearest]
		for i, v := range q.colour {
			into.colour[i] += v
		}
		into.pixels, q.pixels = append(into.pixels, q.pixels...), nil
	}
}

// numberedByPixels numbers what is left of parts by their first pixels.
func numberedByPixels(of []int32) superpixels {
	number, r := map[int32]int32{}, superpixels{Of: make([]int32, len(of))}
	for s, part := range of {
		k, known := number[part]
		if !known {
			k = int32(len(number))
			number[part] = k
		}
		r.Of[s] = k
	}
	r.Count = len(number)
	return r
}

// border is a side that two regions share, U < V.
type border struct {
	U, V   int32
	Length int // in sides of pixels
}

// touching returns the borders of all regions that touch, in the order of U and V.
func (r *superpixels) touching(width int) []border {
	var sides [][2]int32
	add := func(a, b int32) {
		if a != b {
			sides = append(sides, [2]int32{min(a, b), max(a, b)})
		}
	}
	for s := range r.Of {
		if (s+1)%width > 0 {
			add(r.Of[s], r.Of[s+1])
		}
		if s+width < len(r.Of) {
			add(r.Of[s], r.Of[s+width])
		}
	}
	slices.SortFunc(sides, func(a, b [2]int32) int { return slices.Compare(a[:], b[:]) })
	var borders []border
	for _, side := range sides {
		if n := len(borders); n > 0 && borders[n-1].U == side[0] && borders[n-1].V == side[1] {
			borders[n-1].Length++
		} else {
			borders = append(borders, border{side[0], side[1], 1})
		}
	}
	return borders
}
