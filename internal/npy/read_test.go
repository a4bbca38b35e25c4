package npy

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// npy puts together an array file of format version 1.
func npyFile(header string, data []byte) []byte {
	b := []byte(Magic + "\x01\x00")
	b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	return slices.Concat(b, []byte(header), data)
}

func npyOf(descr string, fortran string, shape string, order binary.ByteOrder, data any) []byte {
	raw, err := binary.Append(nil, order, data)
	if err != nil {
		panic(err) // a mistake in the test
	}
	return npyFile(fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n", descr, fortran, shape), raw)
}

func readNPYInts(data []byte) ([]int32, error) {
	h, raw, err := Open(data)
	if err != nil {
		return nil, err
	}
	a, err := h.Integers(raw)
	return a.Ints, err
}

func readNPYFloats(data []byte) (Values, error) {
	h, raw, err := Open(data)
	if err != nil {
		return Values{}, err
	}
	return h.Floats(raw), nil
}

func TestNPYIntegers(t *testing.T) {
	le, be := binary.LittleEndian, binary.BigEndian
	want := []int32{1, 2, 3, 4, 5, 6}
	for name, data := range map[string][]byte{
		"int8":          npyOf("|i1", "False", "(2, 3)", le, []int8{1, 2, 3, 4, 5, 6}),
		"uint8":         npyOf("|u1", "False", "(2, 3)", le, []uint8{1, 2, 3, 4, 5, 6}),
		"int16":         npyOf("<i2", "False", "(2, 3)", le, []int16{1, 2, 3, 4, 5, 6}),
		"uint16 big":    npyOf(">u2", "False", "(2, 3)", be, []uint16{1, 2, 3, 4, 5, 6}),
		"int32":         npyOf("<i4", "False", "(2, 3)", le, []int32{1, 2, 3, 4, 5, 6}),
		"uint32":        npyOf("<u4", "False", "(2, 3)", le, []uint32{1, 2, 3, 4, 5, 6}),
		"int64 big":     npyOf(">i8", "False", "(2, 3)", be, []int64{1, 2, 3, 4, 5, 6}),
		"uint64":        npyOf("<u8", "False", "(2, 3)", le, []uint64{1, 2, 3, 4, 5, 6}),
		"Fortran":       npyOf("<i8", "True", "(2, 3)", le, []int64{1, 4, 2, 5, 3, 6}),
		"Python 2":      npyOf("<i8", "False", "(2L, 3L)", le, []int64{1, 2, 3, 4, 5, 6}),
		"double quotes": npyFile(`{"descr":"|u1","shape":(6,),"fortran_order":False}`, []byte{1, 2, 3, 4, 5, 6}),
	} {
		oracle.Equal(t, oracle.Must(readNPYInts(data))(t), want, "%s", name)
	}
}

func TestNPYFloats(t *testing.T) {
	le := binary.LittleEndian
	m, err := readNPYFloats(npyOf("<f4", "True", "(1, 2, 2)", le, []float32{1, 2, 3, 4}))
	if err != nil || !slices.Equal(m.Single, []float32{1, 3, 2, 4}) || m.Double != nil {
		t.Errorf("float32: %v (%v)", m, err)
	}
	long := make([]float64, 1000)
	for i := range long {
		long[i] = float64(i)
	}
	m = oracle.Must(readNPYFloats(npyOf(">f8", "False", fmt.Sprintf("(%d,)", len(long)), binary.BigEndian, long)))(t)
	oracle.Equal(t, m.Double, long, "float64")
	m = oracle.Must(readNPYFloats(npyOf("|b1", "False", "(2, 1)", le, []byte{1, 0})))(t)
	oracle.Equal(t, m.Single, []float32{1, 0}, "bool")
	m = oracle.Must(readNPYFloats(npyOf("<i4", "True", "(2, 2)", le, []int32{1, 2, 3, 4})))(t)
	oracle.Equal(t, m.Double, []float64{1, 3, 2, 4}, "int32")
}

// TestNPYHalf reads every number of 16 bits, and compares with its definition.
func TestNPYHalf(t *testing.T) {
	all := make([]uint16, 1<<16)
	for i := range all {
		all[i] = uint16(i)
	}
	m := oracle.Must(readNPYFloats(npyOf(">f2", "False", "(65536,)", binary.BigEndian, all)))(t)
	for i, got := range m.Single {
		sign, exponent, mantissa := 1-2*float64(i>>15), i>>10&31, float64(i&1023)/1024
		want := sign * math.Ldexp(1+mantissa, exponent-15)
		switch {
		case exponent == 0:
			want = sign * math.Ldexp(mantissa, -14)
		case exponent == 31 && mantissa == 0:
			want = math.Inf(int(sign))
		case exponent == 31:
			want = math.NaN()
		}
		if x := float64(got); x != want && !(math.IsNaN(x) && math.IsNaN(want)) || math.Signbit(x) != (i>>15 == 1) {
			t.Fatalf("%#04x is read as %v, want %v", i, got, want)
		}
	}
}

func TestNPYRefuses(t *testing.T) {
	le := binary.LittleEndian
	sound := npyOf("<i4", "False", "(2,)", le, []int32{1, 2})
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":        {nil, "does not begin"},
		"other magic":  {[]byte("PK\x03\x04abcdefgh"), "does not begin"},
		"version":      {append([]byte(Magic+"\x09\x00"), sound[8:]...), "version is 9"},
		"header cut":   {sound[:30], "cut short"},
		"length cut":   {sound[:9], "cut short"},
		"data cut":     {sound[:len(sound)-1], "cut short"},
		"objects":      {npyOf("|O", "False", "(2,)", le, []int32{1, 2}), "Python objects"},
		"objects 8":    {npyOf("|O8", "False", "(2,)", le, []int32{1, 2}), "Python objects"},
		"records":      {npyFile("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (2,)}", nil), "records"},
		"float16":      {npyOf("<f2", "False", "(2,)", le, []int16{1, 2}), "astype(numpy.int32)"},
		"text":         {npyOf("<U5", "False", "(2,)", le, []int32{1, 2}), "dtype is"},
		"huge shape":   {npyOf("<i4", "False", "(4294967296, 4294967296)", le, []int32{1, 2}), "too large"},
		"negative":     {npyOf("<i4", "False", "(-1,)", le, []int32{1, 2}), "shape"},
		"no shape":     {npyFile("{'descr': '<i4', 'fortran_order': False}", nil), `no "shape"`},
		"large header": {append([]byte(Magic+"\x02\x00"), 0xff, 0xff, 0xff, 0x7f), "at most"},
		"float ints":   {npyOf("<f8", "False", "(1,)", le, []float64{1}), "astype(numpy.int32)"},
		"too large":    {npyOf("<i8", "True", "(1, 2)", le, []int64{1, 1 << 40}), "[0,1]: is 1099511627776"},
		"beyond int64": {npyOf("<u8", "False", "(1,)", le, []uint64{math.MaxUint64}),
			"[0]: is 1.8446744073709552e+19, want at most 31 bits"},
		"no dictionary": {npyFile("descr", nil), "{"},
	} {
		if _, err := readNPYInts(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error is %v, want one with %q", name, err, c.want)
		}
	}
}

func FuzzNPY(f *testing.F) {
	f.Add(npyOf("<f4", "True", "(1, 2, 2)", binary.LittleEndian, []float32{1, 2, 3, 4}))
	f.Add(npyOf(">u8", "False", "(2,)", binary.BigEndian, []uint64{1, 2}))
	f.Add(npyOf("|b1", "False", "()", binary.BigEndian, []byte{1}))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, raw, err := Open(data)
		if err != nil {
			return
		}
		if m := h.Floats(raw); len(m.Double)+len(m.Single) != h.Count {
			t.Errorf("%d elements of %d", len(m.Double)+len(m.Single), h.Count)
		}
		if ints, err := h.Integers(raw); err == nil && ints.Len() != h.Count {
			t.Errorf("%d elements of %d", ints.Len(), h.Count)
		}
	})
}

// TestCut: parts have the rows of their own, also one that has none, and numbers of all.
func TestCut(t *testing.T) {
	rules := Rules{{Name: Edges, Shape: "[m, 2]"}, {Name: "labels", Shape: "[n]"}, {Name: "directed", Shape: "[]"},
		{Name: "weight", Shape: "[instances]", Float: true}}
	all := Set{Rules: rules, Arrays: map[string]Values{Edges: {Shape: []int{1, 2}, Ints: []int32{0, 1}},
		"labels": {Shape: []int{3}, Ints: []int32{7, 8, 9}}, "directed": {Ints: []int32{1}},
		"weight": {Shape: []int{2}, Double: []float64{4, 5}}}}
	first, both := map[string]int{"n": 1, "m": 0, "instances": 1}, map[string]int{"n": 3, "m": 1, "instances": 2}
	for want, at := range map[string][2]map[string]int{
		"[] [7] [1] [4]":      {nil, first},
		"[0 1] [8 9] [1] [5]": {first, both},
	} {
		part := all.Cut(at[0], at[1])
		got := fmt.Sprint(part[Edges].Ints, part["labels"].Ints, part["directed"].Ints, part["weight"].Double)
		if got != want || len(part["weight"].Shape) > 0 {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
