package dataset

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/upsample"
)

// picture returns a jpg of the given size.
func picture(t testing.TB, rows, cols int) string {
	t.Helper()
	var b bytes.Buffer
	oracle.OK(t, jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, cols, rows)), nil))
	return b.String()
}

// indexed returns a png with the given palette indices.
func indexed(t testing.TB, rows, cols int, labels ...uint8) string {
	t.Helper()
	palette := make(color.Palette, 256)
	for i := range palette {
		palette[i] = color.RGBA{uint8(i), 0, 0, 255}
	}
	p := image.NewPaletted(image.Rect(0, 0, cols, rows), palette)
	copy(p.Pix, labels)
	return pictureOf(t, p)
}

// cells returns a feature map of 32-bit numbers.
func cells(rows, cols, depth int, values ...float32) string {
	data := make([]float32, rows*cols*depth)
	copy(data, values)
	return string(npyOf("<f4", "False", fmt.Sprintf("(%d, %d, %d)", rows, cols, depth), binary.LittleEndian, data))
}

// someImages is a folder with two pictures of 2 × 4 pixels and one of 4 × 2.
func someImages(t testing.TB) map[string]string {
	return map[string]string{
		"images/2.jpg":            picture(t, 2, 4),
		"images/10.PNG":           indexed(t, 2, 4),
		"images/tall.jpeg":        picture(t, 4, 2),
		"images/notes.txt":        "not a picture",
		"images/10.tif":           "what the png was made of",
		"labels/2.regions.txt":    "0 1 1 -1\n2 2 -7 0\n",
		"labels/10.png":           indexed(t, 2, 4, 0, 1, 2, 255, 0, 0, 0, 0),
		"labels/tall.regions.txt": "0 0\r\n0 0\n0 0\n1 1\n\n",
		"features/2.npy":          cells(1, 2, 1, 0, 4),
		"features/10.npy":         cells(2, 4, 1, 1, 2, 3, 4, 5, 6, 7, 8),
		"features/tall.npy":       cells(2, 1, 1, 1, 1),
		"some.txt":                "tall\n2\n",
		ManifestName:              `{"states": ["sky", "tree", "road"], "node_features": ["height"]}`,
	}
}

func TestImages(t *testing.T) {
	folder := writeFiles(t, someImages(t))
	set := mustOpen(t, folder, Options{Bins: 2})
	var names []string
	for _, in := range set.Instances {
		names = append(names, in.Name)
	}
	oracle.MustEqual(t, names, []string{"2", "10", "tall"}, "instances")
	in := set.Instances[0]
	if set.Instances[1].Graph != in.Graph || set.Instances[2].Graph == in.Graph || in.Graph.NumEdges() != 10 || in.Rows != 2 || in.Cols != 4 {
		t.Error("grids are not as wanted")
	}
	// Two cells over four pixels: centres at −¼, ¼, ¾ and 1¼ of the distance between the cells' centres.
	for c, want := range []float64{0, 1, 3, 4} {
		oracle.Equal(t, row(in.NodeFeatures(0), 4+c), []float64{want, 1}, "features of pixel (1, %d)", c)
	}
	oracle.Equal(t, in.Samples(), [][]int32{{0, 1, 1, -1, 2, 2, -1, 0}}, "labels")
	oracle.Equal(t, set.Instances[1].Samples(), [][]int32{{0, 1, 2, -1, 0, 0, 0, 0}}, "labels")
	n := set.Schema.NodeTypes[0]
	if !slices.Equal(n.FeatureNames, []string{"height", "bias"}) || n.States[2] != "road" || !slices.Equal(set.Warnings, []string{"3 of 24 labels are hidden (negative, or 255 in a picture)"}) {
		t.Errorf("node type %+v, warnings %q", n, set.Warnings)
	}
	if got, want := set.Images[2], (ImageSource{ID: "tall", Path: filepath.Join(folder, "images", "tall.jpeg"), Width: 2, Height: 4}); got != want {
		t.Errorf("picture is %+v, want %+v", got, want)
	}
	oracle.Equal(t, len(set.Sources), 10, "sources")
	for e := range int32(in.Graph.NumEdges()) {
		distance := math.Abs(row(in.NodeFeatures(0), int(in.Graph.U(e)))[0] - row(in.NodeFeatures(0), int(in.Graph.V(e)))[0])
		want := make([]float64, set.Recipe.Bins)
		want[binOf(distance, set.Recipe.BinEdges)] = 1
		oracle.Equal(t, row(in.EdgeFeatures(0), int(e)), want, "bin of edge %d at distance %v", e, distance)
	}

	// A model takes its own bins and bias, whatever the options say, and says so.
	again := mustOpen(t, folder, Options{Schema: &set.Schema, Recipe: &set.Recipe, List: "some.txt", NoBias: true, Bins: 7, Neighbours: 8, NoLabels: true})
	if len(again.Instances) != 2 || again.Instances[1].Name != "2" || len(again.Instances[1].Samples()) != 0 {
		t.Fatalf("%d instances", len(again.Instances))
	}
	oracle.Equal(t, again.Recipe, set.Recipe, "recipe")
	if want := []string{"dataset.Options.Neighbours is 8, but the model was trained with 4, which holds",
		"dataset.Options.Bins is 7, but the model was trained with 2, which holds",
		"dataset.Options.NoBias is true, but the model was trained with false, which holds"}; !slices.Equal(again.Warnings, want) {
		t.Errorf("warnings are %q, want %q", again.Warnings, want)
	}
	for e := range in.Graph.NumEdges() {
		oracle.Equal(t, row(in.EdgeFeatures(0), e), row(again.Instances[1].EdgeFeatures(0), e), "bin of edge %d", e)
	}
	eight := mustOpen(t, folder, Options{Neighbours: 8, NoBias: true, Bins: 1, List: filepath.Join(folder, "some.txt")})
	if eight.Instances[1].Graph.NumEdges() != 16 || eight.Schema.NodeTypes[0].Features != 1 || eight.Schema.EdgeTypes[0].Features != 1 {
		t.Errorf("%d edges, schema %+v", eight.Instances[1].Graph.NumEdges(), eight.Schema)
	}
}

func TestImagesWithoutNames(t *testing.T) {
	files := someImages(t)
	delete(files, ManifestName)
	set := mustOpen(t, writeFiles(t, files), Options{Edges: edgesBins})
	if n := set.Schema.NodeTypes[0]; len(n.States) != 3 || !slices.Equal(n.FeatureNames, []string{"0", "bias"}) {
		t.Errorf("node type is %+v", n)
	}
	if len(set.Warnings) != 3 || !strings.Contains(set.Warnings[0], "3 states, because the largest label is 2") || !strings.Contains(set.Warnings[1], "bins, not 10") {
		t.Errorf("warnings are %q", set.Warnings)
	}
	refuses(t, writeFiles(t, files), Options{NoLabels: true}, "States: there are no labels to tell the number of states")
}

func TestImagesRefuse(t *testing.T) {
	for name, c := range map[string]struct {
		change  map[string]string // "" removes the file
		options Options
		want    []string
	}{
		"label size": {map[string]string{"labels/2.regions.txt": "0 0\n0 0\n0 0\n0 0\n"}, Options{},
			[]string{"2.regions.txt: its 4 rows of 2 cells are not the shape of ", "2.jpg, which has 2 rows of 4 pixels"}},
		"label value": {map[string]string{"labels/2.regions.txt": "0 0 0 0\n0 0 3 0\n"}, Options{},
			[]string{"2.regions.txt:2: number 3 is 3, want -1 (unobserved) or 0 to 2"}},
		"label picture": {map[string]string{"labels/10.png": indexed(t, 2, 4, 0, 0, 0, 0, 0, 9)}, Options{},
			[]string{"10.png:[1,1]: is 9, want 255 (unobserved) or 0 to 2"}},
		"label text": {map[string]string{"labels/2.regions.txt": "0 0 0 0\n0 0 x 0\n"}, Options{},
			[]string{`2.regions.txt:2: "x" is no number of a label`}},
		"ragged": {map[string]string{"labels/2.regions.txt": "0 0 0 0\n0 0 0\n"}, Options{},
			[]string{"2.regions.txt:2: there are 3 numbers, want 4"}},
		"one state": {map[string]string{ManifestName: "", "labels/2.regions.txt": "0 0 0 0\n0 0 0 -1\n",
			"labels/10.png":           indexed(t, 2, 4),
			"labels/tall.regions.txt": "0 0\n0 0\n0 0\n0 0\n"},
			Options{}, []string{"regions.txt: every label of every picture is 0", "dataset.json"}},
		"no rows":   {map[string]string{"labels/2.regions.txt": " \n"}, Options{}, []string{"there are no labels"}},
		"two files": {map[string]string{"labels/10.npy": "x"}, Options{}, []string{"10.png: ", "10.npy is there, too"}},
		"label missing": {map[string]string{"labels/10.png": ""}, Options{},
			[]string{"10.PNG: it has no labels: there is no ", "10.regions.txt or ", "10.png or ",
				"10_L.png; label it, or leave"}},
		"label colours":  {map[string]string{"labels/10.png": colours(t)}, Options{}, []string{"[0,0]: is transparent"}},
		"no labels":      {map[string]string{"labels/2.regions.txt": "", "labels/10.png": "", "labels/tall.regions.txt": ""}, Options{}, []string{"there is no folder", "predict needs none"}},
		"transposed":     {map[string]string{"features/tall.npy": cells(60, 80, 1)}, Options{}, []string{"tall.npy: its 60 rows of 80 cells are not the shape of ", "tall.jpeg, which has 4 rows of 2 pixels"}},
		"features first": {map[string]string{"features/tall.npy": cells(1, 60, 30)}, Options{}, []string{"its 1 rows of 60 cells", "want [h, w, d], of features first numpy.moveaxis(a, 0, -1)"}},
		"feature rank":   {map[string]string{"features/2.npy": string(npyOf("<f4", "False", "(1, 2, 2, 1)", binary.LittleEndian, make([]float32, 4)))}, Options{}, []string{"2.npy: shape is [1, 2, 2, 1], want [h, w, d]"}},
		"feature type": {map[string]string{"features/2.npy": string(npyOf("<i4", "False", "(1, 2, 1)", binary.LittleEndian,
			make([]int32, 2)))}, Options{}, []string{"2.npy: dtype is <i4, want float32, float16, float64 or uint8"}},
		"feature cut":  {map[string]string{"features/2.npy": cells(1, 2, 1)[:80]}, Options{}, []string{"has 80 bytes"}},
		"feature none": {map[string]string{"features/2.npy": "", "features/2.npz": "x"}, Options{}, []string{"npz is that"}},
		"feature NaN": {map[string]string{"features/2.npy": cells(1, 2, 1, 0, float32(math.NaN()))}, Options{},
			[]string{"2.npy:[0,1,0]: is NaN", "write the mean in the place of NaN"}},
		"feature depth":  {map[string]string{"features/10.npy": cells(1, 2, 5)}, Options{}, []string{"10.npy: it has 5 features per pixel, ", "2.npy has 1"}},
		"picture":        {map[string]string{"images/2.jpg": "jpg"}, Options{}, []string{"the picture cannot be read"}},
		"two pictures":   {map[string]string{"images/2.png": indexed(t, 2, 4)}, Options{}, []string{`2 pictures are named "2"`}},
		"list":           {map[string]string{"some.txt": "2\n2.gif\n"}, Options{List: "some.txt"}, []string{`some.txt:2: 0 pictures are named "2.gif"`, "an id is a file name without .jpg"}},
		"no list":        {nil, Options{List: "none.txt"}, []string{"none.txt", "no such file"}},
		"no feature dir": {nil, Options{FeatureDir: "none"}, []string{"none", "no such file"}},
		"feature names":  {map[string]string{ManifestName: `{"node_features": ["a", "b"]}`}, Options{}, []string{"dataset.json:node_features: it names 2 features"}},
		"no pictures": {map[string]string{"images/2.jpg": "", "images/10.PNG": "", "images/tall.jpeg": "", "l": "2\n"},
			Options{List: "l"}, []string{"images: there are no pictures (.jpg, .jpeg, .png); save them as png", "below"}},
		"list twice": {map[string]string{"some.txt": "2\n\nimages/2.jpg\n"}, Options{List: "some.txt"},
			[]string{`some.txt:3: "2" is listed on line 1 already`}},
	} {
		t.Run(name, func(t *testing.T) {
			files := someImages(t)
			maps.Copy(files, c.change)
			maps.DeleteFunc(files, func(_, text string) bool { return text == "" })
			refuses(t, writeFiles(t, files), c.options, c.want...)
		})
	}
	two := []string{writeFiles(t, someImages(t)), writeFiles(t, someImages(t))}
	oracle.Fails(Open(t.Context(), two, Options{}))(t, "2 image folders are given")
}

func colours(t testing.TB) string {
	var b bytes.Buffer
	oracle.OK(t, png.Encode(&b, image.NewRGBA(image.Rect(0, 0, 4, 2))))
	return b.String()
}

func TestImagesAgainstModel(t *testing.T) {
	set := mustOpen(t, writeFiles(t, someImages(t)), Options{Edges: edgesBins})
	model := modelOf(set)
	files := someImages(t)
	files[ManifestName] = `{"states": ["sky", "tree", "sea"]}`
	refuses(t, writeFiles(t, files), model, `dataset.json:states: they are ["sky" "tree" "sea"], the model has`)
	files = someImages(t)
	delete(files, ManifestName)
	files["features/10.npy"] = cells(1, 2, 2)
	refuses(t, writeFiles(t, files), model, "10.npy: it has 2 features per pixel, the model has 1")
	wrong := set.Recipe
	wrong.FeatureDim = 7
	refuses(t, writeFiles(t, files), Options{Schema: &set.Schema, Recipe: &wrong}, "recipe: it makes other features than the model has weights for")
	wrong.BinEdges = []float64{2, 1}
	wrong.Bins = 3
	refuses(t, writeFiles(t, files), Options{Schema: &set.Schema, Recipe: &wrong}, "bin_edges is not as this version writes it; use the model with the version that trained it")
}

func TestCheckReadsPictures(t *testing.T) {
	files := someImages(t)
	files["images/2.jpg"] = files["images/2.jpg"][:len(files["images/2.jpg"])-20]
	files["features/10.npy"] = "x"
	files["labels/10.png"] = "x"
	folder := writeFiles(t, files)
	if _, list := Check(t.Context(), []string{folder}, Options{}); len(list) != 3 {
		t.Errorf("%d problems, want 3: %v", len(list), list)
	}
}

func TestFeatureMapFits(t *testing.T) {
	for _, c := range []struct {
		mapRows, mapCols, rows, cols int
		want                         bool
	}{
		{60, 80, 240, 320, true}, {54, 80, 213, 320, true}, {42, 80, 169, 320, true}, {48, 80, 194, 320, true},
		{8, 10, 240, 320, true}, {240, 320, 240, 320, true}, {1, 1, 240, 320, true},
		{80, 60, 240, 320, false}, {54, 80, 240, 320, false}, {60, 80, 320, 240, false}, {240, 324, 240, 320, false},
	} {
		m := &featureMap{rows: c.mapRows, cols: c.mapCols}
		oracle.Equal(t, m.fits(c.rows, c.cols), c.want,
			"a map of %d×%d for a picture of %d×%d", c.mapRows, c.mapCols, c.rows, c.cols)
	}
}

func TestBinEdges(t *testing.T) {
	sample := make([]float64, 1000)
	for i := range sample {
		sample[i] = float64((i * 7) % 1000)
	}
	oracle.Equal(t, binEdges(sample, 4), []float64{250, 500, 750}, "edges")
	// Half of the distances are equal: the bins that would be empty are left out.
	for i := range sample {
		sample[i] = max(500, float64(i))
	}
	oracle.Equal(t, binEdges(sample, 4), []float64{750}, "edges")
	for x, want := range map[float64]int32{-1: 0, 1: 1, 1.5: 1, 2: 2, 3: 2} {
		oracle.Equal(t, binOf(x, []float64{1, 2}), int(want), "bin of %v", x)
	}
	oracle.Equal(t, len(binEdges(nil, 10)), 0, "edges of no distances")
}

func FuzzRegions(f *testing.F) {
	f.Add([]byte("\ufeff0 1 -2\r\n2\t3 99999\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, list := parseRegions("r", data)
		if len(list) == 0 && (len(m.numbers) != m.rows*m.cols || m.rows == 0) {
			t.Errorf("%d labels for %d × %d", len(m.numbers), m.rows, m.cols)
		}
	})
}

func FuzzLabelPicture(f *testing.F) {
	f.Add([]byte(indexed(f, 2, 4, 0, 1, 2, 255)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := parseNumberPicture("p", data, 0); err == nil && len(m.numbers) != m.rows*m.cols {
			t.Errorf("%d labels for %d × %d", len(m.numbers), m.rows, m.cols)
		}
	})
}

func FuzzFeatureMap(f *testing.F) {
	f.Add([]byte(cells(1, 2, 1, 0, 4)))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseMap("m", data, nil)
		if err != nil {
			return
		}
		if m.rows*m.cols < 1<<16 && m.depth < 1<<16 {
			pixels := upsample.New(m.cells, upsample.Size{Rows: m.rows, Cols: m.cols}, m.depth,
				upsample.Size{Rows: 2, Cols: 3}, true)
			for r := range pixels.Rows() {
				pixels.Row(make([]float64, pixels.Dim()), r)
			}
		}
	})
}

// TestFeatureMapTypes: maps of all types and orders have the same numbers.
func TestFeatureMapTypes(t *testing.T) {
	const rows, cols, depth = 2, 3, 4
	want := make([]float32, rows*cols*depth)
	for i := range want {
		want[i] = float32(i * 7 % 24)
	}
	halves := func(x []float32) []uint16 { // of small whole numbers
		h := make([]uint16, len(x))
		for i, v := range x {
			if v > 0 {
				h[i] = uint16(math.Float32bits(v)>>13 - (127-15)<<10)
			}
		}
		return h
	}
	numbers := map[string]func(x []float32) any{
		"f4": func(x []float32) any { return x },
		"f2": func(x []float32) any { return halves(x) },
		"f8": func(x []float32) any {
			d := make([]float64, len(x))
			for i, v := range x {
				d[i] = float64(v)
			}
			return d
		},
		"u1": func(x []float32) any {
			b := make([]uint8, len(x))
			for i, v := range x {
				b[i] = uint8(v)
			}
			return b
		},
	}
	for _, fortran := range []string{"False", "True"} {
		data := slices.Clone(want)
		for i, x := range want {
			if r, c, k := i/depth/cols, i/depth%cols, i%depth; fortran == "True" {
				data[(k*cols+c)*rows+r] = x
			}
		}
		for code, convert := range numbers {
			for sign, order := range map[string]binary.ByteOrder{"<": binary.LittleEndian, ">": binary.BigEndian} {
				m := oracle.Must(parseMap("m", npyOf(sign+code, fortran, "(2, 3, 4)", order, convert(data)), nil))(t)
				got := make([]float32, len(want))
				m.cells.Read(got, []int32{0, 1, 2, 3, 4, 5})
				if m.rows != rows || m.cols != cols || m.depth != depth || !slices.Equal(got, want) {
					t.Errorf("%s%s fortran %s: %d×%d×%d %v, want %v", sign, code, fortran, m.rows, m.cols, m.depth, got, want)
				}
			}
		}
	}
}

// Pictures and labels that are symbolic links are read as what they lead to, also in folders of VOC or CamVid.
func TestImagesByLinks(t *testing.T) {
	there := writeFiles(t, someImages(t))
	for _, names := range [][2]string{{"JPEGImages", "SegmentationClass"}, {"701_StillsRaw_full",
		"LabeledApproved_full"}} {
		here, names := t.TempDir(), strings.NewReplacer("images", names[0], "labels", names[1])
		for _, e := range oracle.Must(os.ReadDir(there))(t) {
			oracle.OK(t, os.Symlink(filepath.Join(there, e.Name()), filepath.Join(here, names.Replace(e.Name()))))
		}
		oracle.Equal(t, len(mustOpen(t, here, Options{}).Instances), 3, "images")
	}
}
