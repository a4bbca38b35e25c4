package ground

import (
	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/simd"
	"github.com/blockbp/blockbp/internal/upsample"
)

// Features that are upsampled over pixels are multiplied in the cells of their map.
// Potentials of pixels are interpolated from those of cells. Beliefs go the same way back:
// all those of a block come together in its cells before they are multiplied by features.

// pixels returns the map of upsampled features, nil of others.
func (f *matrix) pixels() *upsample.Map {
	m, _ := f.Computed.(*upsample.Map)
	return m
}

// together returns how many nodes of a block are ground in one call: all those that lie on the same cells, or a batch.
func (f *matrix) together(in *crf.Instance, nodes int) int {
	if rows, _ := in.FeatureRows(); f.pixels() != nil && rows == nil {
		return nodes
	}
	return RowsPerBatch
}

// multiplyUpsampled computes dst[i*k+x] = Σ_j f[rows[i],j] w[j*k+x].
func multiplyUpsampled(m *upsample.Map, dst, w []float64, rows []int32, s *scratch) {
	s.patch.Begin(m, len(dst)/len(rows))
	s.patch.Add(rows)
	s.eachCells(m, &s.patch, func(features, values []float64, n, k int) {
		simd.MultiplyMatrix(values, features, w, n, m.Dim(), k)
	})
	s.patch.Interpolate(dst, rows)
}

// eachCells calls use for batches of n cells of a patch, with their features and with their values, k for each.
func (s *scratch) eachCells(m *upsample.Map, p *upsample.Patch, use func(features, values []float64, n, k int)) {
	d, k := m.Dim(), p.Numbers
	for lo := 0; lo < len(p.Cells); lo += RowsPerBatch {
		n := min(RowsPerBatch, len(p.Cells)-lo)
		s.double = numeric.Resize(s.double, n*d)
		m.Read(s.double, p.Cells[lo:lo+n], &s.cells)
		use(s.double, p.Values[lo*k:], n, k)
	}
}

// hold adds beliefs [rows × states] to the cells that the rows of a type lie on.
func (a *Adjoint) hold(in *crf.Instance, nodeType int, rows []int32, beliefs []float64) {
	for len(a.held) <= nodeType {
		a.held = append(a.held, upsample.Patch{})
	}
	p, m := &a.held[nodeType], nodeFeatures(in, nodeType).pixels()
	if len(p.Cells) == 0 {
		p.Begin(m, len(beliefs)/len(rows))
	} else if p.Map != m {
		panic("ground: beliefs of another picture were not released")
	}
	p.Spread(rows, beliefs)
}

// Release multiplies the beliefs that are held of nodes of a type by features, and adds them
// to dst, the weights of the type.
func (a *Adjoint) Release(dst []float64, in *crf.Instance, nodeType int) {
	m := nodeFeatures(in, nodeType).pixels()
	if m == nil || len(a.held) <= nodeType {
		return
	}
	p := &a.held[nodeType]
	a.scratch.eachCells(m, p, func(features, values []float64, n, k int) {
		simd.ScatterMatrix(dst, features, values, n, m.Dim(), k)
	})
	p.Begin(m, p.Numbers)
}

// ReleaseAll is Release for all types, to the places of their weights in gradient, which is laid out like all weights.
func (a *Adjoint) ReleaseAll(gradient []float64, m *crf.Model, in *crf.Instance) {
	for t := range m.Layout.Node {
		if nodeFeatures(in, t).pixels() != nil {
			a.Release(copyOf(&m.Layout.Node[t], gradient, 0), in, t)
		}
	}
}
