package spanning

import "math"

// sum is a running sum that keeps what rounding loses (Neumaier 1974): sums over
// all edges are compared with whole numbers to within Tolerance, which naive
// summation misses from about 10⁵ edges on.
type sum struct{ rounded, lost float64 }

func (s *sum) add(x float64) {
	t := s.rounded + x
	if math.Abs(s.rounded) >= math.Abs(x) {
		s.lost += (s.rounded - t) + x
	} else {
		s.lost += (x - t) + s.rounded
	}
	s.rounded = t
}

// over returns by how much the sum exceeds a bound.
func (s *sum) over(bound float64) float64 { return (s.rounded - bound) + s.lost }
