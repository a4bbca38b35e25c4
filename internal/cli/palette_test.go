package cli_test

import (
	"fmt"
	"image"
	"image/png"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// coloursOf returns the first three colours of a label picture.
func coloursOf(t *testing.T, path ...string) string {
	t.Helper()
	picture, err := png.Decode(strings.NewReader(readFile(t, filepath.Dir(filepath.Join(path...)), filepath.Base(filepath.Join(path...)))))
	if err != nil {
		t.Fatal(err)
	}
	indexed, ok := picture.(*image.Paletted)
	if !ok {
		t.Fatalf("%s is a %T", path, picture)
	}
	var text []string
	for _, c := range indexed.Palette[:3] {
		r, g, b, _ := c.RGBA()
		text = append(text, fmt.Sprintf("%02x%02x%02x", r>>8, g>>8, b>>8))
	}
	return strings.Join(text, " ")
}

// TestPalette: label pictures have the colours of those that the model learned from, or ours.
func TestPalette(t *testing.T) {
	t.Parallel()
	data, folder := imageFolder(t), t.TempDir()
	model, grey := filepath.Join(folder, "model"), filepath.Join(folder, "grey")
	train(t, data, "-o", model, "--list", "train.txt", "--no-edges", "--l2", "1")
	// The label picture of pic2 is left out: there are no colours to keep.
	writeFile(t, filepath.Join(folder, "two.txt"), "pic0\npic1\n")
	train(t, data, "-o", grey, "--list", filepath.Join(folder, "two.txt"), "--no-edges", "--l2", "1")
	in := func(name string) string { return filepath.Join(folder, name) }
	predict := func(model, out string, more ...string) outcome {
		return run(t, append([]string{"predict", data, "--list", "test.txt", "-m", model, "-o", in(out), "--pictures=false", "--threads", "1"}, more...)...)
	}
	for model, want := range map[string]string{model: "ffffff 000000 808080", grey: ""} {
		out := filepath.Base(model) + "-out"
		if o := predict(model, out); o.code != 0 {
			t.Fatalf("exit code %d: %s", o.code, o.stderr)
		}
		got := coloursOf(t, folder, out, "pic4.png")
		if want != "" && got != want || want == "" && slices.Contains(strings.Fields(got), "000000") {
			t.Errorf("the colours are %s, want %s", got, want)
		}
	}
}

// TestArraysHaveNoPictures: an option of pictures beside --arrays is a mistake.
func TestArraysHaveNoPictures(t *testing.T) {
	t.Parallel()
	run(t, "predict", gridData(t), "-m", gridRun(t), "-o", filepath.Join(t.TempDir(), "out"), "--arrays", "--pictures").
		wantFailure(t, 2, "--pictures: --arrays writes no pictures")
}
