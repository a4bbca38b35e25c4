package dataset

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/oracle"
)

// mapOfRegions is a png with a grey for each pixel.
func mapOfRegions(t testing.TB, rows, cols int, of func(x, y int) uint16) string {
	t.Helper()
	p := image.NewGray16(image.Rect(0, 0, cols, rows))
	for s := range rows * cols {
		p.SetGray16(s%cols, s/cols, color.Gray16{Y: of(s%cols, s/cols)})
	}
	return pictureOf(t, p)
}

// halves is a folder with pictures of 12×20 pixels, blue to the left and red to the right of an edge that slants, with
// noise, labels that follow it but for a corner and some unknown pixels, random features, and superpixels.
func halves(t *testing.T) map[string]string {
	t.Helper()
	const rows, cols = 12, 20
	random := rand.New(rand.NewPCG(5, 6))
	files := map[string]string{ManifestName: `{"states": ["left", "right", "corner"]}`,
		"superpixels/a.png": mapOfRegions(t, rows, cols, func(x, y int) uint16 { return uint16(1000*(y/4) + x/4) })}
	for _, id := range []string{"a", "b"} {
		p := image.NewRGBA(image.Rect(0, 0, cols, rows))
		var labels strings.Builder
		features := make([]float32, rows*cols*2)
		for s := range rows * cols {
			x, y := s%cols, s/cols
			c, label := color.RGBA{40, 60, uint8(180 + random.IntN(20)), 255}, "0"
			if 2*x > cols+y {
				c, label = color.RGBA{uint8(180 + random.IntN(20)), 60, 40, 255}, "1"
			}
			switch {
			case x < 2 && y < 2:
				label = "2"
			case x == cols-1 && id == "b":
				label = "-1"
			}
			p.SetRGBA(x, y, c)
			labels.WriteString(label + map[bool]string{true: "\n", false: " "}[x == cols-1])
			features[2*s], features[2*s+1] = float32(random.NormFloat64()), float32(x)
		}
		var picture bytes.Buffer
		oracle.OK(t, png.Encode(&picture, p))
		files["images/"+id+".png"], files["labels/"+id+".regions.txt"] = picture.String(), labels.String()
		numbers := make([]int32, rows*cols)
		for s := range numbers {
			numbers[s] = int32(s/cols/4) - int32(1000*(s%cols/4))
		}
		files["superpixels/b.npy"] = string(npyOf("<i4", "False", "(12, 20, 1)", binary.LittleEndian, numbers))
		files["features/"+id+".npy"] = cells(rows, cols, 2, features...)
	}
	return files
}

// TestSuperpixels: nodes and labels of regions are means and majorities of those of the
// pixels, as reading without superpixels gives them, and edges join what touches.
func TestSuperpixels(t *testing.T) {
	folder := writeFiles(t, halves(t))
	pixels, set := mustOpen(t, folder, Options{}), mustOpen(t, folder, Options{Superpixels: superpixelsFolder})
	known, alike := 0, 0
	for i, in := range set.Instances {
		of, n := set.Rows[i], in.Graph.NumNodes()
		if len(of) != 240 || n != 15 || int(slices.Max(of)) != n-1 || of[3*20+19] != 4 || of[4*20] != 5 || in.Rows != 0 {
			t.Fatalf("%d pixels are in %d regions", len(of), n)
		}
		truth := pixels.Instances[i].Samples()[0]
		oracle.Equal(t, set.RowLabels[i], truth, "labels of pixels")
		for k := range n {
			mean, size, counts := []float64{0, 0, 0}, 0.0, map[int32]int{}
			for s, region := range of {
				if int(region) != k {
					continue
				}
				for j, x := range row(pixels.Instances[i].NodeFeatures(0), s) {
					mean[j] += x
				}
				size++
				if truth[s] >= 0 {
					counts[truth[s]]++
					known++
				}
			}
			for j, x := range row(in.NodeFeatures(0), k) {
				oracle.Near(t, x, mean[j]/size, 1e-12, "feature %d of region %d", j, k)
			}
			want := int32(crf.Unobserved)
			for _, y := range []int32{0, 1, 2} {
				if counts[y] > counts[want] {
					want = y
				}
			}
			oracle.Equal(t, in.Samples()[0][k], want, "label of region %d of %v", k, counts)
			alike += counts[want]
		}
		touching := map[[2]int32]int{} // sides
		for s := range of {
			for _, to := range []int{s + 1, s + 20} {
				if to < len(of) && (to != s+1 || to%20 > 0) && of[s] != of[to] {
					touching[[2]int32{min(of[s], of[to]), max(of[s], of[to])}]++
				}
			}
		}
		oracle.Equal(t, in.Graph.NumEdges(), len(touching), "edges, and pairs of regions that touch")
		for e := range in.Graph.NumEdges() {
			u, v := in.Graph.U(int32(e)), in.Graph.V(int32(e))
			f := row(in.EdgeFeatures(0), e)
			if sides := touching[[2]int32{min(u, v), max(u, v)}]; len(f) != 5 || f[0] != 1 || math.Abs(math.Exp(f[4])-float64(sides)) > 1e-9 {
				t.Errorf("features of edge %d are %v, want 1, three contrasts, and log %d", e, f, sides)
			}
			if !(f[1] >= f[2] && f[2] >= f[3] && f[3] >= 0 && f[1] <= 1) {
				t.Errorf("contrasts of edge %d are %v", e, f[1:4])
			}
		}
	}
	if !slices.ContainsFunc(set.Warnings, func(w string) bool {
		return strings.Contains(w, "superpixels of 2 pictures") && strings.Contains(w, "can be right")
	}) || alike == known {
		t.Errorf("notes are %q, and %d of %d pixels have the label of their region", set.Warnings, alike, known)
	}
	if types := set.Schema.EdgeTypes; !types[0].Symmetric {
		t.Error("edges of regions have a direction")
	}
}

// TestSuperpixelsOfModel: the model's scales hold, and its maps are found without being named.
func TestSuperpixelsOfModel(t *testing.T) {
	set := mustOpen(t, writeFiles(t, halves(t)), Options{Superpixels: superpixelsFolder})
	recipe := oracle.Must(ParseRecipe(set.Recipe.String()))(t)
	files := halves(t)
	for name := range files { // one picture alone has another mean contrast
		if strings.Contains(name, "/b.") {
			delete(files, name)
		}
	}
	again := mustOpen(t, writeFiles(t, files), Options{Recipe: recipe, Schema: &set.Schema})
	oracle.Equal(t, again.Rows[0], set.Rows[0], "regions")
	a, b := set.Instances[0], again.Instances[0]
	for e := range a.Graph.NumEdges() {
		oracle.Equal(t, row(a.EdgeFeatures(0), e), row(b.EdgeFeatures(0), e), "features of edge %d", e)
	}
	pixels := mustOpen(t, writeFiles(t, halves(t)), Options{})
	again = mustOpen(t, writeFiles(t, files), Options{Recipe: &pixels.Recipe, Schema: &pixels.Schema, Superpixels: "x"})
	if !slices.Contains(again.Warnings, "dataset.Options.Superpixels is true, but the model was trained with false, which holds") {
		t.Errorf("notes are %q", again.Warnings)
	}
}

// TestSuperpixelsRefused: what does not go together is named.
func TestSuperpixelsRefused(t *testing.T) {
	files := halves(t)
	files["wide/a.png"] = mapOfRegions(t, 12, 21, func(x, y int) uint16 { return 0 })
	files["deep/a.npy"], files["gap/a.npy"] = cells(12, 20, 2), cells(12, 20, 1, 0, float32(math.NaN()))
	folder := writeFiles(t, files)
	for _, test := range []struct {
		o    Options
		want string
	}{
		{Options{Superpixels: "superpixels", Neighbours: 8}, "leave dataset.Options.Bins, dataset.Options.Neighbours"},
		{Options{Superpixels: "superpixels", Directed: true}, "Directed: superpixels have no direction"},
		{Options{Superpixels: "wide"}, "wide/a.png: its 12 rows of 21 cells are not the shape of "},
		{Options{Superpixels: "deep"}, "deep/a.npy: shape is [12, 20, 2], want [h, w]"},
		{Options{Superpixels: "gap"}, "gap/a.npy: dtype is <f4, want integers"},
		{Options{Superpixels: "none"}, "it has no map of superpixels: there is no none/a.regions.txt or none/a.png or " +
			"none/a.npy; name " +
			"the folder of the maps by dataset.Options.Superpixels, make the map, as by python3 " +
			"-c "},
	} {
		refuses(t, folder, test.o, test.want)
	}
	set := mustOpen(t, folder, Options{Superpixels: superpixelsFolder})
	for _, wrong := range []string{`"scales":[]`, `"scales":[-1]`} {
		text := set.Recipe.String()
		at := strings.Index(text, `"scales":[`)
		text = text[:at] + wrong + text[at+strings.Index(text[at:], "]")+1:]
		if _, err := ParseRecipe(text); err == nil || !strings.Contains(err.Error(), "superpixels") {
			t.Errorf("%s: error is %v", text, err)
		}
	}
}
