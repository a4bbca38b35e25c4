package stretch

// Moments are those of a feature over all rows of a map.
type Moments struct {
	Mean, Squares float64 // Squares: Σ (x − Mean)²
	Least, Most   float64 // of the cells: those of pixels lie between
	Indicator     bool    // all are 0 or 1
}

// Moments returns those of every feature, the bias included.
func (m *Map) Moments() []Moments {
	all, n := make([]Moments, m.Dim()), float64(m.Rows())
	between, begun := false, false
	weights := make([]float64, m.NumCells()) // of cells, in the sums over rows
	m.eachRow(func(_ int, cells [4]int32, shares [4]float64) {
		for i, c := range cells {
			weights[c] += shares[i]
			between = between || shares[i] != 0 && shares[i] != 1
		}
	})
	m.eachCell(func(c int, x, _, _, _ []float64) {
		if weights[c] == 0 {
			return // no row lies beside the cell
		}
		for j, x := range x {
			s := &all[j]
			if !begun {
				*s = Moments{Least: x, Most: x, Indicator: true}
			}
			s.Mean += weights[c] * x
			s.Least, s.Most = min(s.Least, x), max(s.Most, x)
			s.Indicator = s.Indicator && (x == 0 || x == 1)
		}
		begun = true
	})
	mean, ones := make([]float64, len(all)), make([]float64, len(all))
	for j := range all {
		s := &all[j]
		if s.Mean /= n; s.Least == s.Most {
			s.Mean = s.Least
		}
		s.Indicator = s.Indicator && (s.Least == s.Most || !between)
		mean[j], ones[j] = s.Mean, 1
	}
	squares := make([]float64, len(all))
	m.Scaled(mean, ones).AddSquares(squares, func(int) float64 { return 1 })
	for j := range all[:m.depth] {
		all[j].Squares = max(0, squares[j]) // without what rounding has left
	}
	return all
}

// AddSquares adds Σ weight·x² over all rows to dst [Dim]. A row is Σ_c a_c x_c of four cells;
// so the sum is one over cells and pairs of neighbours: their weights take a step for each
// row, and features one for each cell.
func (m *Map) AddSquares(dst []float64, weight func(row int) float64) {
	// Of each cell with itself, with those on its right, below and beyond, and of that on its
	// right with that below.
	own, right, below, beyond, across := make([]float64, m.NumCells()), make([]float64, m.NumCells()),
		make([]float64, m.NumCells()), make([]float64, m.NumCells()), make([]float64, m.NumCells())
	m.eachRow(func(row int, cells [4]int32, a [4]float64) {
		w := weight(row)
		for i, c := range cells {
			own[c] += w * a[i] * a[i]
		}
		right[cells[0]] += 2 * w * a[0] * a[1]
		right[cells[2]] += 2 * w * a[2] * a[3]
		below[cells[0]] += 2 * w * a[0] * a[2]
		below[cells[1]] += 2 * w * a[1] * a[3]
		beyond[cells[0]] += 2 * w * a[0] * a[3]
		across[cells[0]] += 2 * w * a[1] * a[2]
	})
	m.eachCell(func(c int, x, r, b, d []float64) {
		o, wr, wb, wd, wa := own[c], right[c], below[c], beyond[c], across[c]
		if o == 0 && wa == 0 {
			return
		}
		for j, v := range x {
			dst[j] += v*(o*v+wr*r[j]+wb*b[j]+wd*d[j]) + wa*r[j]*b[j]
		}
	})
}

// eachRow calls use for every row with its cells, above and left, above and right, below and
// left, below and right, and their shares.
func (m *Map) eachRow(use func(row int, cells [4]int32, shares [4]float64)) {
	for row := range m.Rows() {
		p := m.pixelOf(int32(row))
		y, x := p/m.over.Cols, p%m.over.Cols
		above, below := m.down.low[y]*int32(m.of.Cols), m.down.high[y]*int32(m.of.Cols)
		left, right := m.across.low[x], m.across.high[x]
		down, across := float64(m.down.weight[y]), float64(m.across.weight[x])
		use(row, [4]int32{above + left, above + right, below + left, below + right},
			[4]float64{(1 - down) * (1 - across), (1 - down) * across, down * (1 - across), down * across})
	}
}

// eachCell calls use for every cell with its features, and those of the cells on its right,
// below it and beyond both, which are its own row or column at the end.
func (m *Map) eachCell(use func(c int, x, right, below, beyond []float64)) {
	cols, dim := m.of.Cols, m.Dim()
	var scratch []float32
	cells := make([]int32, cols)
	read := func(dst []float64, r int) {
		for c := range cells {
			cells[c] = int32(r*cols + c)
		}
		m.Read(dst, cells, &scratch)
	}
	row, next := make([]float64, cols*dim), make([]float64, cols*dim)
	read(next, 0)
	for r := range m.of.Rows {
		row, next = next, row
		read(next, min(r+1, m.of.Rows-1))
		for c := range cols {
			at, right := c*dim, min(c+1, cols-1)*dim
			use(r*cols+c, row[at:][:dim], row[right:][:dim], next[at:][:dim], next[right:][:dim])
		}
	}
}
