// Package standardise puts features on one scale while weights are learned, so that one
// prior suits the weights of all of them.
//
// A feature x becomes (x − mean)/deviation, mean and deviation being those of all nodes, or edges, of its type in the
// data. The means need a feature that is one everywhere, whose weights take them; without it x becomes x/deviation.
// The model stays the same: Map.Original gives the weights with which features as they are have the same potentials.
package standardise

import (
	"context"
	"math"
	"slices"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/instances"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/parallel"
	"github.com/blockbp/blockbp/internal/spill"
	"github.com/blockbp/blockbp/internal/upsample"
)

// Map is the change of scale, of every type. It is a linear map of the weights.
type Map struct {
	columns []columns // of the types of nodes, and behind them of edges
	nodes   int       // types
	own     []float64 // [weights] of untied types: the feature of an element, in place of 1; nil: ones
}

// Own is the change of scale by which the constant feature of every node, and edge, of untied types becomes a number of
// its own, which stands where each of its weights does.
func Own(schema *crf.Schema, own []float64) *Map {
	return &Map{make([]columns, len(schema.NodeTypes)+len(schema.EdgeTypes)), len(schema.NodeTypes), own}
}

// columns are the features of one type.
type columns struct {
	mean, deviation []float64 // [features]; 0 and 1: as it is; nil: so are all
	constant        int       // the last feature that is one everywhere, as a bias is; −1: none, and means are 0
}

// flat and flatSingle are how large the range of a feature is, relative to its largest value,
// for the feature to be constant: what rounding leaves in double and in single precision.
const flat, flatSingle = 1e-12, 1e-6

// Measure goes through all features of data, whose types are those of a schema, and returns the change of scale that
// they want; nil where nothing is to be changed. Left alone are constant features, features that are 0 or 1 everywhere,
// those that sparse rows do not all hold, and those of untied types. An instance counts as often as its labels do in
// learning. Sums run in the order of data, for any number of threads.
func Measure(ctx context.Context, schema *crf.Schema, data []*crf.Instance, threads int) (*Map, error) {
	copies := append(numeric.Map(schema.NodeTypes, func(t crf.NodeType) int { return t.Copies }),
		numeric.Map(schema.EdgeTypes, func(t crf.EdgeType) int { return t.Copies })...)
	m, changes := &Map{columns: make([]columns, len(copies)), nodes: len(schema.NodeTypes)}, false
	for i := range m.columns {
		if copies[i] > 0 {
			continue
		}
		var err error
		if m.columns[i], err = measure(ctx, data, threads, i); err != nil {
			return nil, err
		}
		changes = changes || m.columns[i].mean != nil
	}
	if !changes {
		return nil, nil
	}
	return m, nil
}

// measure goes through the features of type i of all, in the order of instances.Features.
func measure(ctx context.Context, data []*crf.Instance, threads, i int) (columns, error) {
	dim, dense, sparse, single := 0, false, false, false
	list := make([]*crf.Features, len(data))
	for k, in := range data {
		list[k] = instances.Features(in)[i]
		x := list[k].Data()
		if dim = list[k].Dim(); list[k].Rows() == 0 {
			continue
		}
		switch {
		case x.Double != nil, x.Single != nil, x.Computed != nil:
			dense, single = true, single || x.Double == nil
		case x.Start != nil:
			sparse = true
		default:
			return columns{}, nil // constants, or bins
		}
	}
	switch {
	case sparse && dense:
		return columns{}, nil
	case sparse:
		return columnsOf(sparseMoments(data, list, dim), single), nil
	}
	parts := make([][]moments, len(data))
	if err := parallel.Each(ctx, len(data), threads,
		func(k int) { parts[k] = momentsOf(list[k], data[k].TotalWeight()) }); err != nil {
		return columns{}, err
	}
	all := make([]moments, dim)
	for _, part := range parts {
		for j := range part {
			all[j].add(&part[j])
		}
	}
	return columnsOf(all, single), nil
}

// Together gives all features of nodes of a type that change one divisor, with which the root mean square of their
// deviations is a size. Features of edges stay.
func (m *Map) Together(size float64) *Map {
	own := &Map{columns: slices.Clone(m.columns), nodes: m.nodes}
	for a := range own.nodes {
		c, squares := &own.columns[a], 0.0
		n := c.changed()
		c.deviation = slices.Clone(c.deviation)
		for j, d := range c.deviation {
			if c.changes(j) {
				squares += d * d / float64(n)
			}
		}
		for j := range c.deviation {
			if c.changes(j) {
				c.deviation[j] = math.Sqrt(squares) / size
			}
		}
	}
	return own
}

// Changed counts the features of nodes that change.
func (m *Map) Changed() (n int) {
	for a := range m.nodes {
		n += m.columns[a].changed()
	}
	return n
}

func (c *columns) changes(j int) bool { return c.deviation[j] != 1 || c.mean[j] != 0 }

func (c *columns) changed() (n int) {
	for j := range c.deviation {
		if c.changes(j) {
			n++
		}
	}
	return n
}

// moments are those of one feature.
type moments struct {
	n, mean, squares float64 // squares: Σ (x − mean)²
	least, most      float64
	indicator        bool // 0 or 1 everywhere
	partial          bool // not in every sparse row
}

// momentsOf measures dense features, by columns, of rows of that weight. Rows are read once, as reading may mean to
// interpolate them: mean and squares follow the updates of Welford (1962), which lose no digits to large means.
func momentsOf(f *crf.Features, weight float64) []moments {
	if f.Rows() == 0 {
		return make([]moments, f.Dim())
	}
	none := moments{n: float64(f.Rows()) * weight, least: math.Inf(1), most: math.Inf(-1), indicator: true}
	all := slices.Repeat([]moments{none}, f.Dim())
	row := make([]float64, f.Dim())
	read := f.Reader()
	for r := range f.Rows() {
		read(row, r)
		share := 1 / float64(r+1)
		for j, x := range row {
			c := &all[j]
			d := x - c.mean
			c.mean += d * share
			c.squares += d * (x - c.mean)
			c.least, c.most = min(c.least, x), max(c.most, x)
			c.indicator = c.indicator && (x == 0 || x == 1)
		}
	}
	for j := range all {
		all[j].squares *= weight
	}
	return all
}

// sparseMoments measures the columns that are in every sparse row of all instances, once, and
// leaves the others partial. Memory is that of the columns, whatever the number of instances.
func sparseMoments(data []*crf.Instance, list []*crf.Features, dim int) []moments {
	all := slices.Repeat([]moments{{least: math.Inf(1), most: math.Inf(-1), indicator: true}}, dim)
	last, rows := make([]int, dim), make([]int, dim) // the row a column was last seen in, from 1; in how many
	row, total := 0, 0.0
	for k, in := range data {
		x, weight := list[k].Data(), in.TotalWeight()
		total += weight * float64(x.Rows)
		for r := range x.Rows {
			row++
			for i := x.Start[r]; i < x.Start[r+1]; i++ {
				j, v := x.Column[i], valueOf(x, i)
				c := &all[j]
				c.partial = c.partial || last[j] == row // twice in a row
				last[j] = row
				rows[j]++
				c.mean += weight * v
				c.least, c.most = min(c.least, v), max(c.most, v)
				c.indicator = c.indicator && (v == 0 || v == 1)
			}
		}
	}
	for j := range all {
		c := &all[j]
		c.n, c.mean, c.partial = total, c.mean/total, c.partial || rows[j] != row
	}
	for k, in := range data {
		x, weight := list[k].Data(), in.TotalWeight()
		for i, j := range x.Column {
			d := valueOf(x, i) - all[j].mean
			all[j].squares += weight * d * d
		}
	}
	return all
}

// valueOf is that of a sparse entry.
func valueOf(x *crf.FeatureData, i int) float64 {
	if x.Value == nil {
		return 1
	}
	return x.Value[i]
}

// add takes in those of other rows, as Chan, Golub and LeVeque (1983) do.
func (c *moments) add(other *moments) {
	switch {
	case other.n == 0:
		return
	case c.n == 0:
		*c = *other
		return
	}
	n, apart := c.n+other.n, other.mean-c.mean
	c.squares += other.squares + apart*apart*(c.n*other.n/n)
	c.mean += apart * (other.n / n)
	c.n = n
	c.least, c.most = min(c.least, other.least), max(c.most, other.most)
	c.indicator = c.indicator && other.indicator
}

// columnsOf decides what is done to each feature of a type.
func columnsOf(all []moments, single bool) columns {
	flat := flat
	if single {
		flat = flatSingle
	}
	c := columns{mean: make([]float64, len(all)), deviation: make([]float64, len(all)), constant: -1}
	changes := false
	for j, x := range all {
		if x.n > 0 && !x.partial && x.least == 1 && x.most == 1 {
			c.constant = j
		}
	}
	for j, x := range all {
		c.deviation[j] = 1
		deviation := math.Sqrt(x.squares / x.n)
		if x.n == 0 || x.partial || x.indicator || x.most-x.least <= flat*max(math.Abs(x.least), math.Abs(x.most)) ||
			!(deviation > 0) || math.IsInf(deviation, 0) || math.IsInf(1/deviation, 0) {
			continue
		}
		c.deviation[j] = deviation
		if c.constant >= 0 {
			c.mean[j] = x.mean
		}
		changes = true
	}
	if !changes {
		return columns{}
	}
	return c
}

// Instance returns the instance with its features on the new scale. What does not change
// is shared. Those that were kept as dense rows lie in the space, where Room bytes are reserved; nil: in memory.
func (m *Map) Instance(in *crf.Instance, space *spill.Space) *crf.Instance {
	spec := in.Spec()
	for i := range m.columns {
		list, t := spec.NodeFeat, i
		if i >= m.nodes {
			list, t = spec.EdgeFeat, i-m.nodes
		}
		if c := &m.columns[i]; c.mean != nil {
			list[t] = c.features(&list[t], space)
		} else if m.own != nil {
			list[t] = instances.Must(crf.Dense(m.ownOf(in, i), 1))
		}
	}
	return instances.Must(crf.NewInstance(in.Schema(), spec))
}

// ownOf is what the elements of a type have.
func (m *Map) ownOf(in *crf.Instance, i int) (own []float64) {
	layout := in.Schema().Layout()
	span := slices.Concat(layout.Node, layout.Edge)[i]
	for at := span.At; at < span.At+span.Len; at += span.States {
		own = append(own, m.own[at])
	}
	return own
}

// Room is what Instance takes of a space.
func (m *Map) Room(in *crf.Instance) (bytes int64) {
	for i := range m.columns {
		if x := instances.Features(in)[i].Data(); m.columns[i].mean != nil {
			bytes += spill.Room[float32](len(x.Single)) + spill.Room[float64](len(x.Double))
		}
	}
	return bytes
}

// features are those of f on the new scale, in memory of their own.
func (c *columns) features(f *crf.Features, space *spill.Space) crf.Features {
	own := *f
	x := own.Data()
	switch {
	case x.Start != nil:
		x.Value = slices.Clone(x.Value)
		if x.Value == nil {
			x.Value = slices.Repeat([]float64{1}, len(x.Column))
		}
	case x.Computed == nil:
		x.Single, x.Double, x.Owner = spill.Copy(space, x.Single), spill.Copy(space, x.Double), nil
		if space != nil {
			x.Owner = space
		}
	}
	c.change(x)
	return own
}

// change puts features on the new scale where they lie. Pixels stay computed; what else computes may be shared,
// and is kept as numbers.
func (c *columns) change(x *crf.FeatureData) {
	if m, ok := x.Computed.(*upsample.Map); ok {
		x.Computed = m.Scaled(c.mean, c.deviation)
		return
	}
	if x.Computed != nil {
		read := x.Computed.Reader()
		x.Computed, x.Double = nil, make([]float64, x.Rows*x.Dim)
		for r := range x.Rows {
			read(x.Double[r*x.Dim:][:x.Dim], r)
		}
	}
	scale(c, x.Single)
	scale(c, x.Double)
	for i, j := range x.Column {
		x.Value[i] = (x.Value[i] - c.mean[j]) / c.deviation[j]
	}
}

func scale[T float32 | float64](c *columns, x []T) {
	dim := len(c.mean)
	for i := range x {
		j := i % dim
		x[i] = T((float64(x[i]) - c.mean[j]) / c.deviation[j])
	}
}

// InPlace puts the features of instances on the new scale where they lie, for instances that nobody else uses.
// Features that several of them share are changed once. Sparse rows of ones alone have no place for other values:
// where there are some, nothing is changed and the answer is false.
func (m *Map) InPlace(data []*crf.Instance) bool {
	if m.own != nil {
		return false
	}
	for _, in := range data {
		for i := range m.columns {
			if x := instances.Features(in)[i].Data(); m.columns[i].mean != nil && x.Value == nil && len(x.Column) > 0 {
				return false
			}
		}
	}
	done := map[any]bool{}
	for _, in := range data {
		for i := range m.columns {
			c, x := &m.columns[i], instances.Features(in)[i].Data()
			var place any
			switch {
			case c.mean == nil || x.Rows == 0:
				continue
			case x.Single != nil:
				place = &x.Single[0]
			case x.Double != nil:
				place = &x.Double[0]
			case len(x.Value) > 0:
				place = &x.Value[0]
			default:
				place = x
			}
			if !done[place] {
				done[place] = true
				c.change(x)
			}
		}
	}
	return true
}

// Original writes the weights for features as they are into dst, given those for
// features on the new scale; dst may be weights. nil changes nothing.
func (m *Map) Original(dst, weights []float64, layout *crf.Layout) {
	m.each(dst, weights, layout, func(w, constant []float64, mean, deviation float64) {
		for k := range w {
			w[k] /= deviation
			if constant != nil {
				constant[k] -= w[k] * mean
			}
		}
	})
}

// Standard is the inverse of Original.
func (m *Map) Standard(dst, weights []float64, layout *crf.Layout) {
	m.each(dst, weights, layout, func(w, constant []float64, mean, deviation float64) {
		for k := range w {
			if constant != nil {
				constant[k] += w[k] * mean
			}
			w[k] *= deviation
		}
	})
}

// each copies weights and calls f for those of every feature that changes, with those of
// the constant, nil where there is none.
func (m *Map) each(dst, weights []float64, layout *crf.Layout, f func(w, constant []float64, mean, deviation float64)) {
	copy(dst, weights)
	if m == nil {
		return
	}
	for i, x := range m.own {
		f(dst[i:i+1], nil, 0, 1/x)
	}
	for i, span := range slices.Concat(layout.Node, layout.Edge) {
		c := &m.columns[i]
		of := func(j int) []float64 { return dst[span.At+j*span.States : span.At+(j+1)*span.States] }
		for j := range c.mean {
			if !c.changes(j) {
				continue
			}
			var constant []float64
			if c.constant >= 0 {
				constant = of(c.constant)
			}
			f(of(j), constant, c.mean[j], c.deviation[j])
		}
	}
}
