package safetensors

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/oracle"
)

func write(t testing.TB, metadata map[string]string, tensors ...Tensor) []byte {
	t.Helper()
	var b bytes.Buffer
	oracle.OK(t, Write(&b, metadata, tensors))
	return b.Bytes()
}

func open(data []byte) (*File, error) { return NewFile(bytes.NewReader(data), int64(len(data))) }

// file puts together a file with the given header.
func file(header, data string) []byte {
	return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), []byte(header), []byte(data))
}

func TestRoundTrip(t *testing.T) {
	long := make([]float64, 100_017)
	for i := range long {
		long[i] = math.Sqrt(float64(i))
	}
	long[0] = math.Copysign(0, -1)
	metadata := map[string]string{"b": "ü <&> \"\n", "a": "", ChecksumKey: ""}
	tensors := []Tensor{
		New("long", []int{len(long)}, long),
		New("empty", []int{0, 5}, nil),
		New("scalar", nil, []float64{math.SmallestNonzeroFloat64}),
		New("pair", []int{2, 1}, []float64{-1, math.MaxFloat64}),
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	oracle.OK(t, WriteFile(path, metadata, tensors))
	slices.Reverse(tensors)
	raw := oracle.Must(os.ReadFile(path))(t)
	oracle.Equal(t, raw, write(t, maps.Clone(metadata), tensors...), "bytes of another order of tensors")
	if n := binary.LittleEndian.Uint64(raw); n%8 != 0 {
		t.Errorf("header has %d bytes, want a multiple of 8", n)
	}
	f := oracle.Must(Open(path))(t)
	defer f.Close()
	oracle.OK(t, f.Verify())
	metadata[ChecksumKey] = f.Metadata()[ChecksumKey]
	oracle.Equal(t, f.Metadata(), metadata, "metadata")
	names := numeric.Map(f.Tensors(), func(i Info) string { return i.Name })
	oracle.Equal(t, names, []string{"empty", "long", "pair", "scalar"}, "tensors are in the order")
	for name, want := range map[string][]float64{
		"long": long, "empty": {}, "scalar": {math.SmallestNonzeroFloat64}, "pair": {-1, math.MaxFloat64},
	} {
		oracle.Equal(t, oracle.Must(Read(f, name))(t), want, "tensor %q", name)
	}
	oracle.Fails(Read(f, "lang"))(t, `tensor "lang" is missing`)
}

// The bytes are those of the format's own description.
func TestBytes(t *testing.T) {
	got := write(t, nil, New("t", []int{1, 2}, []float64{1, -2}))
	header := `{"t":{"dtype":"F64","shape":[1,2],"data_offsets":[0,16]}}`
	want := file(header+strings.Repeat(" ", -len(header)&7),
		"\x00\x00\x00\x00\x00\x00\xf0\x3f\x00\x00\x00\x00\x00\x00\x00\xc0")
	oracle.Equal(t, got, want, "the file")
}

func TestWriteRefuses(t *testing.T) {
	for name, tensors := range map[string][]Tensor{
		"names twice":     {New("a", nil, []float64{0}), New("a", nil, []float64{0})},
		"reserved name":   {New(metadataKey, nil, []float64{0})},
		"invalid UTF-8":   {New("\xff", nil, []float64{0})},
		"too few":         {New("a", []int{2}, []float64{0})},
		"too few chunks":  {NewChunks("a", []int{2}, func(yield func([]float64) bool) { yield([]float64{0}) })},
		"negative length": {New("a", []int{-1}, []float64{})},
		"overflow":        {New("a", []int{math.MaxInt / 2, 4}, []float64{})},
		"no data":         {{Name: "a"}},
	} {
		if err := Write(&bytes.Buffer{}, nil, tensors); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	oracle.WantError(t, Write(&bytes.Buffer{}, map[string]string{"a": "\xff"}, nil), `metadata "a" is not valid UTF-8`)
}

func TestDamagedFiles(t *testing.T) {
	const tensor = `{"dtype":"U8","shape":[2],"data_offsets":[0,2]}`
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":            {nil, "at least 8"},
		"huge header":      {bytes.Repeat([]byte{0xff}, 16), "at most"},
		"header cut":       {file(`{"a":`+tensor+`}`, "")[:20], "cut short"},
		"data cut":         {file(`{"a":`+tensor+`}`, "x"), "cut short"},
		"data too long":    {file(`{"a":`+tensor+`}`, "xxx"), "the file has 3"},
		"not JSON":         {file(`{"a":`, ""), "not JSON"},
		"array":            {file(`[]`, ""), "object"},
		"trailing text":    {file(`{} x`, ""), "after top-level"},
		"overlap":          {file(`{"a":`+tensor+`,"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}`, "xxx"), "within"},
		"gap":              {file(`{"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}`, "xxx"), "gap"},
		"wrong size":       {file(`{"a":{"dtype":"F64","shape":[2],"data_offsets":[0,2]}}`, "xx"), "want 16"},
		"reversed":         {file(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[2,0]}}`, "xx"), "range"},
		"three offsets":    {file(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,1,2]}}`, "xx"), "want 2"},
		"unknown type":     {file(`{"a":{"dtype":"C64","shape":[2],"data_offsets":[0,2]}}`, "xx"), "unknown"},
		"overflow":         {file(`{"a":{"dtype":"U8","shape":[4294967296,4294967296,16],"data_offsets":[0,0]}}`, ""), "too large"},
		"negative":         {file(`{"a":{"dtype":"U8","shape":[-1,-2],"data_offsets":[0,2]}}`, "xx"), "negative"},
		"number metadata":  {file(`{"__metadata__":{"a":1}}`, ""), "metadata: "},
		"metadata is list": {file(`{"__metadata__":[]}`, ""), "metadata: "},
	} {
		if _, err := open(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error is %v, want one with %q", name, err, c.want)
		}
	}
}

// TestDamageIsFound: a sealed file that was changed anywhere is found out, also where
// its text has more than one spelling.
func TestDamageIsFound(t *testing.T) {
	for _, whole := range [][]byte{
		write(t, map[string]string{ChecksumKey: ""}),
		write(t, map[string]string{ChecksumKey: "", "b": "ü\n\"", "z\"" + ChecksumKey: checksumPrefix + zeroDigits},
			New("a", []int{2}, []float64{1, 2}), New(ChecksumKey, []int{1}, []float64{7})),
	} {
		if f, err := open(whole); err != nil || f.Verify() != nil {
			t.Fatalf("%q: %v", whole, err)
		}
		for what, changed := range damaged(whole, 1) {
			if f, err := open(changed); err == nil && f.Verify() == nil {
				t.Errorf("%s was changed without an error", what)
			}
		}
	}
}

// TestOtherChecksums: a file without a checksum, or with another kind of one, is not taken for whole.
func TestOtherChecksums(t *testing.T) {
	data := New("a", []int{2}, []float64{1, 2})
	for want, metadata := range map[string]map[string]string{
		"no checksum":   {"crc32c": "3726ddd9"},
		"newer blockbp": {ChecksumKey: "sha256:3726ddd9"},
		"damaged":       {ChecksumKey: "crc32c:1\"2\"3\"4\""},
	} {
		f := oracle.Must(open(write(t, metadata, data)))(t)
		oracle.WantError(t, f.Verify(), want)
	}
}

func FuzzFile(f *testing.F) {
	f.Add(write(f, map[string]string{"k": "v", ChecksumKey: ""}, New("a", []int{2}, []float64{1, 2}), New("b", []int{1},
		[]float64{7})))
	f.Add(file(`{"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}`, "abcd"))
	f.Add(file(`{"__metadata__":{}}`, ""))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := open(data)
		if err != nil {
			return
		}
		_ = file.Verify()
		total := 0
		for _, info := range file.Tensors() {
			data, err := Read(file, info.Name)
			if total += 8 * len(data); (err == nil) != (info.DType == F64) {
				t.Errorf("a tensor of type %s: %v", info.DType, err)
			}
		}
		if total > len(data) {
			t.Errorf("%d bytes of tensors in a file of %d", total, len(data))
		}
		rewritten(t, file)
	})
}

// rewritten writes again what was read of a file, and wants it to be the same.
func rewritten(t *testing.T, f *File) {
	metadata := map[string]string{ChecksumKey: ""}
	for key, value := range f.Metadata() {
		if key != ChecksumKey {
			metadata[key] = value
		}
	}
	var tensors []Tensor
	for _, info := range f.Tensors() {
		switch {
		case info.Name == "": // which others may write
			return
		case info.DType == F64:
			tensors = append(tensors, New(info.Name, info.Shape, oracle.Must(Read(f, info.Name))(t)))
		}
	}
	text := write(t, metadata, tensors...)
	again, err := open(text)
	if err == nil {
		err = again.Verify()
	}
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	metadata[ChecksumKey] = again.Metadata()[ChecksumKey]
	if !maps.Equal(metadata, again.Metadata()) || len(again.Tensors()) != len(tensors) {
		t.Errorf("%q has metadata %q and tensors %v", text, again.Metadata(), again.Tensors())
	}
	for _, tensor := range tensors {
		was, _ := f.Find(tensor.Name)
		is, _ := again.Find(tensor.Name)
		before, after := make([]byte, was.Offsets[1]-was.Offsets[0]), make([]byte, is.Offsets[1]-is.Offsets[0])
		_, _ = f.data.ReadAt(before, was.Offsets[0])
		_, _ = again.data.ReadAt(after, is.Offsets[0])
		if !bytes.Equal(before, after) || !slices.Equal(was.Shape, is.Shape) {
			t.Errorf("tensor %q is %x in shape %v, was %x in %v", tensor.Name, after, is.Shape, before, was.Shape)
		}
	}
}

// TestReadChunks: chunks of any lengths get what a tensor has, if they are as many.
func TestReadChunks(t *testing.T) {
	want := make([]float64, 3*bufferBytes+5)
	for i := range want {
		want[i] = float64(i)
	}
	var file bytes.Buffer
	oracle.OK(t, Write(&file, nil, []Tensor{New("other", []int{2}, []float64{1, 2}), New("x", []int{len(want)}, want)}))
	f := oracle.Must(NewFile(bytes.NewReader(file.Bytes()), int64(file.Len())))(t)
	info, _ := f.Find("x")
	for _, lengths := range [][]int{{len(want)}, {0, 1, 7, bufferBytes, 0, 2*bufferBytes - 3}} {
		got := make([]float64, len(want))
		chunks := func(yield func([]float64) bool) {
			left := got
			for _, n := range lengths {
				if !yield(left[:n]) {
					return
				}
				left = left[n:]
			}
		}
		if err := ReadChunks(f, info, chunks); err != nil || !slices.Equal(got, want) {
			t.Errorf("chunks of %v: error %v, or other numbers", lengths, err)
		}
	}
	for _, n := range []int{len(want) - 1, len(want) + 1} {
		if err := ReadChunks(f, info, slices.Values([][]float64{make([]float64, n)})); err == nil {
			t.Errorf("%d elements are read of %d", n, len(want))
		}
	}
}

// randomDamages is how many random pairs of flipped bits damaged makes.
const randomDamages = 2000

// damaged yields a file with every bit flipped alone, with random pairs of bits flipped,
// and cut off after every byte, each with what was done to it. The bytes are reused.
func damaged(file []byte, seed uint64) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		b := slices.Clone(file)
		flip := func(bit int) { b[bit/8] ^= 1 << (bit % 8) }
		name := func(bit int) string { return fmt.Sprintf("bit %d of byte %d (%q)", bit%8, bit/8, file[bit/8]) }
		for bit := range 8 * len(b) {
			flip(bit)
			if !yield(name(bit), b) {
				return
			}
			flip(bit)
		}
		random := rand.New(rand.NewPCG(seed, 0))
		for range randomDamages {
			one, other := random.IntN(8*len(b)), random.IntN(8*len(b))
			if one == other {
				continue
			}
			flip(one)
			flip(other)
			if !yield(name(one)+" and "+name(other), b) {
				return
			}
			flip(one)
			flip(other)
		}
		for n := range b {
			if !yield(fmt.Sprintf("all after byte %d", n), b[:n:n]) {
				return
			}
		}
	}
}
