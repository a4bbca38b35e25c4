package cli_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/extract"
	numpy "github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/oracle"
)

// needONNX skips where networks cannot be run.
func needONNX(t *testing.T) {
	t.Helper()
	if _, err := extract.Open(t.Context(), ""); errors.Is(err, extract.ErrNoLibrary) {
		t.Skipf("no network can be run: %v", err)
	}
}

// mixing are the weights of the test's networks: features 0 to 2 are red, green and blue,
// and 3 is twice blue less red.
var mixing = []float32{1, 0, 0, 0, 1, 0, 0, 0, 1, -1, 0, 2}

// writeNetwork writes a network of one 1×1 convolution, of every stride-th pixel, a ReLU
// of it and a softmax.
func writeNetwork(t *testing.T, path string, stride int64, dims ...int64) string {
	t.Helper()
	network := oracle.NewONNX().Input("picture", 1, dims...).Weights("w", mixing, 4, 3, 1, 1).
		Node("Conv", []string{"picture", "w"}, []string{"mixed"}, oracle.ONNXAttribute{Name: "strides", Ints: []int64{stride, stride}}).
		Node("Relu", []string{"mixed"}, []string{"positive"}).
		Node("Softmax", []string{"positive"}, []string{"shares"}, oracle.ONNXAttribute{Name: "axis", Ints: []int64{1}, Int: true}).
		Output("shares", 1, -1, 4, -2, -3)
	return writeFile(t, path, string(network.File()))
}

// readMap reads a map of either type.
func readMap(t *testing.T, path string) (shape string, values []float64) {
	t.Helper()
	header, data, _ := strings.Cut(readFile(t, path), "\n")
	_, shape, _ = strings.Cut(header, "'shape': (")
	shape, _, _ = strings.Cut(shape, ")")
	for raw := []byte(data); len(raw) > 0; {
		if strings.Contains(header, "<f2") {
			values = append(values, float64(numpy.Half(binary.LittleEndian.Uint16(raw)).Float32()))
			raw = raw[2:]
		} else {
			values = append(values, float64(math.Float32frombits(binary.LittleEndian.Uint32(raw))))
			raw = raw[4:]
		}
	}
	return shape, values
}

// drawPhoto makes a photograph whose pixels all differ.
func drawPhoto(t *testing.T, path string, width, height int) *image.RGBA {
	t.Helper()
	picture := image.NewRGBA(image.Rect(0, 0, width, height))
	for i := range width * height {
		picture.SetRGBA(i%width, i/width, color.RGBA{uint8(3 * i), uint8(255 - 5*i), uint8(40 + 7*i), 255})
	}
	file, err := os.Create(path)
	if err == nil {
		err = errors.Join(png.Encode(file, picture), file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return picture
}

// TestFeatures: maps are what the network's formula says of the pixels, whatever the
// order of axes and channels, the batch, and the type.
func TestFeatures(t *testing.T) {
	needONNX(t)
	dir := t.TempDir()
	photos := filepath.Join(dir, "photos")
	oracle.OK(t, os.Mkdir(photos, 0o700))
	sizes := map[string][2]int{"a": {5, 4}, "b": {3, 6}, "c": {5, 4}, "d": {5, 4}}
	pictures := map[string]*image.RGBA{}
	for id, size := range sizes {
		pictures[id] = drawPhoto(t, filepath.Join(photos, id+".png"), size[0], size[1])
	}
	network := writeNetwork(t, filepath.Join(dir, "net.onnx"), 1, -1, 3, -2, -3)
	last := filepath.Join(dir, "last.onnx") // channels last, bytes in: transposed, and made numbers
	writeFile(t, last, string(oracle.NewONNX().Input("picture", 2, -1, -2, -3, 3).Weights("w", mixing, 4, 3, 1, 1).
		Node("Cast", []string{"picture"}, []string{"numbers"}, oracle.ONNXAttribute{Name: "to", Ints: []int64{1}, Int: true}).
		Node("Transpose", []string{"numbers"}, []string{"first"}, oracle.ONNXAttribute{Name: "perm", Ints: []int64{0, 3, 1, 2}}).
		Node("Conv", []string{"first", "w"}, []string{"mixed"}).
		Node("Transpose", []string{"mixed"}, []string{"mixed last"}, oracle.ONNXAttribute{Name: "perm", Ints: []int64{0, 2, 3, 1}}).
		Output("mixed last", 1, -1, -2, -3, 4).File()))

	imageNet := func(v float64, c int) float64 {
		return (v/255 - []float64{0.485, 0.456, 0.406}[c]) / []float64{0.229, 0.224, 0.225}[c]
	}
	same := func(v float64, _ int) float64 { return v }
	for i, test := range []struct {
		options   []string
		pixel     func(v float64, c int) float64
		tolerance float64 // relative to the largest number
	}{
		{[]string{"--network", network, "--layer", "mixed", "--dtype", "float32"}, imageNet, 1e-6},
		{[]string{"--network", network, "--layer", "step mixed", "--batch", "2"}, imageNet, 1.0 / 2048},
		{[]string{"--network", network, "--layer", "mixed", "--mean", "0,0.5,1", "--std", "1,2,0.5", "--dtype", "float32", "--bgr"},
			func(v float64, c int) float64 { return (v/255 - []float64{0, 0.5, 1}[c]) / []float64{1, 2, 0.5}[c] }, 1e-6},
		{[]string{"--network", last, "--dtype", "float32", "--layer-layout", "nhwc"}, same, 0},
	} {
		out := filepath.Join(dir, fmt.Sprint("out", i))
		mustRun(t, append([]string{"features", photos, "-o", out}, test.options...)...)
		bgr := strings.Contains(strings.Join(test.options, " "), "--bgr")
		for id, picture := range pictures {
			shape, values := readMap(t, filepath.Join(out, id+".npy"))
			if want := fmt.Sprintf("%d, %d, 4", sizes[id][1], sizes[id][0]); shape != want {
				t.Fatalf("%v: shape of %s is (%s), want (%s)", test.options, id, shape, want)
			}
			for p := range len(values) / 4 {
				raw := picture.RGBAAt(p%sizes[id][0], p/sizes[id][0])
				channels := [3]float64{float64(raw.R), float64(raw.G), float64(raw.B)}
				if bgr {
					channels[0], channels[2] = channels[2], channels[0]
				}
				for c := range channels {
					channels[c] = test.pixel(channels[c], c)
				}
				for f, want := range []float64{channels[0], channels[1], channels[2], 2*channels[2] - channels[0]} {
					if got := values[4*p+f]; !(math.Abs(got-want) <= test.tolerance*8) {
						t.Fatalf("%v: %s, pixel %d, feature %d is %v, want %v", test.options, id, p, f, got, want)
					}
				}
			}
		}
	}
}

// TestFeaturesTrain: train reads the maps of photographs that the network takes in one
// size only, in batches of two, and learns from them.
func TestFeaturesTrain(t *testing.T) {
	needONNX(t)
	dir := t.TempDir()
	data := filepath.Join(dir, "data") // without names of features, of which there are others
	oracle.OK(t, errors.Join(os.CopyFS(data, os.DirFS(imageFolder(t))), os.Remove(filepath.Join(data, "dataset.json"))))
	network := writeNetwork(t, filepath.Join(dir, "net.onnx"), 2, 2, 3, 8, 8)
	out, run := filepath.Join(dir, "features"), filepath.Join(dir, "run")
	var made struct {
		Made, Kept, Features int
		Layer                string
	}
	mustRun(t, "features", data, "--network", network, "--layer", "mixed", "-o", out, "--json").json(t, &made)
	if made.Made != 6 || made.Kept != 0 || made.Features != 4 || made.Layer != "mixed" {
		t.Errorf("made %+v, want 6 maps of 4 features", made)
	}
	// 10×8 pixels in 8×8 are 8×6.4, which are 4×3 cells of two pixels.
	if shape, _ := readMap(t, filepath.Join(out, "pic0.npy")); shape != "3, 4, 4" {
		t.Errorf("shape is (%s), want (3, 4, 4)", shape)
	}
	mustRun(t, "train", data, "--features", out, "--list", "train.txt", "-o", run, "-q")
	scores := mustRun(t, "eval", data, "--features", out, "--list", "test.txt", "-m", run, "--json").object(t)
	model := scores["models"].([]any)[0].(map[string]any)
	if accuracy := model["accuracy"].(float64); accuracy < 0.85 {
		t.Errorf("accuracy is %v: the colours tell sky from grass", accuracy)
	}
}

// TestFeaturesResume: maps that are there stay, those that are not are made, and none
// are mixed with others.
func TestFeaturesResume(t *testing.T) {
	needONNX(t)
	data, dir := imageFolder(t), t.TempDir()
	network := writeNetwork(t, filepath.Join(dir, "net.onnx"), 1, -1, 3, -2, -3)
	out := filepath.Join(dir, "features")
	features := func(more ...string) outcome {
		return run(t, append([]string{"features", data, "--network", network, "-o", out}, more...)...)
	}
	if o := features("--list", "test.txt"); o.code != 0 {
		t.Fatal(o.stderr)
	}
	kept := filepath.Join(out, "pic4.npy")
	before := oracle.Must(os.Stat(kept))(t)
	features().wantFailure(t, 2, "not empty")
	features("--resume", "--layer", "mixed").wantFailure(t, 2, "layer shares", "not mixed")
	features("--resume", "--dtype", "float32").wantFailure(t, 2, "dtype float16", "not float32")
	o := features("--resume", "--json")
	if got := o.object(t); o.code != 0 || got["made"] != 4.0 || got["kept"] != 2.0 {
		t.Errorf("resumed: code %d, %v, want 4 made and 2 kept", o.code, got)
	}
	if after, err := os.Stat(kept); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("%s was written again (%v)", kept, err)
	}
	if o := features("--resume"); o.code != 0 || !strings.Contains(o.stdout, "all 6 feature maps are there already") {
		t.Errorf("resumed: code %d, %s%s", o.code, o.stdout, o.stderr)
	}
	if o := features("--force", "--layer", "mixed"); o.code != 0 {
		t.Errorf("forced: code %d, %s", o.code, o.stderr)
	}
	features("--resume").wantFailure(t, 2, "layer mixed", "not shares")

	// What ends at once leaves nothing, and says so.
	stopped, stop := context.WithCancel(t.Context())
	stop()
	elsewhere := filepath.Join(dir, "elsewhere")
	if o := runContext(stopped, "features", data, "--network", network, "-o", elsewhere); o.code != 130 || strings.Contains(o.stderr, "--resume") {
		t.Errorf("interrupted: code %d, %s", o.code, o.stderr)
	}
	if _, err := os.Stat(elsewhere); err == nil {
		t.Errorf("%s is there, with nothing in it", elsewhere)
	}
}

// TestFeaturesMistakes: each is named, with what to do.
func TestFeaturesMistakes(t *testing.T) {
	data, dir := imageFolder(t), t.TempDir()
	network := writeNetwork(t, filepath.Join(dir, "net.onnx"), 1, -1, 3, -2, -3)
	out := filepath.Join(dir, "features")
	features := func(more ...string) outcome {
		return run(t, append([]string{"features", data, "--network", network, "-o", out}, more...)...)
	}
	run(t, "features", data).wantFailure(t, 2, "want blockbp features PHOTOS")
	features("--size", "640").wantFailure(t, 2, "--size", "WIDTHxHEIGHT")
	features("--mean", "1,2").wantFailure(t, 2, "--mean has 2 numbers")
	features("--mean", "a").wantFailure(t, 2, "numbers separated by commas")
	features("--std", "1,0,1").wantFailure(t, 2, "--std")
	features("--layout", "chw").wantFailure(t, 2, "nchw or nhwc")
	features("--layout", "nhwc").wantFailure(t, 2, "--size", "3 rows")
	features("--dtype", "int8").wantFailure(t, 2, "float16 or float32")
	features("--layer", "mixd").wantFailure(t, 3, "its layers are mixed, positive, shares", "did you mean mixed?")
	features("--onnxruntime", dir).wantFailure(t, 1, "pip install onnxruntime", "BLOCKBP_ONNXRUNTIME")
	run(t, "features", data, "--network", filepath.Join(data, "train.txt"), "-o", out).wantFailure(t, 3, "no ONNX file")
	run(t, "features", dir, "--network", network, "-o", out).wantFailure(t, 3, "there are no pictures")

	needONNX(t)
	labels := writeFile(t, filepath.Join(dir, "labels.onnx"), string(oracle.NewONNX().Input("picture", 1, -1, 3, -2, -3).
		Node("ArgMax", []string{"picture"}, []string{"labels"}, oracle.ONNXAttribute{Name: "axis", Ints: []int64{1}, Int: true}).Output("labels", 7, -1, 1, -2, -3).File()))
	run(t, "features", data, "--network", labels, "-o", out).wantFailure(t, 3, "int64", "choose another layer: labels")
	// Sizes that a network does not take.
	picky := writeFile(t, filepath.Join(dir, "picky.onnx"), string(oracle.NewONNX().Input("picture", 1, -1, 3, -2, -3).Weights("ones", make([]float32, 32*32), 32, 32).
		Node("MatMul", []string{"picture", "ones"}, []string{"scores"}).Output("scores", 1, -1, 3, -2, 32).File()))
	run(t, "features", data, "--network", picky, "-o", out).wantFailure(t, 3, "ONNX Runtime", "--size 32x32")
	if _, err := os.Stat(out); err == nil {
		t.Errorf("%s is there, and no map was made", out)
	}
}
