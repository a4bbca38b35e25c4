package cli_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	_ "image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/oracle"
)

// Sizes of the pictures that the tests draw, and of their feature maps.
const (
	imageRows, imageCols = 8, 10
	featureRows          = imageRows / 4
	featureCols          = (imageCols + 3) / 4
)

// imageFolder draws six pictures of sky above grass, with a post in some: labels
// in both forms, features at a quarter of the size, lists for training and test.
func imageFolder(t testing.TB) string {
	return shared(t, "images", func(folder string) {
		random := rand.New(rand.NewPCG(3, 4))
		for i := range 6 {
			drawImage(t, folder, fmt.Sprintf("pic%d", i), random, i)
		}
		writeFile(t, filepath.Join(folder, "train.txt"), "# for training\npic0\npic1\npic2\npic3\n")
		writeFile(t, filepath.Join(folder, "test.txt"), "pic4\npic5\n")
		writeFile(t, filepath.Join(folder, "dataset.json"), `{"states": ["sky", "grass", "post"], "node_features": ["white", "green"]}`)
	})
}

func drawImage(t testing.TB, folder, id string, random *rand.Rand, i int) {
	t.Helper()
	picture := image.NewRGBA(image.Rect(0, 0, imageCols, imageRows))
	blocks := image.NewGray(picture.Bounds()) // of 2×2 pixels, as superpixels
	labels := image.NewPaletted(picture.Bounds(), color.Palette{color.White, color.Black, color.Gray{128}})
	var text strings.Builder
	horizon, post := 3+i%3, i+2
	for r := range imageRows {
		for c := range imageCols {
			label := 0
			if r >= horizon {
				label = 1
			}
			if c == post && i%2 == 0 {
				label = 2
			}
			labels.SetColorIndex(c, r, uint8(label))
			blocks.SetGray(c, r, color.Gray{Y: uint8(16*(r/2) + c/2)})
			picture.Set(c, r, color.RGBA{uint8(80 * label), uint8(200 * min(label, 1)), uint8(255 - 100*label), 255})
			if i == 0 && r == 0 && c == 0 {
				label = -1 // unobserved
			}
			fmt.Fprintf(&text, "%d ", label)
		}
		text.WriteString("\n")
	}
	features := make([]float32, featureRows*featureCols*2)
	for at := range features {
		row := at / 2 / featureCols
		features[at] = float32(row*(1-2*(at%2))) + 0.5*float32(random.NormFloat64())
	}
	var encoded, regions bytes.Buffer
	oracle.OK(t, png.Encode(&regions, blocks))
	writeFile(t, filepath.Join(folder, "superpixels", id+".png"), regions.String())
	if i == 1 {
		oracle.OK(t, jpeg.Encode(&encoded, picture, nil))
		writeFile(t, filepath.Join(folder, "images", id+".jpg"), encoded.String())
	} else {
		writeFile(t, filepath.Join(folder, "images", id+".png"), pngOf(t, picture))
	}
	if i == 2 {
		writeFile(t, filepath.Join(folder, "labels", id+".png"), pngOf(t, labels))
	} else {
		writeFile(t, filepath.Join(folder, "labels", id+".regions.txt"), text.String())
	}
	writeFile(t, filepath.Join(folder, "features", id+".npy"), npy(t, []int{featureRows, featureCols, 2}, features))
}

func pngOf(t testing.TB, picture image.Image) string {
	t.Helper()
	var encoded bytes.Buffer
	oracle.OK(t, png.Encode(&encoded, picture))
	return encoded.String()
}

// TestImages trains on an image folder, predicts and compares two models.
func TestImages(t *testing.T) {
	t.Parallel()
	data, folder := imageFolder(t), t.TempDir()
	with, without := filepath.Join(folder, "with"), filepath.Join(folder, "without")
	for _, neighbours := range []string{"4", "8"} {
		dir := with + neighbours
		r := train(t, data, "-o", dir, "--list", "train.txt", "--neighbours", neighbours, "--bins", "3", "--blocks", "2x2", "--l2", "1", "--rtol", "1e-7", "--eval", "test=test.txt", "--threads", "1", "--report")
		if r.Status != claimed[r.Convex] || !(r.Eval["accuracy@test"] > 0.5) {
			t.Errorf("--neighbours %s: %+v", neighbours, r)
		}
		checkXML(t, filepath.Join(dir, "plots", "pictures-test.svg"))
		checkXML(t, filepath.Join(dir, "plots", "reliability-test.svg"))
		checkReport(t, filepath.Join(dir, "report.html"), "sky", "grass", "post", "white", "Quality on test", "most frequent class", "trained without edges")
		info := mustRun(t, "info", dir, "--json").object(t, "recipe")
		if recipe, ok := info["recipe"].(map[string]any); !ok || fmt.Sprint(recipe["neighbours"]) != neighbours {
			t.Errorf("the model's recipe is %v, without %s neighbours", info["recipe"], neighbours)
		}
	}
	train(t, data, "-o", without, "--list", "train.txt", "--no-edges", "--l2", "1")
	mustRun(t, "train", data, "-o", filepath.Join(folder, "bethe"), "--counting", "bethe", "--max-iter", "9", "-q",
		noReport).says(t, "with --counting bethe the objective of hidden labels is a difference of two approximations")

	// The model knows neighbours and bins; labels are not needed.
	unlabelled := filepath.Join(folder, "unlabelled")
	copyFolder(t, filepath.Join(data, "images"), filepath.Join(unlabelled, "images"))
	elsewhere := copyFolder(t, filepath.Join(data, "features"), filepath.Join(folder, "elsewhere"))
	out := filepath.Join(folder, "predicted")
	mustRun(t, "predict", unlabelled, "--features", elsewhere, "--list", filepath.Join(data, "test.txt"), "-m", with+"8", "-o", out, "--threads", "1")
	run(t, "predict", data, "--labels", "no", "-m", with+"8", "-o", out+"2").wantFailure(t, 2, "goes with --clamp")
	oracle.Equal(t, namesIn(out), []string{"pic4.npz", "pic4.png", "pic5.npz", "pic5.png", "predict.json"}, "predict made")
	set := oracle.Must(dataset.Open(t.Context(), []string{data}, dataset.Options{List: "test.txt"}))(t)
	right := 0
	for i, id := range []string{"pic4", "pic5"} {
		labels := predictedLabels(t, filepath.Join(out, id+".npz"), imageRows*imageCols, 3)
		picture := oracle.Must(png.Decode(strings.NewReader(readFile(t, out, id+".png"))))(t)
		indexed, ok := picture.(*image.Paletted)
		if !ok || indexed.Rect != image.Rect(0, 0, imageCols, imageRows) {
			t.Fatalf("%s.png is a %T of %v", id, picture, picture.Bounds())
		}
		for s, y := range labels {
			oracle.MustEqual(t, int32(indexed.ColorIndexAt(s%imageCols, s/imageCols)), y, "%s.png: pixel %d", id, s)
			if set.Instances[i].Samples()[0][s] == y {
				right++
			}
		}
	}

	// A damaged photograph is found before the first prediction is written.
	writeFile(t, filepath.Join(unlabelled, "images", "pic5.png"), readFile(t, data, "images", "pic5.png")[:60])
	nothing := filepath.Join(folder, "nothing")
	mustFail := run(t, "predict", unlabelled, "--features", elsewhere, "-m", with+"8", "-o", nothing, "--threads", "1")
	mustFail.wantFailure(t, 3, "pic5.png: the picture cannot be read")
	if _, err := os.Stat(nothing); err == nil {
		t.Errorf("predict made %s, and %q in it, though a photograph is damaged", nothing, namesIn(nothing))
	}

	compared := filepath.Join(folder, "compared")
	results := evaluate(t, data, "--list", "test.txt", "-m", with+"8", "-m", without, "-o", compared, "--threads", "1")
	for i, r := range results {
		r.check(t)
		if r.Nodes != 2*imageRows*imageCols || r.Classes[2].Name != "post" {
			t.Errorf("model %d: %+v", i, r)
		}
	}
	if want := float64(right) / (2 * imageRows * imageCols); !closeTo(results[0].Accuracy, want, 1e-12) {
		t.Errorf("accuracy is %v, of the predictions it is %v", results[0].Accuracy, want)
	}
	checkReport(t, filepath.Join(compared, "report.html"), "with8", "without", "post")
	checkXML(t, filepath.Join(compared, "plots", "pictures.svg"))
	mustRun(t, "check", data, "--list", "train.txt", "-m", with+"4", "--neighbours", "8").says(t,
		"note: --neighbours is 8, but the model was trained with 4")

	// Images of one model may be named with dots, and no prediction is lost.
	dotted := filepath.Join(folder, "dotted")
	for i, id := range []string{"a.v1", "a.v2", "a"} {
		drawImage(t, dotted, id, rand.New(rand.NewPCG(1, 1)), 2*i+4)
	}
	out = filepath.Join(folder, "dots")
	mustRun(t, "predict", dotted, "-m", with+"4", "-o", out, "--threads", "1")
	if want := []string{"a.npz", "a.png", "a.v1.npz", "a.v1.png", "a.v2.npz", "a.v2.png", "predict.json"}; !slices.Equal(namesIn(out), want) {
		t.Errorf("predict made %q of the pictures a, a.v1 and a.v2, want %q", namesIn(out), want)
	}
}

// TestPicturesAndMasks: pictures and masks alone train, evaluate and predict, in the colours of the masks.
func TestPicturesAndMasks(t *testing.T) {
	oracle.Long(t)
	t.Parallel()
	folder := t.TempDir()
	random := rand.New(rand.NewPCG(5, 6))
	draw := func(id string, rows, cols int) {
		picture, mask := image.NewGray(image.Rect(0, 0, cols, rows)), image.NewGray(image.Rect(0, 0, cols, rows))
		for i := range picture.Pix {
			if picture.Pix[i] = uint8(60 + random.IntN(90)); i%cols > cols/3 && i/cols > rows/4 {
				mask.Pix[i], picture.Pix[i] = 255, picture.Pix[i]+60
			}
		}
		writeFile(t, filepath.Join(folder, "images", id+".png"), pngOf(t, picture))
		writeFile(t, filepath.Join(folder, "labels", id+".png"), pngOf(t, mask))
	}
	draw("a", 20, 24)
	draw("b", 20, 24)
	model, out := filepath.Join(folder, "model"), filepath.Join(folder, "out")
	writeFile(t, filepath.Join(folder, "one.txt"), "a.png\n")
	writeFile(t, filepath.Join(folder, "other.txt"), "b\n")
	o := run(t, "train", folder, "--list", "one.txt", "-o", model)
	if o.code != 0 || !strings.Contains(o.stderr, "the features of pixels are their colours") || !strings.Contains(o.stderr, "255 hides nothing") {
		t.Fatalf("exit code %d, %s", o.code, o.stderr)
	}
	if accuracy := mustRun(t, "eval", folder, "--list", "other.txt", "-m", model, "--json").object(t)["models"].([]any)[0].(map[string]any)["accuracy"].(float64); accuracy < 0.97 {
		t.Errorf("accuracy is %v", accuracy)
	}
	mustRun(t, "predict", folder, "--list", "other.txt", "-m", model, "-o", out)
	picture := oracle.Must(png.Decode(strings.NewReader(readFile(t, out, "b.png"))))(t)
	pixels := slices.Compact(slices.Sorted(slices.Values(picture.(*image.Paletted).Pix)))
	oracle.Equal(t, pixels, []uint8{0, 255}, "greys of labels")
	oracle.Equal(t, picture.(*image.Paletted).Palette[255], color.Color(color.RGBA{255, 255, 255, 255}), "colours")
	mustRun(t, "train", model, "--resume", "--max-passes", "2000")
}

// TestSuperpixels: train learns from regions of maps, and eval and predict answer for pixels with such maps; the same
// run comes out of any threads, and of one that was stopped in between.
func TestSuperpixels(t *testing.T) {
	t.Parallel()
	data, dir := imageFolder(t), t.TempDir()
	train := func(out string, more ...string) string {
		t.Helper()
		folder := filepath.Join(dir, out)
		mustRun(t, append([]string{"train", data, "--list", "train.txt", "--superpixels", "superpixels", "-o", folder, "-q", "--report=false"}, more...)...)
		return folder
	}
	whole := train("whole", "--threads", "1", "--max-passes", "60")
	model := readFile(t, whole, "model.safetensors")
	oracle.Equal(t, readFile(t, train("threads", "--threads", "3", "--max-passes", "60"), "model.safetensors"), model,
		"the model of three threads")
	more := copyFolder(t, data, filepath.Join(dir, "more")) // whose superpixels are in other files
	writeFile(t, filepath.Join(more, "superpixels", "pic0.png"), readFile(t, more, "superpixels/pic0.png")+"\n")
	half := train("half", "--max-passes", "20", "--eval", "more="+more)
	mustRun(t, "train", half, "--resume", "--max-passes", "60", "-q")
	oracle.Equal(t, readFile(t, half, "model.safetensors"), model, "the model of a resumed run")

	var scores struct {
		Models []struct {
			Nodes    int
			Accuracy float64
		}
	}
	mustRun(t, "eval", data, "--list", "test.txt", "-m", whole, "-q", "--json").json(t, &scores)
	if m := scores.Models[0]; m.Nodes != 2*imageRows*imageCols || m.Accuracy < 0.8 {
		t.Errorf("%d nodes are compared, want the pixels of two pictures; accuracy is %v", m.Nodes, m.Accuracy)
	}
	out := filepath.Join(dir, "predicted")
	mustRun(t, "predict", data, "--list", "test.txt", "-m", whole, "-o", out, "-q")
	picture, _, err := image.DecodeConfig(bytes.NewReader([]byte(readFile(t, out, "pic4.png"))))
	if err != nil || picture.Width != imageCols || picture.Height != imageRows {
		t.Errorf("it has %d×%d pixels (%v), want %d×%d", picture.Width, picture.Height, err, imageCols, imageRows)
	}
	set := mustRun(t, "predict", data, "--list", "test.txt", "-m", whole, "-o", out+"2", "-q", "--json").object(t)
	if first := set["instances"].([]any)[0].(map[string]any); first["nodes"] != float64(imageRows*imageCols) {
		t.Errorf("predict answers for %v nodes, want pixels", first["nodes"])
	}
}
