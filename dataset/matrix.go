package dataset

import "github.com/blockbp/blockbp/crf"

// at returns the i-th number.
func (m *matrix) at(i int) float64 {
	if m.data32 != nil {
		return float64(m.data32[i])
	}
	return m.data[i]
}

// rows returns the first length of the shape.
func (m *matrix) rows() int { return m.shape[0] }

// columns returns the second length of the shape.
func (m *matrix) columns() int { return m.shape[1] }

// features freezes a matrix of two dimensions; a value that is not finite, or too
// large, is reported as *crf.Error.
func (m *matrix) features() (crf.Features, error) {
	if err := m.checkMagnitudes(); err != nil {
		return crf.Features{}, err
	}
	switch {
	case m.columns() == 0:
		return crf.Constant(m.rows(), 0), nil
	case m.data32 != nil:
		return crf.Dense(m.data32, m.columns())
	}
	return crf.Dense(m.data, m.columns())
}

// selectRows returns the rows whose type is want, in order.
func (m *matrix) selectRows(types []int32, want int32) matrix {
	dim, rows := m.columns(), 0
	var data []float64
	var data32 []float32
	for r, t := range types {
		if t != want {
			continue
		}
		rows++
		if m.data32 != nil {
			data32 = append(data32, m.data32[r*dim:(r+1)*dim]...)
		} else {
			data = append(data, m.data[r*dim:(r+1)*dim]...)
		}
	}
	return matrix{shape: []int{rows, dim}, data: data, data32: data32}
}
