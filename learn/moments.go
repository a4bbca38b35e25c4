package learn

import (
	"sync"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/ground"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/simd"
	"github.com/blockbp/blockbp/internal/stretch"
)

// outerSum adds up weight·f fᵀ of vectors f. Those with many numbers that are not zero wait for
// others, and are multiplied together.
type outerSum struct {
	sum          []float64 // [d*d]
	d, waiting   int
	rows, scaled []float64 // [waiting*d] f and weight·f
}

// mostlyZero is how many times as many numbers as are not zero a vector has that is multiplied
// alone: a vector instruction multiplies eight.
const mostlyZero = 4

// outerSums are used again: one for every range of a large network would be megabytes of garbage.
var outerSums = sync.Pool{New: func() any { return &outerSum{} }}

func newOuterSum(sum []float64, d int) *outerSum {
	m := outerSums.Get().(*outerSum)
	m.sum, m.d = sum, d
	m.rows, m.scaled = numeric.Resize(m.rows, ground.RowsPerBatch*d), numeric.Resize(m.scaled, ground.RowsPerBatch*d)
	return m
}

func (m *outerSum) add(f []float64, weight float64) {
	used := 0
	for _, x := range f {
		used += oneIf(x != 0)
	}
	if used*mostlyZero < m.d {
		for i, x := range f {
			if x != 0 {
				simd.AddScaled(m.sum[i*m.d:][:m.d], f, weight*x)
			}
		}
		return
	}
	at := m.waiting * m.d
	scaled := m.scaled[at:][:m.d]
	copy(m.rows[at:], f)
	for j, x := range f {
		scaled[j] = weight * x
	}
	if m.waiting++; m.waiting == ground.RowsPerBatch {
		m.flush()
	}
}

// end follows the last of add.
func (m *outerSum) end() {
	m.flush()
	m.sum = nil
	outerSums.Put(m)
}

// flush adds those that wait.
func (m *outerSum) flush() {
	simd.ScatterMatrix(m.sum, m.rows, m.scaled, m.waiting, m.d, m.d)
	m.waiting = 0
}

// addMoments adds scale·f fᵀ of the nodes or edges of a type in a range of an instance to sum, or the
// diagonal.
func addMoments(sum []float64, diagonal bool, in *crf.Instance, r ground.Range, node bool, t int, scale func(int32) float64) {
	f, typeOf, rowOf := elements(in, node, t)
	of, all := r.Edges, ground.Whole(in).Edges
	if node {
		of, all = r.Nodes, ground.Whole(in).Nodes
	}
	d := f.Dim()
	add, end := func(f []float64, weight float64) {
		for j, x := range f {
			sum[j] += weight * x * x
		}
	}, func() {}
	if !diagonal {
		m := newOuterSum(sum, d)
		add, end = m.add, m.end
	}
	eachOfType := func(use func(row int, weight float64)) {
		for i := range of.All() {
			if i := int32(i); typeOf(i) == t {
				use(rowOf(i), scale(i))
			}
		}
	}
	pixels, _ := f.Data().Computed.(*stretch.Map)
	switch data := f.Data(); {
	case data.Book != nil: // few distinct rows: each is added once, by how much there is of it
		weights := make([]float64, ground.Tables(f))
		eachOfType(func(row int, weight float64) { weights[data.Bins[row]] += weight })
		for c, weight := range weights {
			add(data.Book[c*d:][:d], weight)
		}
	case pixels != nil && diagonal: // of all cells at once
		if len(of) == 0 || of[0][0] > all[0][0] {
			break
		}
		of = all
		weights := make([]float64, f.Rows())
		eachOfType(func(row int, weight float64) { weights[row] = weight })
		pixels.AddSquares(sum, func(row int) float64 { return weights[row] })
	case diagonal && (data.Start != nil || data.Bins != nil): // mostly zeros
		eachOfType(func(row int, weight float64) {
			for j, x := range f.Entries(row) {
				sum[j] += weight * x * x
			}
		})
	default:
		x, read := make([]float64, d), f.Reader()
		eachOfType(func(row int, weight float64) {
			read(x, row)
			add(x, weight)
		})
	}
	end()
}

// sum adds F Fᵀ/ρ_s over the nodes s of the type, F being the rows of the node: an
// edge's features divided by the root of the other end's states, over which its
// weights repeat the same function.
func (m *marginal) sum(p *statistics, a int) {
	rows := len(m.row)
	m.setSecond(p.sumOver(p.data, rows*rows, func(sum []float64, _, i int, r ground.Range) { m.addRange(sum, p, p.data[i], r, a) }))
}

func (m *marginal) addRange(sum []float64, p *statistics, in *crf.Instance, r ground.Range, a int) {
	rows := len(m.row)
	all, row, read := newOuterSum(sum, rows), make([]float64, rows), in.NodeFeatures(a).Reader()
	scale, _ := p.scales(in)
	ends := m.readEnds(in)
	u, _ := in.Graph.Ends()
	for i := range r.Nodes.All() {
		s := int32(i)
		if in.NodeType(s) != a {
			continue
		}
		clear(row)
		if m.node != nil {
			read(row[:m.node.Features], in.NodeRow(s))
		}
		for _, d := range in.Graph.Incoming(s) {
			e := d >> 1
			end := &ends[in.EdgeType(e)][oneIf(u[e] == s)]
			if end.features == nil {
				continue
			}
			to := row[end.at:][:len(end.x)]
			for j, x := range end.read(in.EdgeRow(e)) {
				to[j] += end.scale * x
			}
		}
		all.add(row, scale(s))
	}
	all.end()
}

// endReader reads the features of edges of a type with a node at one end.
type endReader struct {
	features *crf.FeatureData // nil: they have no rows of the marginal
	row      func(dst []float64, row int)
	x        []float64 // one row
	at       int
	scale    float64
}

// read returns a row, valid until the next call.
func (r *endReader) read(row int) []float64 {
	if f := r.features; f.Book != nil {
		return f.Book[int(f.Bins[row])*f.Dim:][:f.Dim]
	}
	r.row(r.x, row)
	return r.x
}

// readEnds returns what reads the ends of the marginal, by type of the edges and by whether the
// node is the first end.
func (m *marginal) readEnds(in *crf.Instance) [][2]endReader {
	ends := make([][2]endReader, len(in.Schema().EdgeTypes))
	for i := range m.ends {
		end := &m.ends[i]
		f := in.EdgeFeatures(end.kind)
		r := endReader{features: f.Data(), row: f.Reader(), x: make([]float64, end.span.Features), at: end.at, scale: end.scale()}
		if end.both || !end.first {
			ends[end.kind][0] = r
		}
		if end.both || end.first {
			ends[end.kind][1] = r
		}
	}
	return ends
}
