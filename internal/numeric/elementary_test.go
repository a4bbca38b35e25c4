package numeric

import (
	"math"
	"testing"
)

// TestExp compares with values from 300-bit arithmetic, at the ends of the range of
// float64 above all: math.Exp is +Inf at 709.46 on amd64.
func TestExp(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range [][2]float64{
		{PlainExp, 8.218407461554972e+307}, {709.0000000000001, 8.218407461555906e+307}, {709.4361, 1.2711110465621931e+308},
		{709.437, 1.2722555614585495e+308}, {709.46, 1.3018565457934242e+308}, {709.782712893384, 1.7976931348622732e+308},
		{709.7827128933841, inf}, {710, inf}, {1e300, inf}, {inf, inf}, {-inf, 0}, {0, 1},
		{-745.1332191019411, math.SmallestNonzeroFloat64}, {-745.1332191019412, 0},
	} {
		if got := Exp(c[0]); got != c[1] && !(math.Abs(got/c[1]-1) <= 0x1p-52) {
			t.Errorf("Exp(%v) = %v, want %v", c[0], got, c[1])
		}
	}
	if got := Exp(math.NaN()); got == got {
		t.Errorf("Exp(NaN) = %v", got)
	}
}

// TestLog: denormals, for which math.Log is wrong on amd64.
func TestLog(t *testing.T) {
	for _, c := range [][2]float64{{math.SmallestNonzeroFloat64, -744.4400719213812}, {1e-310, -713.8013788281542}, {0x1p-1022, -708.3964185322641}, {1, 0}} {
		if got := Log(c[0]); !(math.Abs(got-c[1]) <= 2e-13) {
			t.Errorf("Log(%v) = %v, want %v", c[0], got, c[1])
		}
	}
	if got := Log(0); !math.IsInf(got, -1) {
		t.Errorf("Log(0) = %v", got)
	}
	if got := Log(-1e-310); got == got {
		t.Errorf("Log(-1e-310) = %v", got)
	}
}
