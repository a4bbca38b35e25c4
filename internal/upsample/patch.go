package upsample

import "github.com/blockbp/blockbp/internal/numeric"

// Patch has numbers for each of those cells that some rows lie on. It is scratch that is
// filled again and again; the zero value is ready.
type Patch struct {
	Map     *Map      // that the patch has begun with
	Numbers int       // that each cell has
	Cells   []int32   // distinct, in the order in which rows came
	Values  []float64 // [Cells × Numbers]

	place       []int32   // [cells of the map] 1 + the place in Cells; 0: it is not there
	left, right []float64 // numbers between two cells of a column
}

// Begin empties the patch for rows of a map, with so many numbers for each cell.
func (p *Patch) Begin(m *Map, numbers int) {
	for _, c := range p.Cells {
		p.place[c] = 0
	}
	p.Map, p.Numbers, p.Cells, p.Values = m, numbers, p.Cells[:0], p.Values[:0]
	p.place = numeric.Resize(p.place, m.NumCells())
	p.left, p.right = numeric.Resize(p.left, numbers), numeric.Resize(p.right, numbers)
}

// corner is where pixels lie that are between the same four cells.
type corner struct {
	above, below int32 // first cells of the two rows of the map
	left, right  int32
	down         float64
	line         int // first pixel of the line
}

// corners calls use for every run of rows between the same cells, on one line of pixels: the rows from ≤ i < to.
func (p *Patch) corners(rows []int32, use func(c corner, from, to int)) {
	m, width := p.Map, p.Map.over.Cols
	var c corner
	for from, to := 0, 0; from < len(rows); from = to {
		c = m.cornerOf(m.pixelOf(rows[from]))
		for to = from + 1; to < len(rows); to++ {
			next := m.pixelOf(rows[to]) - c.line
			if next < 0 || next >= width || m.across.low[next] != c.left {
				break
			}
		}
		use(c, from, to)
	}
}

// cornerOf returns where a pixel lies.
func (m *Map) cornerOf(pixel int) corner {
	y, x := pixel/m.over.Cols, pixel%m.over.Cols
	return corner{m.down.low[y] * int32(m.of.Cols), m.down.high[y] * int32(m.of.Cols), m.across.low[x], m.across.high[x],
		float64(m.down.weight[y]), y * m.over.Cols}
}

// cells are the four cells.
func (c corner) cells() [4]int32 {
	return [...]int32{c.above + c.left, c.above + c.right, c.below + c.left, c.below + c.right}
}

// add adds the four cells, those that are not there yet, with zeros.
func (p *Patch) add(c corner) {
	for _, cell := range c.cells() {
		if p.place[cell] == 0 {
			p.Cells = append(p.Cells, cell)
			p.place[cell] = int32(len(p.Cells))
			n := len(p.Values)
			p.Values = append(p.Values, p.left...)
			clear(p.Values[n:])
		}
	}
}

// at returns the numbers of a cell that is there, until another is added.
func (p *Patch) at(cell int32) []float64 {
	return p.Values[int(p.place[cell]-1)*p.Numbers:][:p.Numbers]
}

// Add adds the cells of some rows, with numbers that are zeros.
func (p *Patch) Add(rows []int32) { p.corners(rows, func(c corner, _, _ int) { p.add(c) }) }

// Interpolate writes the numbers of rows to dst [rows × numbers]: those of their cells,
// interpolated as features are. Add has added these.
func (p *Patch) Interpolate(dst []float64, rows []int32) {
	p.corners(rows, func(c corner, from, to int) {
		blend(p.left, p.at(c.above+c.left), p.at(c.below+c.left), c.down)
		blend(p.right, p.at(c.above+c.right), p.at(c.below+c.right), c.down)
		for i := from; i < to; i++ {
			blend(dst[i*p.Numbers:], p.left, p.right, p.across(rows[i], c))
		}
	})
}

// Spread is the adjoint of Interpolate: it adds the numbers t [rows × numbers] of rows to
// those of their cells, which it adds to the others where they are new.
func (p *Patch) Spread(rows []int32, t []float64) {
	p.corners(rows, func(c corner, from, to int) {
		clear(p.left)
		clear(p.right)
		for i := from; i < to; i++ {
			share(p.left, p.right, t[i*p.Numbers:], p.across(rows[i], c))
		}
		p.add(c)
		share(p.at(c.above+c.left), p.at(c.below+c.left), p.left, c.down)
		share(p.at(c.above+c.right), p.at(c.below+c.right), p.right, c.down)
	})
}

// across is the weight of the cells on the right of a row.
func (p *Patch) across(row int32, c corner) float64 {
	return float64(p.Map.across.weight[p.Map.pixelOf(row)-c.line])
}

// blend computes dst = a + weight·(b − a).
func blend(dst, a, b []float64, weight float64) {
	b, dst = b[:len(a)], dst[:len(a)]
	for i, x := range a {
		dst[i] = x + weight*(b[i]-x)
	}
}

// share adds t to a and b, by their weights in blend.
func share(a, b, t []float64, weight float64) {
	b, t = b[:len(a)], t[:len(a)]
	for i, x := range t {
		second := weight * x
		a[i] += x - second
		b[i] += second
	}
}
