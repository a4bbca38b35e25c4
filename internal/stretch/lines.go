package stretch

// Lines makes pixels line by line, in single precision and without bias: for what looks at
// all of them once. The zero value is ready.
type Lines struct {
	of    *Map
	rows  [2]int32     // of the map, in kept
	kept  [2][]float32 // [cells of a row × features]
	line  []float32    // the map interpolated down to a line of pixels
	cells []int32
}

// Line writes the features of a line of pixels to dst [pixels × features], as they are in the map.
func (l *Lines) Line(dst []float32, m *Map, y int) {
	if width := m.of.Cols * m.depth; l.of != m || len(l.line) != width {
		*l = Lines{of: m, rows: [2]int32{-1, -1}, kept: [2][]float32{make([]float32, width), make([]float32, width)},
			line: make([]float32, width), cells: make([]int32, m.of.Cols)}
	}
	above, below := m.down.low[y], m.down.high[y]
	if l.rows[1] == above { // the line before was a row of the map further up
		l.rows[0], l.rows[1] = l.rows[1], l.rows[0]
		l.kept[0], l.kept[1] = l.kept[1], l.kept[0]
	}
	l.keep(0, above)
	if below != above {
		l.keep(1, below)
		blendSingle(l.line, l.kept[0], l.kept[1], m.down.weight[y])
	} else {
		copy(l.line, l.kept[0])
	}
	for x := range m.over.Cols {
		left, right := int(m.across.low[x])*m.depth, int(m.across.high[x])*m.depth
		blendSingle(dst[x*m.depth:][:m.depth], l.line[left:], l.line[right:], m.across.weight[x])
	}
}

func (l *Lines) keep(place int, row int32) {
	if l.rows[place] == row {
		return
	}
	for c := range l.cells {
		l.cells[c] = row*int32(len(l.cells)) + int32(c)
	}
	l.of.cells.Read(l.kept[place], l.cells)
	l.rows[place] = row
}

// blendSingle computes dst = a + weight·(b − a). The conversion keeps the compiler from fusing
// the two operations: the bin of a distance is the same on all machines.
func blendSingle(dst, a, b []float32, weight float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] + float32(weight*(b[i]-a[i]))
	}
}
