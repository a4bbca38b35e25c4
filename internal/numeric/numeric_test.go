package numeric

import (
	"go/build"
	"go/types"
	"math"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

func TestRelativeDistance(t *testing.T) {
	for _, c := range []struct {
		x, y []float64
		want float64
	}{
		{[]float64{3, 0}, []float64{3, 4}, 0.8},
		{[]float64{0, 0}, []float64{0, 0}, 0},
		{[]float64{1, 0}, []float64{0, 0}, math.Inf(1)},
		{[]float64{1}, []float64{1, 0}, math.NaN()},
	} {
		if got := RelativeDistance(c.x, c.y); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("RelativeDistance(%v, %v) = %v, want %v", c.x, c.y, got, c.want)
		}
	}
}

func TestNorm(t *testing.T) {
	oracle.Equal(t, Norm([]float64{3, -4}), 5, "Norm(3, -4)")
	oracle.Equal(t, Norm(nil), 0, "Norm()")
}

// TestResize lengthens and shortens a slice: its entries stay, and memory that is long enough is used again.
func TestResize(t *testing.T) {
	s := []float32{1, 2, 3}
	long := Resize(s, 100)
	if len(long) != 100 || !slices.Equal(long[:3], s) {
		t.Errorf("lengthened to %d entries that begin with %v, want 100 that begin with %v", len(long), long[:3], s)
	}
	if short := Resize(long, 2); len(short) != 2 || &short[0] != &long[0] {
		t.Errorf("shortened to %d entries, want 2 in the same memory", len(short))
	}
	oracle.Equal(t, testing.AllocsPerRun(10, func() { long = Resize(long[:0], 100) }), 0,
		"allocations for entries that there is room for")
}

var decimal = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

// FuzzParseDecimal compares with a pattern, and values with strconv.
func FuzzParseDecimal(f *testing.F) {
	for _, text := range []string{"1", "-0.5e+3", ".5", "5.", "1e400", "1e-400", "", ".", "e5", "+-1", "1.2.3", "1_0", "0x10", "0x1p-2", "0X_1P4", "inf", "Infinity", "nan", "1e", "0b1", " 1", "1\n", "１"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseDecimal(text)
		if !decimal.MatchString(text) {
			if err == nil {
				t.Errorf("%q is read as %v", text, got)
			}
			return
		}
		if want, wantErr := strconv.ParseFloat(text, 64); got != want || (err == nil) != (wantErr == nil) || math.IsInf(got, 0) != (err != nil) {
			t.Errorf("%q is read as %v, %v, want %v, %v", text, got, err, want, wantErr)
		}
	})
}

// TestEigen: A v = λ v for every column, and values ascend.
func TestEigen(t *testing.T) {
	const n = 4
	a := []float64{2, -1, 0.5, 0, 0, 1, 3, -0.25, 0, 0, -1, 1, 0, 0, 0, 0.5} // the upper triangle
	v := slices.Clone(a)
	values, ok := Eigen(v, n)
	if !ok || !slices.IsSorted(values) {
		t.Fatalf("%v, %v", values, ok)
	}
	for k, value := range values {
		for i := range n {
			sum := 0.0
			for j := range n {
				sum += a[min(i, j)*n+max(i, j)] * v[j*n+k]
			}
			oracle.Near(t, sum, value*v[i*n+k], 1e-13, "(A v)_%d for value %v", i, value)
		}
	}
}

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
		oracle.Near(t, Log(c[0]), c[1], 2e-13, "Log(%v)", c[0])
	}
	if got := Log(0); !math.IsInf(got, -1) {
		t.Errorf("Log(0) = %v", got)
	}
	if got := Log(-1e-310); got == got {
		t.Errorf("Log(-1e-310) = %v", got)
	}
}

// TestNarrowProcessors: a build for a processor whose int has 32 bits, or whose numbers begin with the largest byte,
// ends in narrow.go, and no other does.
func TestNarrowProcessors(t *testing.T) {
	list, err := exec.Command("go", "tool", "dist", "list").Output()
	if err != nil {
		t.Skip("skipped: ", err, "; the test runs where the go command is")
	}
	for _, platform := range strings.Fields(string(list)) {
		context := build.Default
		context.GOOS, context.GOARCH, _ = strings.Cut(platform, "/")
		narrow := types.SizesFor("gc", context.GOARCH).Sizeof(types.Typ[types.Int]) < 8
		narrow = narrow || slices.Contains([]string{"mips64", "ppc64", "s390x"}, context.GOARCH)
		if p, err := context.ImportDir(".", 0); err != nil || slices.Contains(p.GoFiles, "narrow.go") != narrow {
			t.Errorf("%s: a build ends in narrow.go: %v, want %v; %v", platform, !narrow, narrow, err)
		}
	}
}
