package exact

import (
	"math"

	"github.com/blockbp/blockbp/internal/numeric"
)

// product multiplies tables over one block.
type product struct {
	constants []*view
	vectors   []*view
	gathered  []float64 // scratch
}

// add divides tables by how they are met in a block.
func (p *product) add(v *view) {
	if v.access == constant {
		p.constants = append(p.constants, v)
	} else {
		p.vectors = append(p.vectors, v)
	}
}

// linear sets dst to the product at state own of the bucket's variable. It
// returns false, and leaves dst alone, if all of it is zero.
func (p *product) linear(dst []float64, own int) bool {
	factor := 1.0
	for _, v := range p.constants {
		factor *= v.block(own)[0]
	}
	if factor == 0 {
		return false
	}
	numeric.Fill(dst, factor)
	for _, v := range p.vectors {
		src := p.read(v, own, len(dst))
		for k := range dst {
			dst[k] *= src[k]
		}
	}
	return true
}

// read returns the n entries of a table at state own, one for each of the block.
func (p *product) read(v *view, own, n int) []float64 {
	src := v.block(own)
	if v.access == contiguous {
		return src[:n]
	}
	p.gathered = numeric.Resize(p.gathered, n)
	dst, offsets := p.gathered[:n], v.offsets[:n]
	for k := range dst {
		dst[k] = src[offsets[k]]
	}
	return dst
}

// log sets dst to the sum of logarithms at state own of the bucket's variable.
// It returns false, and leaves dst alone, if all of it is -Inf.
func (p *product) log(dst []float64, own int) bool {
	sum := 0.0
	for _, v := range p.constants {
		sum += v.block(own)[0]
	}
	if math.IsInf(sum, -1) {
		return false
	}
	numeric.Fill(dst, sum)
	for _, v := range p.vectors {
		add(dst, p.read(v, own, len(dst)))
	}
	return true
}

// probability is linear or log, as the tables are, and sets dst to values either way.
func (p *product) probability(dst []float64, own int, logarithmic bool) bool {
	if !logarithmic {
		return p.linear(dst, own)
	}
	if !p.log(dst, own) {
		return false
	}
	for k, v := range dst {
		dst[k] = math.Exp(v)
	}
	return true
}

// add sets dst += src.
func add(dst, src []float64) {
	src = src[:len(dst)]
	for k := range dst {
		dst[k] += src[k]
	}
}

// scatter adds src to the view's table, entry by entry: a marginalisation. total is the sum of src.
func (v *view) scatter(src []float64, own int, total float64) {
	dst := v.block(own)
	switch v.access {
	case constant:
		dst[0] += total
	case contiguous:
		add(dst, src)
	case gathered:
		offsets := v.offsets[:len(src)]
		for k := range src {
			dst[offsets[k]] += src[k]
		}
	}
}
