package cli_test

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// coloursOf returns the first three colours of a label picture.
func coloursOf(t *testing.T, path ...string) string {
	t.Helper()
	picture := oracle.Must(png.Decode(strings.NewReader(readFile(t, path...))))(t)
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

// TestPalette: label pictures have the colours of those that the model learned from, of a
// palette that is named, or of a file; and what is no palette is an error that says so.
func TestPalette(t *testing.T) {
	t.Parallel()
	data, folder := imageFolder(t), t.TempDir()
	model, grey := filepath.Join(folder, "model"), filepath.Join(folder, "grey")
	train(t, data, "-o", model, "--list", "train.txt", "--no-edges", "--l2", "1")
	// The label picture of pic2 is left out: there are no colours to keep.
	writeFile(t, filepath.Join(folder, "two.txt"), "pic0\npic1\n")
	train(t, data, "-o", grey, "--list", filepath.Join(folder, "two.txt"), "--no-edges", "--l2", "1")
	indexed := image.NewPaletted(image.Rect(0, 0, 1, 1), color.Palette{color.RGBA{1, 2, 3, 255}, color.RGBA{4, 5, 6, 255}, color.RGBA{7, 8, 9, 255}, color.White})
	writeFile(t, filepath.Join(folder, "p.png"), pngOf(t, indexed))
	writeFile(t, filepath.Join(folder, "full.png"), pngOf(t, image.NewRGBA(image.Rect(0, 0, 1, 1))))
	writeFile(t, filepath.Join(folder, "p.txt"), "#0a0b0c\n\n13 14 15\n16,17,18\n")
	writeFile(t, filepath.Join(folder, "few.txt"), "#0a0b0c\n")
	writeFile(t, filepath.Join(folder, "bad.txt"), "#0a0b0c\n1 2 256\n")
	in := func(name string) string { return filepath.Join(folder, name) }
	predict := func(model, out string, more ...string) outcome {
		return run(t, append([]string{"predict", data, "--list", "test.txt", "-m", model, "-o", in(out), "--pictures=false", "--threads", "1"}, more...)...)
	}
	for i, c := range []struct {
		model, palette, want string
	}{
		{model, "", "ffffff 000000 808080"},
		{grey, "", ""},
		{model, "own", ""},
		{model, "voc", "000000 800000 008000"},
		{grey, in("p.png"), "010203 040506 070809"},
		{model, in("p.txt"), "0a0b0c 0d0e0f 101112"},
	} {
		out := fmt.Sprint("out", i)
		more := []string{"--palette", c.palette}
		if c.palette == "" {
			more = nil
		}
		if o := predict(c.model, out, more...); o.code != 0 {
			t.Fatalf("--palette %s: exit code %d: %s", c.palette, o.code, o.stderr)
		}
		got := coloursOf(t, folder, out, "pic4.png")
		if c.want == "" { // ours, which are no others for a model without colours
			c.want = coloursOf(t, folder, "out1", "pic4.png")
			if slices.Contains(strings.Fields(c.want), "000000") {
				t.Errorf("our colours are %s", c.want)
			}
		}
		if got != c.want {
			t.Errorf("--palette %q: the colours are %s, want %s", c.palette, got, c.want)
		}
	}
	for _, c := range []struct {
		palette string
		code    int
		want    string
	}{
		{"vocc", 2, `--palette "vocc": want voc, own, or a file`},
		{in("none.png"), 1, "none.png: no such file or directory; want a palette"},
		{in("full.png"), 3, "it has no palette; give an indexed png"},
		{in("few.txt"), 3, "it has 1 colours, and the model 3 states; give a colour for each"},
		{in("bad.txt"), 3, "line 2 is no colour, want #rrggbb or three numbers from 0 to 255"},
	} {
		predict(model, "never", "--palette", c.palette).wantFailure(t, c.code, c.want)
	}
	run(t, "predict", data, "--list", "test.txt", "-m", model, "-o", in("t.csv"), "--palette", "voc").wantFailure(t, 2, "a table has no pictures")
	run(t, "predict", gridData(t), "-m", gridRun(t), "-o", in("g"), "--palette", "voc").wantFailure(t, 2, "it is for images")
}

// TestArraysHaveNoPictures: an option of pictures beside --arrays is a mistake.
func TestArraysHaveNoPictures(t *testing.T) {
	t.Parallel()
	for _, option := range []string{"--palette=voc", "--pictures"} {
		run(t, "predict", gridData(t), "-m", gridRun(t), "-o", filepath.Join(t.TempDir(), "out"), "--arrays", option).wantFailure(t, 2, strings.TrimSuffix(option, "=voc"), "--arrays writes no pictures")
	}
}
