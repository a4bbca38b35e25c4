package cli_test

import (
	"bytes"
	"image"
	_ "image/png"
	"path/filepath"
	"testing"
)

// TestSuperpixels: train cuts pictures into regions, and eval and predict answer for
// pixels with the regions of the model; the same run comes out of any threads, and of one
// that was stopped in between.
func TestSuperpixels(t *testing.T) {
	t.Parallel()
	data, dir := imageFolder(t), t.TempDir()
	train := func(out string, more ...string) string {
		t.Helper()
		folder := filepath.Join(dir, out)
		mustRun(t, append([]string{"train", data, "--list", "train.txt", "--superpixels", "12", "-o", folder, "-q", "--report=false"}, more...)...)
		return folder
	}
	whole := train("whole", "--threads", "1", "--max-passes", "60")
	model := readFile(t, whole, "model.safetensors")
	if readFile(t, train("threads", "--threads", "3", "--max-passes", "60"), "model.safetensors") != model {
		t.Error("three threads make another model")
	}
	half := train("half", "--max-passes", "20")
	mustRun(t, "train", half, "--resume", "--max-passes", "60", "-q")
	if readFile(t, half, "model.safetensors") != model {
		t.Error("a resumed run makes another model")
	}

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
		t.Errorf("the picture of labels has %d×%d pixels (%v), want %d×%d", picture.Width, picture.Height, err, imageCols, imageRows)
	}
	set := mustRun(t, "predict", data, "--list", "test.txt", "-m", whole, "-o", out+"2", "-q", "--json").object(t)
	if first := set["instances"].([]any)[0].(map[string]any); first["nodes"] != float64(imageRows*imageCols) {
		t.Errorf("predict answers for %v nodes, want pixels", first["nodes"])
	}

	run(t, "train", data, "--superpixels", "12", "--neighbours", "8", "-o", out+"3").wantFailure(t, 2, "--superpixels", "touch")
	run(t, "train", data, "--superpixels", "70", "-o", out+"3").wantFailure(t, 3, "80 pixels, too few for 70")
	run(t, "train", gridData(t), "--superpixels", "12", "-o", out+"3").wantFailure(t, 2, "--superpixels", "images")
}
