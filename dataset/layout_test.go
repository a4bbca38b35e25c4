package dataset

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
)

// withMaps is a folder with pictures of sizes, whose maps have shapes; all numbers differ.
func withMaps(t *testing.T, dtype string, sizes [][2]int, shapes [][3]int) map[string]string {
	t.Helper()
	files := map[string]string{ManifestName: `{"states": ["a", "b"]}`}
	for i, s := range sizes {
		files[fmt.Sprintf("images/%d.png", i)] = picture(t, s[0], s[1])
		files[fmt.Sprintf("labels/%d.png", i)] = indexed(t, s[0], s[1], 0, 1)
		m := shapes[i]
		values := make([]float32, m[0]*m[1]*m[2])
		for j := range values {
			values[j] = float32(math.Sin(float64(j + 1000*i)))
		}
		files[fmt.Sprintf("features/%d.npy", i)] = string(npyOf(dtype, "False", fmt.Sprintf("(%d, %d, %d)", m[0], m[1], m[2]), binary.LittleEndian, values))
	}
	return files
}

// transposed returns the map of a file of withMaps as [d, h, w].
func transposed(t *testing.T, m [3]int, i int) string {
	values := make([]float32, m[0]*m[1]*m[2])
	for p := range m[0] * m[1] {
		for k := range m[2] {
			values[k*m[0]*m[1]+p] = float32(math.Sin(float64(p*m[2] + k + 1000*i)))
		}
	}
	return string(npyOf("<f4", "False", fmt.Sprintf("(%d, %d, %d)", m[2], m[0], m[1]), binary.LittleEndian, values))
}

// TestLayouts: maps with features first have the same features of pixels, found out by their shapes,
// of pictures of any sizes and either way up.
func TestLayouts(t *testing.T) {
	sizes := [][2]int{{24, 32}, {33, 22}, {25, 31}, {24, 32}}
	shapes := [][3]int{{6, 8, 5}, {9, 6, 5}, {7, 8, 5}, {12, 16, 5}}
	files := withMaps(t, "<f4", sizes, shapes)
	want := mustOpen(t, writeFiles(t, files), Options{})
	first := maps.Clone(files)
	for i, m := range shapes {
		first[fmt.Sprintf("features/%d.npy", i)] = transposed(t, m, i)
	}
	folder := writeFiles(t, first)
	for _, o := range []Options{{}, {Schema: &want.Schema, Recipe: &want.Recipe}} {
		set := mustOpen(t, folder, o)
		for i, in := range set.Instances {
			for r := range in.Graph.NumNodes() {
				if a, b := row(in.NodeFeatures(0), r), row(want.Instances[i].NodeFeatures(0), r); !slices.Equal(a, b) {
					t.Fatalf("features of pixel %d of picture %d are %v, want %v", r, i, a, b)
				}
			}
		}
	}
	mixed := maps.Clone(files)
	mixed["features/1.npy"] = first["features/1.npy"]
	refuses(t, writeFiles(t, mixed), Options{}, "1.npy: its 5 rows of 9 cells are not the shape of ", "want [h, w, d]")
}

// TestAmbiguousLayout: where both orders of axes fit, features are last, with a note. One picture that only one
// fits is enough, and so is the number of features that a model has.
func TestAmbiguousLayout(t *testing.T) {
	sizes, shapes := [][2]int{{20, 20}}, [][3]int{{5, 5, 5}}
	folder := writeFiles(t, withMaps(t, "<f4", sizes, shapes))
	told := mustOpen(t, folder, Options{})
	if x := row(told.Instances[0].NodeFeatures(0), 0); x[1] != float64(float32(math.Sin(1))) || !strings.Contains(told.Warnings[0], "0.npy has the shape [5, 5, 5]; transpose them") {
		t.Errorf("the corner has the features %v, notes are %q", x, told.Warnings)
	}
	both := writeFiles(t, withMaps(t, "<f4", [][2]int{{20, 20}, {20, 32}}, [][3]int{{5, 5, 5}, {5, 8, 5}}))
	if set := mustOpen(t, both, Options{}); set.Recipe.FeatureDim != 5 || row(set.Instances[0].NodeFeatures(0), 0)[1] != float64(float32(math.Sin(1))) {
		t.Errorf("recipe %+v", set.Recipe)
	}
	set := mustOpen(t, writeFiles(t, withMaps(t, "<f4", [][2]int{{20, 32}}, [][3]int{{5, 8, 4}})), Options{})
	square := writeFiles(t, withMaps(t, "<f4", [][2]int{{20, 20}}, [][3]int{{4, 5, 5}}))
	// Both fit a square, but of one the model has not as many.
	if again := mustOpen(t, square, modelOf(set)); row(again.Instances[0].NodeFeatures(0), 0)[1] != float64(float32(math.Sin(25))) {
		t.Error("the layout is not that with four features")
	}
}
