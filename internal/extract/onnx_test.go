package extract_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/extract"
	"github.com/blockbp/blockbp/internal/oracle"
)

// network has a 1×1 convolution of 3 channels to 2, a ReLU of it, and behind that the
// largest channel, as networks that label pixels end.
func network() *oracle.ONNX {
	return oracle.NewONNX().Input("picture", 1, -1, 3, -2, -3).
		Weights("w", []float32{1, 2, 3, -1, 0, 1}, 2, 3, 1, 1).Weights("unused", []float32{7}, 1).
		Node("Conv", []string{"picture", "w"}, []string{"scores"}).
		Node("Relu", []string{"scores"}, []string{"positive"}).
		Node("ArgMax", []string{"positive"}, []string{"labels"}, oracle.ONNXAttribute{Name: "axis", Ints: []int64{1}, Int: true}).
		Output("labels", 7, -1, 1, -2, -3)
}

func layer(t *testing.T, file []byte, name string) *extract.Layer {
	t.Helper()
	m := oracle.Must(extract.Parse(file))(t)
	l := oracle.Must(m.Layer(name))(t)
	return l
}

// open skips where there is no library.
func open(t *testing.T) *extract.Library {
	t.Helper()
	l, err := extract.Open(t.Context(), "")
	if errors.Is(err, extract.ErrNoLibrary) {
		t.Skipf("no network can be run: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func floats(numbers ...float32) extract.Tensor {
	data, err := binary.Append(nil, binary.LittleEndian, numbers)
	if err != nil {
		panic(err)
	}
	return extract.Tensor{Type: extract.Float, Data: data}
}

func numbers(t *testing.T, x extract.Tensor) []float32 {
	t.Helper()
	values := make([]float32, len(x.Data)/4)
	if _, err := binary.Decode(x.Data, binary.LittleEndian, values); err != nil {
		t.Fatal(err)
	}
	return values
}

func run(t *testing.T, l *extract.Layer, folder string, input extract.Tensor) extract.Tensor {
	t.Helper()
	s := oracle.Must(open(t).NewSession(l, folder, 1))(t)
	defer s.Close()
	x := oracle.Must(s.Run(t.Context(), input))(t)
	return x
}

// TestLayers: every layer is computed, inner ones too, as the sums say that are worked
// out here by hand.
func TestLayers(t *testing.T) {
	// Two pictures of 1×2 pixels: channels (1, 4), (2, 5), (3, 6), and those less 3.
	input := floats(1, 4, 2, 5, 3, 6, -2, 1, -1, 2, 0, 3)
	input.Dims = []int64{2, 3, 1, 2}
	for _, test := range []struct {
		name string
		dims []int64
		want []float32
	}{
		{"scores", []int64{2, 2, 1, 2}, []float32{14, 32, 2, 2, -4, 14, 2, 2}},
		{"positive", []int64{2, 2, 1, 2}, []float32{14, 32, 2, 2, 0, 14, 2, 2}},
		{"step positive", []int64{2, 2, 1, 2}, []float32{14, 32, 2, 2, 0, 14, 2, 2}},
	} {
		got := run(t, layer(t, network().File(), test.name), ".", input)
		if got.Type != extract.Float || !slices.Equal(got.Dims, test.dims) || !slices.Equal(numbers(t, got), test.want) {
			t.Errorf("%s: %v %v %v, want float32 %v %v", test.name, got.Type, got.Dims, numbers(t, got), test.dims, test.want)
		}
	}
	got := run(t, layer(t, network().File(), ""), ".", input)
	if got.Type.String() != "int64" || !slices.Equal(got.Dims, []int64{2, 1, 1, 2}) || got.Data != nil {
		t.Errorf("labels: %v %v, %d bytes, want int64 [2 1 1 2], and none that are read", got.Type, got.Dims, len(got.Data))
	}
}

// TestNetworkOfLayer: the part that leads to a layer has nothing else, and graphs within
// steps keep what they take from outside.
func TestNetworkOfLayer(t *testing.T) {
	l := layer(t, network().File(), "scores")
	part := oracle.Must(l.Network())(t)
	if text := string(part); strings.Contains(text, "ArgMax") || strings.Contains(text, "Relu") || strings.Contains(text, "unused") || !strings.Contains(text, "Conv") {
		t.Errorf("the part has other steps: %q", text)
	}
	again := oracle.Must(extract.Parse(part))(t)
	if names := again.Layers(); !slices.Equal(names, []string{"scores"}) {
		t.Errorf("layers of the part are %q, want scores alone", names)
	}
	if in := l.Input; in.Name != "picture" || in.Type != extract.Float || !slices.Equal(in.Dims, []int64{-1, 3, -1, -1}) {
		t.Errorf("input is %+v", in)
	}

	// "yes" and "no" are graphs that take "doubled" and "picture" from outside.
	branch := func(op, from string) *oracle.ONNX {
		return oracle.NewONNX().Node(op, []string{from}, []string{op}).Output(op, 1, -1)
	}
	choice := oracle.NewONNX().Input("picture", 1, -1).Weights("zero", []float32{0}, 1).
		Node("Add", []string{"picture", "picture"}, []string{"doubled"}).
		Node("ReduceMax", []string{"picture"}, []string{"most"}, oracle.ONNXAttribute{Name: "keepdims", Ints: []int64{0}, Int: true}).
		Node("Cast", []string{"most"}, []string{"any"}, oracle.ONNXAttribute{Name: "to", Ints: []int64{9}, Int: true}).
		Node("If", []string{"any"}, []string{"chosen"},
			oracle.ONNXAttribute{Name: "then_branch", Graph: branch("Neg", "doubled")}, oracle.ONNXAttribute{Name: "else_branch", Graph: branch("Abs", "picture")}).
		Node("Relu", []string{"chosen"}, []string{"end"}).Output("end", 1, -1)
	input := floats(-1, 3)
	input.Dims = []int64{2}
	if got := numbers(t, run(t, layer(t, choice.File(), "chosen"), ".", input)); !slices.Equal(got, []float32{2, -6}) {
		t.Errorf("chosen is %v, want [2 -6]", got)
	}
}

// TestWeightsInOtherFiles: weights beside the network are found, though only a part of it
// is run.
func TestWeightsInOtherFiles(t *testing.T) {
	folder := t.TempDir()
	oracle.OK(t, os.WriteFile(filepath.Join(folder, "w.data"), floats(5, 6, 7).Data, 0o600))
	file := oracle.NewONNX().Input("x", 1, 1, 3, 1, 1).WeightsIn("w.data", "w", 1, 3, 1, 1).
		Node("Conv", []string{"x", "w"}, []string{"y"}).Node("Relu", []string{"y"}, []string{"z"}).Output("z", 1, 1, 1, 1, 1).File()
	input := floats(1, 10, 100)
	input.Dims = []int64{1, 3, 1, 1}
	if got := numbers(t, run(t, layer(t, file, "y"), folder, input)); !slices.Equal(got, []float32{765}) {
		t.Errorf("y is %v, want 765", got)
	}
}

// TestStops: a context that ended ends the work.
func TestStops(t *testing.T) {
	s := oracle.Must(open(t).NewSession(layer(t, network().File(), "scores"), ".", 1))(t)
	defer s.Close()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	input := floats(make([]float32, 3)...)
	input.Dims = []int64{1, 3, 1, 1}
	if _, err := s.Run(ctx, input); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want that the context ended", err)
	}
	if x, err := s.Run(t.Context(), input); err != nil || len(x.Data) != 8 {
		t.Errorf("then %v, %v, want two numbers", x, err)
	}
}

// TestErrors: what is wrong is said with what there is.
func TestErrors(t *testing.T) {
	two := oracle.NewONNX().Input("a", 1, 1).Input("b", 1, 1).Node("Add", []string{"a", "b"}, []string{"c"}).Node("Neg", []string{"a"}, []string{"d"}).
		Output("c", 1, 1).Output("d", 1, 1)
	for _, test := range []struct{ layer, want string }{
		{"e", `no layer "e"; its layers are c, d`}, {"", "2 outputs: choose one, or an inner layer: c, d"}, {"c", "c needs 2 inputs (a, b), want 1"},
	} {
		m, err := extract.Parse(two.File())
		if err == nil {
			_, err = m.Layer(test.layer)
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("layer %q: error is %v, want %q", test.layer, err, test.want)
		}
	}
	file := network().File()
	for _, damaged := range [][]byte{nil, []byte("PK\x03\x04 a zip file"), file[:len(file)/2]} {
		if _, err := extract.Parse(damaged); err == nil || !strings.Contains(err.Error(), "no ONNX file") {
			t.Errorf("%d bytes: error is %v", len(damaged), err)
		}
	}
	m := oracle.Must(extract.Parse(network().File()))(t)
	if _, err := m.Layer("score"); err == nil || !strings.Contains(err.Error(), "did you mean scores?") {
		t.Errorf("error is %v", err)
	}
}

// TestNoLibrary: what is no library is named, with how to get one.
func TestNoLibrary(t *testing.T) {
	nothing := filepath.Join(t.TempDir(), "libonnxruntime.so")
	oracle.OK(t, os.WriteFile(nothing, []byte("no library"), 0o600))
	for _, path := range []string{nothing, filepath.Dir(nothing), filepath.Join(t.TempDir(), "absent.so"), t.TempDir()} {
		_, err := extract.Open(t.Context(), path)
		if !errors.Is(err, extract.ErrNoLibrary) || !strings.Contains(err.Error(), "pip install onnxruntime") {
			t.Errorf("%s: error is %v", path, err)
		}
	}
}

// FuzzParse: no bytes make it panic, and what is parsed can be cut.
func FuzzParse(f *testing.F) {
	f.Add(network().File(), "scores")
	f.Fuzz(func(_ *testing.T, file []byte, name string) {
		m, err := extract.Parse(file)
		if err != nil {
			return
		}
		if l, err := m.Layer(name); err == nil {
			_, _ = l.Network()
		}
	})
}

// TestTypes: names are NumPy's.
func TestTypes(t *testing.T) {
	if extract.Float16.String() != "float16" || extract.Type(math.MaxInt32).Size() != 0 || extract.Double.Size() != 8 {
		t.Error(extract.Float16, extract.Double.Size())
	}
}
