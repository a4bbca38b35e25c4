package dataset

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// labelFolder is a folder of pictures of 2 × 4 pixels with those pictures of labels.
func labelFolder(t testing.TB, more map[string]string, labels ...image.Image) map[string]string {
	files := map[string]string{}
	for i, m := range labels {
		id := string(rune('a' + i))
		files["images/"+id+".png"] = pictureOf(t, image.NewGray(image.Rect(0, 0, 4, 2)))
		files["features/"+id+".npy"] = cells(2, 4, 1, 1, 2, 3, 4, 5, 6, 7, 8)
		if m != nil {
			files["labels/"+id+".png"] = pictureOf(t, m)
		}
	}
	maps.Copy(files, more)
	return files
}

func pictureOf(t testing.TB, p image.Image) string {
	t.Helper()
	var b bytes.Buffer
	oracle.OK(t, png.Encode(&b, p))
	return b.String()
}

func greys(values ...uint8) *image.Gray {
	p := image.NewGray(image.Rect(0, 0, 4, 2))
	copy(p.Pix, values)
	return p
}

// inBlocks repeats eight numbers in blocks of 2 × 2, four in a row, and blocks paints them.
func inBlocks[T any](values ...T) (all []T) {
	for i := range 32 {
		all = append(all, values[i/16*4+i%8/2])
	}
	return all
}

func blocks(values ...uint8) *image.Gray {
	return &image.Gray{Pix: inBlocks(values...), Stride: 8, Rect: image.Rect(0, 0, 8, 4)}
}

// paletted has the first colour of a palette everywhere but in the last pixel.
func paletted(palette ...color.Color) *image.Paletted {
	p := image.NewPaletted(image.Rect(0, 0, 4, 2), palette)
	p.Pix[7] = uint8(len(palette) - 1)
	return p
}

// painted paints pixels in colours.
func painted(colours ...color.RGBA) *image.RGBA {
	p := image.NewRGBA(image.Rect(0, 0, 4, 2))
	for i := range 8 {
		p.SetRGBA(i%4, i/4, colours[min(i, len(colours)-1)])
	}
	return p
}

var (
	black, red, green = color.RGBA{A: 255}, color.RGBA{R: 255, A: 255}, color.RGBA{G: 255, A: 255}
	void              = color.RGBA{224, 224, 192, 255}
)

// camvid names colours, of which the labels need not have all. treeAndCar are the labels of two pictures by its states.
var camvid = map[string]string{
	"label_colors.txt": "255 0 0\tCar\r\n0 0 0\tVoid\r\n0 0 255\tThe Sea\r\n0 255 0\tThe Tree\r\n0 255 0\tThe Tree\r\n",
}
var treeAndCar, seen = []int32{1, 2, -1, -1, -1, -1, -1, -1}, []string{"The Sea", "The Tree", "Car"}

// TestLabelPictures: masks of 0 and 255, colours, and what programs write of numbers are the labels that they show.
func TestLabelPictures(t *testing.T) {
	wide := image.NewGray16(image.Rect(0, 0, 4, 2))
	wide.SetGray16(0, 0, color.Gray16{Y: 2})
	wide.SetGray16(1, 0, color.Gray16{Y: 65535})
	eight := map[string]string{"images/a.png": pictureOf(t, blocks(make([]uint8, 8)...)), "features/a.npy": cells(4, 8, 1)}
	two := func(v uint8) color.RGBA { return color.RGBA{v, v, v, 255} }
	for name, c := range map[string]struct {
		labels []image.Image
		more   map[string]string
		want   []int32 // of the first picture
		states []string
		note   string
	}{
		"mask": {[]image.Image{greys(0, 255, 255), greys()}, nil, []int32{0, 1, 1, 0, 0, 0, 0, 0}, []string{"0", "255"},
			"the labels of all pictures are greys from 0 to 255: all are states (0, 255), and 255 hides nothing"},
		"no mask": {[]image.Image{greys(0, 255, 255), greys()},
			map[string]string{ManifestName: `{"states": ["a", "b", "c"]}`}, []int32{0, -1, -1, 0, 0, 0, 0, 0},
			[]string{"a", "b", "c"}, "2 of 16 labels are hidden"},
		"masks": {[]image.Image{greys(0, 255, 127), greys()},
			map[string]string{ManifestName: `{"states": ["out", "in", "edge"]}`}, []int32{0, 2, 1, 0, 0, 0, 0, 0},
			[]string{"out", "in", "edge"}, "from 0 to 255: all are states (0 is out, 127 is in, 255 is edge), and"},
		"hidden mask": {[]image.Image{greys(0, 255, 127), greys()},
			map[string]string{ManifestName: `{"states": ["out", "in", "?"]}`}, []int32{0, -1, 1, 0, 0, 0, 0, 0},
			[]string{"out", "in"}, "the colour 255 hides labels"},
		"one of many": {[]image.Image{greys(0, 255, 15), greys()}, nil, []int32{0, -1, 1, 0, 0, 0, 0, 0}, []string{"0", "15"}, "labels have gaps, and are the names of 2 states: 0, 15"},
		"colours":     {[]image.Image{painted(green, red, red, black), painted(black)}, nil, []int32{1, 2, 2, 0, 0, 0, 0, 0}, []string{"#000000", "#00ff00", "#ff0000"}, "each colour of the label pictures is a state: #000000, #00ff00, #ff0000"},
		"palette": {[]image.Image{paletted(black, red, green), paletted(black, red)}, nil,
			[]int32{0, 0, 0, 0, 0, 0, 0, 2}, []string{"0", "1", "2"}, ""},
		"shades": {[]image.Image{paletted(black, red), paletted(black, green)}, nil,
			[]int32{0, 0, 0, 0, 0, 0, 0, 1}, []string{"0", "1"}, ""},
		"palettes": {[]image.Image{paletted(black, red), paletted(black, red, green), paletted(red, black)}, nil,
			[]int32{0, 0, 0, 0, 0, 0, 0, 2}, []string{"#000000", "#00ff00", "#ff0000"}, "each colour of the label pictures"},
		"a palette and colours": {[]image.Image{paletted(red, black), painted(red, black)}, nil,
			[]int32{1, 1, 1, 1, 1, 1, 1, 0}, []string{"#000000", "#ff0000"}, "each colour of the label pictures"},
		"voc": {[]image.Image{painted(green, void, red, black), painted(black)}, nil,
			[]int32{1, -1, 2, 0, 0, 0, 0, 0}, []string{"#000000", "#00ff00", "#ff0000"},
			"the colour #e0e0c0 hides labels; where it is a state, name"},
		"named voc": {[]image.Image{painted(green, void, black), painted(black)},
			map[string]string{ManifestName: `{"states": ["road", "tree"]}`}, []int32{1, -1, 0, 0, 0, 0, 0, 0},
			[]string{"road", "tree"}, "#000000 is road, #00ff00 is tree"},
		"no void": {[]image.Image{painted(green, void, black), painted(black)},
			map[string]string{ManifestName: `{"states": ["road", "tree", "sand"]}`}, []int32{1, 2, 0, 0, 0, 0, 0, 0},
			[]string{"road", "tree", "sand"}, "#e0e0c0 is sand"},
		"named void": {[]image.Image{painted(green, red, black), painted(black)},
			map[string]string{ManifestName: `{"states": ["?", "tree", "road"]}`}, []int32{0, 1, -1, -1, -1, -1, -1, -1},
			[]string{"tree", "road"}, "the colour #000000 hides labels"},
		"camvid": {[]image.Image{painted(green, red, black), painted(red)}, camvid, treeAndCar, seen, "#00ff00 is The Tree"},
		"rgb greys": {[]image.Image{painted(two(0), two(1), two(255), two(0)), greys()}, nil,
			[]int32{0, 1, -1, 0, 0, 0, 0, 0}, []string{"0", "1"}, "hidden"},
		"16 bits": {[]image.Image{wide, greys(1)}, nil, []int32{2, -1, 0, 0, 0, 0, 0, 0}, []string{"0", "1", "2"}, "hidden"},
		"scaled": {[]image.Image{blocks(0, 0, 255, 255, 60, 120, 180, 240), greys()}, eight,
			inBlocks[int32](0, 0, -1, -1, 1, 2, 3, 4), []string{"0", "60", "120", "180", "240"}, "are the names of 5 states"},
		"steps": {[]image.Image{blocks(0, 255, 50, 100, 150, 200, 240, 255), greys()}, eight,
			inBlocks[int32](0, -1, 1, 2, 3, 4, 5, -1),
			[]string{"0", "50", "100", "150", "200", "240"}, "are the names of 6 states"},
	} {
		set := mustOpen(t, writeFiles(t, labelFolder(t, c.more, c.labels...)), Options{})
		if got := set.Instances[0].Samples()[0]; !slices.Equal(got, c.want) || !slices.Equal(set.Schema.NodeTypes[0].States, c.states) {
			t.Errorf("%s: labels %v of states %q, want %v of %q", name, got, set.Schema.NodeTypes[0].States, c.want, c.states)
		}
		if all := strings.Join(set.Warnings, "\n"); !strings.Contains(all, c.note) || strings.Count(all, " hides ") > 1 {
			t.Errorf("%s: warnings are %q, want one of %q", name, set.Warnings, c.note)
		}
		// A model reads other pictures alike, be they of fewer colours.
		if _, err := ParseRecipe(set.Recipe.String()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		again := mustOpen(t, writeFiles(t, labelFolder(t, c.more, c.labels[0])), modelOf(set))
		oracle.Equal(t, again.Instances[0].Samples()[0], c.want, "%s: a model reads labels", name)
	}
}

// TestLabelDir: labels lie in the folder that is named, also as CamVid calls them. Negative numbers hide labels, and
// are regions of their own.
func TestLabelDir(t *testing.T) {
	files := labelFolder(t, nil, greys(0, 1))
	files["masks/a_L.png"] = files["labels/a.png"]
	files["maps/a.regions.txt"] = "-1 -2 3 3\n-1 -2 -2 3\n"
	delete(files, "labels/a.png")
	folder := writeFiles(t, files)
	for _, dir := range []string{"masks", filepath.Join(folder, "masks")} {
		set := mustOpen(t, folder, Options{LabelDir: dir, Superpixels: "maps"})
		if got := set.Instances[0].Samples()[0]; !slices.Equal(got, []int32{0, 0, 0}) || !slices.Equal(set.RowLabels[0],
			[]int32{0, 1, 0, 0, 0, 0, 0, 0}) {
			t.Errorf("%s: labels %v of %v", dir, got, set.RowLabels)
		}
	}
	set := mustOpen(t, folder, Options{LabelDir: "maps", States: []string{"a", "b", "c", "d"}})
	oracle.Equal(t, set.Instances[0].Samples()[0], []int32{-1, -1, 3, 3, -1, -1, -1, 3}, "labels")
	refuses(t, folder, Options{}, "there is no folder "+filepath.Join(folder, "labels"), "LabelDir names it")
}

// TestLabelArrays: arrays hide labels as pictures do, and as texts.
func TestLabelArrays(t *testing.T) {
	files := labelFolder(t, nil, nil)
	files["labels/a.npy"] = string(npyOf("<i4", "False", "(2, 4)", binary.LittleEndian,
		[]int32{0, 1, 255, 0, 2, -1, -7, 65535}))
	set := mustOpen(t, writeFiles(t, files), Options{})
	oracle.Equal(t, set.Instances[0].Samples()[0], []int32{0, 1, -1, 0, 2, -1, -1, -1}, "labels")
	files["labels/a.npy"] = string(npyOf("<f8", "False", "(2, 4)", binary.LittleEndian, make([]float64, 8)))
	refuses(t, writeFiles(t, files), Options{}, "a.npy: dtype is <f8, want integers; convert it with astype(numpy.int32)")
	files["labels/a.npy"] = cells(2, 4, 2)
	refuses(t, writeFiles(t, files), Options{}, "shape is [2, 4, 2], want [h, w], none of them 0; of one-hot labels ")
}

// TestSparseLabels: labels of single pixels, lines and noise are no soft borders.
func TestSparseLabels(t *testing.T) {
	for name, class := range map[string]func(x, y int) int{
		"points":    func(x, y int) int { return map[bool]int{true: 20 + 20*(y/4), false: 255}[x%3 == 1 && y%4 == 1] },
		"scribbles": func(x, y int) int { return map[bool]int{true: 20 + 20*(y/4), false: 255}[y%4 == 1] },
		"noise":     func(x, y int) int { return x * y % 97 % 10 },
	} {
		p := image.NewGray(image.Rect(0, 0, 40, 40))
		for i := range p.Pix {
			p.Pix[i] = uint8(class(i%40, i/40))
		}
		square := map[string]string{"images/a.png": pictureOf(t, p), "features/a.npy": cells(40, 40, 1)}
		set := mustOpen(t, writeFiles(t, labelFolder(t, square, p)), Options{})
		oracle.Equal(t, len(set.Schema.NodeTypes[0].States), 10, "%s: the number of states", name)
	}
}

// TestLabelPicturesRefuse: what is no picture of labels says how to make one of it.
func TestLabelPicturesRefuse(t *testing.T) {
	soft := image.NewGray(image.Rect(0, 0, 40, 40))
	for i := range soft.Pix {
		soft.Pix[i] = uint8(min(255, max(0, 6*(i-800))))
	}
	blurred := image.NewGray(soft.Rect) // squares of three classes, through jpg
	for i := range blurred.Pix {
		blurred.Pix[i] = uint8(100 * ((i%40/13 + i/40/13) % 3))
	}
	var jpg bytes.Buffer
	oracle.OK(t, jpeg.Encode(&jpg, blurred, nil))
	decoded, err := jpeg.Decode(&jpg)
	oracle.OK(t, err)
	many := image.NewRGBA(image.Rect(0, 0, 40, 40))
	for i := range 1600 {
		many.SetRGBA(i%40, i/40, color.RGBA{uint8(i), 7, 0, 255})
	}
	square := map[string]string{"images/a.png": pictureOf(t, soft), "features/a.npy": cells(40, 40, 1)}
	wide := image.NewGray16(image.Rect(0, 0, 4, 2))
	wide.SetGray16(1, 0, color.Gray16{Y: 300})
	for name, c := range map[string]struct {
		labels []image.Image
		more   map[string]string
		want   []string
	}{
		"many": {[]image.Image{many}, square, []string{
			"a.png: the labels of all pictures have 256 colours, want one for each of at most 64 states", "NEAREST"}},
		"soft": {[]image.Image{soft}, square,
			[]string{"a.png: the labels of all pictures are 44 greys, as of soft borders or jpg; save", "g // 128"}},
		"jpg": {[]image.Image{decoded}, square,
			[]string{"greys, as of soft borders or jpg; save pictures of labels as png at once"}},
		"few soft": {[]image.Image{greys(0, 0, 255, 255, 60, 91, 130, 240)}, nil,
			[]string{"a.png: the labels of all pictures are 6 greys, as of soft borders or jpg; save"}},
		"transparent": {[]image.Image{painted(black, color.RGBA{})}, nil, []string{"a.png:[0,1]: is transparent"}},
		"objects":     {[]image.Image{wide}, nil, []string{"a.png:[0,1]: is 300, want a label of 0 to 254"}},
		"names":       {[]image.Image{painted(black, red)}, map[string]string{ManifestName: `{"states": ["a", "b", "c"]}`}, []string{"have 2 colours, #000000, #ff0000, and 3 states are named"}},
		"twice": {[]image.Image{painted(black, red)}, map[string]string{"label_colors.txt": "0 0 0 Car\n255 0 0 Car\n"},
			[]string{`label_colors.txt: two colours are called "Car"`}},
		"mixed": {[]image.Image{painted(black, red), nil}, map[string]string{"labels/b.regions.txt": "0 0 0 0\n0 0 0 0\n"},
			[]string{"a.png: its pixels are colours, and the labels of ", "b.regions.txt are numbers; save"}},
		"folder": {[]image.Image{nil}, map[string]string{"masks/a.png": ""},
			[]string{"there is no folder ", "it has a picture of labels, ID.png"}},
	} {
		_, err := Open(t.Context(), []string{writeFiles(t, labelFolder(t, c.more, c.labels...))}, Options{})
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		oracle.WantError(t, err, c.want...)
	}
	set := mustOpen(t, writeFiles(t, labelFolder(t, nil, painted(black, red))), Options{})
	named := Options{States: []string{hiddenName, "a", "b"}}
	model := modelOf(mustOpen(t, writeFiles(t, labelFolder(t, nil, painted(black, red, green))), named))
	model.States = named.States // as of data to evaluate by
	mustOpen(t, writeFiles(t, labelFolder(t, nil, painted(red, black))), model)
	refuses(t, writeFiles(t, labelFolder(t, nil, painted(black, green))), modelOf(set), "a.png:[0,1]: is #00ff00, want a colour of those that the model learned from: #000000, #ff0000")
	numbers := mustOpen(t, writeFiles(t, labelFolder(t, nil, greys(0, 1))), Options{})
	mask := mustOpen(t, writeFiles(t, labelFolder(t, nil, greys(0, 255))), modelOf(numbers))
	oracle.Contains(t, mask.Warnings[0], "0 and 255, and 255 hides; if it is a state that the model learned as 1, write 1")
	refuses(t, writeFiles(t, labelFolder(t, nil, painted(black, green))), modelOf(numbers), "its pixels are colours, and the labels that the model learned from are numbers")
	broken := set.Recipe
	broken.Palette = broken.Palette[:1]
	oracle.Fails(ParseRecipe(broken.String()))(t, "label_colours is not as")
}

// TestMisplacedPictures: folders of pictures that are called otherwise, and pictures without labels, say what to do.
func TestMisplacedPictures(t *testing.T) {
	here, it := "labels; it has a picture of labels, ID.png", "it is a picture, which is not read; put pictures into"
	for _, c := range []struct{ name, path, want string }{
		{"imgs/a.png", "", "give *.npz files, a folder with images/ and labels/"},
		{"a.png", "", here}, {"a.png", "a.png", it}, {"images/a.png", "images", here}, {"images/a.png", "images/a.png", it},
	} {
		refuses(t, filepath.Join(writeFiles(t, map[string]string{c.name: ""}), c.path), Options{}, c.want)
	}
	for name, want := range map[string]string{ // one of which stands beside
		"d.mat": "d.mat is a file of another program", "z.h5": "z.h5 is a file of another program",
		"a.tif": "a.tif is a picture of another kind", "train/0.npz": "p.png is a picture, which is not read",
	} {
		refuses(t, writeFiles(t, map[string]string{name: "", "p.png": ""}), Options{}, want)
	}
	refuses(t, writeFiles(t, map[string]string{"a.png": "", "b.png": "", "d.mat": ""}), Options{}, "d.mat is a file of")
	apart := writeFiles(t, map[string]string{"x/a.png": pictureOf(t, greys(0, 1)), "y/a.png": pictureOf(t, greys(0, 1))})
	mustOpen(t, filepath.Join(apart, "x"), Options{LabelDir: filepath.Join(apart, "y")})
}

// TestColourFeatures: without a folder of features they are the colours, in all their bits.
func TestColourFeatures(t *testing.T) {
	files := func(pictures ...image.Image) string {
		made := map[string]string{}
		for i, p := range pictures {
			id := string(rune('a' + i))
			made["images/"+id+".png"], made["labels/"+id+".png"] = pictureOf(t, p), pictureOf(t, greys(0, 1))
		}
		return writeFiles(t, made)
	}
	deep := image.NewGray16(image.Rect(0, 0, 4, 2))
	deep.SetGray16(1, 0, color.Gray16{Y: 257*3 + 1})
	brown := color.RGBA{R: 90, G: 60, B: 30, A: 255}
	for name, c := range map[string]struct {
		pictures []image.Image
		second   []float64 // pixel
	}{
		"grey":    {[]image.Image{greys(1, 200), greys(7)}, []float64{200, 200, 200, 1}},
		"colours": {[]image.Image{painted(black, brown), greys(7)}, []float64{90, 60, 30, 1}},
		"16 bits": {[]image.Image{deep}, append(slices.Repeat([]float64{float64(float32(257*3+1) / 257)}, 3), 1)},
	} {
		folder := files(c.pictures...)
		set := mustOpen(t, folder, Options{})
		got, names := row(set.Instances[0].NodeFeatures(0), 1), set.Schema.NodeTypes[0].FeatureNames
		if !slices.Equal(got, c.second) || !slices.Equal(names, []string{"red", "green", "blue", "bias"}) {
			t.Errorf("%s: the second pixel has %v of %q, want %v", name, got, names, c.second)
		}
		if !strings.HasSuffix(set.Warnings[0], "features: the features of pixels are their colours") {
			t.Errorf("%s: warnings are %q", name, set.Warnings)
		}
		model := modelOf(set)
		again := mustOpen(t, folder, model)
		if got := row(again.Instances[0].NodeFeatures(0), 1); !slices.Equal(got, c.second) || len(again.Warnings) > 0 {
			t.Errorf("%s: a model reads %v, with warnings %q", name, got, again.Warnings)
		}
		mustOpen(t, files(painted(black, red)), model)
		model.FeatureDir = "features"
		const note = "dataset.Options.FeatureDir is features, but the model was trained with colours, which holds"
		oracle.Equal(t, mustOpen(t, folder, model).Warnings, []string{note}, "%s: warnings", name)
	}
	set := mustOpen(t, writeFiles(t, labelFolder(t, nil, greys(0, 1))), Options{})
	refuses(t, files(greys(0, 1)), modelOf(set), "FeatureDir: there is no folder ")
	wrong := set.Recipe
	wrong.Colours, wrong.FeatureDim = true, 1 // as of models of before that learned from grey pictures
	oracle.Fails(ParseRecipe(wrong.String()))(t, "recipe: colours is not as")
}
