package dataset

import (
	"errors"
	"fmt"
	"image/color"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/internal/infile"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/stretch"
)

// Folders and files of an image folder.
const (
	imagesFolder   = "images"
	labelsFolder   = "labels"
	featuresFolder = "features"
	edgesFolder    = "edges"
	regionsSuffix  = ".regions.txt"
)

var (
	pictureSuffixes = []string{".jpg", ".jpeg", ".png", ".tif", ".tiff"}
	labelSuffixes   = []string{".png", ".tif", ".tiff"}
)

// imageFiles is what one picture is read from.
type imageFiles struct {
	id       string
	picture  string
	features string // "": the colours of the picture
	edges    string // an edge map, without .png or .npy; "": none
	folder   string // with labels/
}

// imageData is what was read.
type imageData struct {
	image    ImageSource
	features *featureMap
	labels   *labelMap // nil: not read
	sources  []Source
	files    []*infile.Mapping // that features lie in
	allowed  int64             // memory, as Options.Memory
	pixelEdges
}

// source reads a whole file, which then is among the sources.
func (d *imageData) source(path, wanted string) ([]byte, error) {
	data, source, err := readSource(path, wanted, math.MaxInt64, d.allowed)
	if err == nil {
		d.sources = append(d.sources, source)
	}
	return data, err
}

// mapped is source for a file that may be large: of what is mapped nothing counts as memory.
func (d *imageData) mapped(path, wanted string) (*infile.Mapping, error) {
	file, err := infile.Map(path, wanted, func(size int64) error {
		return memory.Check("the file "+path, float64(size), d.allowed)
	})
	if err == nil {
		d.sources = append(d.sources, sourceOf(path, file.Bytes()))
	}
	return file, err
}

// findImages lists the pictures to read: those of the list, or all.
func findImages(folder string, o *Options) ([]imageFiles, []Source, []error) {
	byID, err := pictures(filepath.Join(folder, imagesFolder))
	if err != nil {
		return nil, nil, []error{err}
	}
	features, err := findFeatures(folder, o)
	if err != nil {
		return nil, nil, []error{err}
	}
	if !o.NoLabels {
		labels := filepath.Join(folder, labelsFolder)
		if stat, err := os.Stat(labels); err != nil || !stat.IsDir() {
			return nil, nil, []error{&Error{File: folder, Problem: "there is no folder " + labels, Cause: err,
				Remedy: "it has a picture of labels, ID.png, for each ID.jpg or ID.png in images; predict needs none"}}
		}
	}
	within, ids := filepath.Join(folder, imagesFolder), ""
	if o.List != "" {
		ids = ListPath(folder, o.List)
	}
	entries, sources, list := chosen(within, byID, ids, o.Memory)
	var found []imageFiles
	for _, e := range entries {
		f := imageFiles{id: e.text, picture: byID[e.text][0], folder: folder}
		if features != "" {
			f.features = filepath.Join(features, e.text+".npy")
		}
		if maps := edgeMapFolder(folder, o); maps != "" {
			f.edges = filepath.Join(maps, e.text)
		}
		found = append(found, f)
	}
	return found, sources, list
}

func isTIFF(path string) bool {
	return slices.Contains([]string{".tif", ".tiff"}, strings.ToLower(filepath.Ext(path)))
}

// ListPath returns where Open reads a list of image ids, or a folder that an option names: at the path as it stands,
// or else within the data folder.
func ListPath(folder, list string) string {
	within := filepath.Join(folder, list)
	if _, err := os.Stat(list); err != nil {
		if _, err := os.Stat(within); err == nil {
			return within
		}
	}
	return list
}

// FeatureFolder returns the folder from which Open reads the unary features of an
// image folder: the one asked for, as ListPath finds it, or else features in the data folder.
func FeatureFolder(folder, asked string) string {
	if asked != "" {
		return ListPath(folder, asked)
	}
	return filepath.Join(folder, featuresFolder)
}

// pictures lists the pictures of a folder by id; a tif beside another counts as what that was made of.
func pictures(folder string) (map[string][]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	byID := map[string][]string{}
	for _, e := range entries {
		suffix := filepath.Ext(e.Name())
		if slices.Contains(pictureSuffixes, strings.ToLower(suffix)) && e.Name()[0] != '.' {
			id := strings.TrimSuffix(e.Name(), suffix)
			byID[id] = append(byID[id], filepath.Join(folder, e.Name()))
		}
	}
	for id, paths := range byID {
		if made := slices.DeleteFunc(slices.Clone(paths), isTIFF); len(made) > 0 {
			byID[id] = made
		}
	}
	return byID, nil
}

// findFeatures returns the folder of the features if it is there, or "" where colours are the features.
func findFeatures(folder string, o *Options) (string, error) {
	if o.Recipe != nil && o.Recipe.Colours && o.FeatureDir == "" {
		return "", nil
	}
	features := FeatureFolder(folder, o.FeatureDir)
	_, err := os.Stat(features)
	switch {
	case o.Recipe != nil && o.Recipe.Colours:
		return "", optionError("FeatureDir", "the model learned from the colours of pictures, and has no features: leave "+
			"the option out")
	case errors.Is(err, fs.ErrNotExist) && o.FeatureDir == "" && o.Recipe == nil:
		return "", nil
	case err != nil && o.FeatureDir == "":
		return "", optionError("FeatureDir", "there is no folder %s; name the folder with one ID.npy of unary features "+
			"[h, w, d] per picture, as the model learned from", features)
	}
	return features, err
}

// read reads everything about one picture and checks that it fits together.
func (f *imageFiles) read(o *Options) (*imageData, []error) {
	d := &imageData{allowed: o.Memory}
	var list []error
	if err := f.readPicture(d, o.superpixels() || o.edgesOfImages() == EdgesContrast); err != nil {
		list = append(list, err)
	}
	if f.features != "" {
		list = append(list, f.readFeatures(d)...)
	}
	if !o.NoLabels {
		list = append(list, f.readLabels(d)...)
	}
	if len(list) == 0 {
		list = d.checkSizes()
	}
	if len(list) == 0 && f.edges != "" {
		if err := f.readEdgeMap(d); err != nil {
			list = append(list, err)
		}
	}
	return d, list
}

// readFeatures reads features/ID.npy.
func (f *imageFiles) readFeatures(d *imageData) (list []error) {
	features, err := d.mapped(f.features, "the features of a picture in npy format")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		list = append(list, &Error{File: f.features, Problem: fmt.Sprintf("there is no such file; it should hold the "+
			"unary features of %s", f.picture), Remedy: "make the features, or leave the picture out of the list", Cause: err})
	case err != nil:
		list = append(list, err)
	default:
		d.files = append(d.files, features)
		if d.features, err = parseFeatureMap(f.features, features.Bytes(), features); err != nil {
			list = append(list, err)
		}
	}
	return list
}

// readPicture finds the size of the picture, and its colours where they are wanted. Its pixels are decoded at any
// rate, to see that they can be: they are drawn when the work is done, which is too late to find a damaged file.
func (f *imageFiles) readPicture(d *imageData, wanted bool) error {
	data, err := d.source(f.picture, "a picture")
	if err != nil {
		return err
	}
	picture, _, err := decodePicture(f.picture, data, d.allowed, "picture", "save it again as png, of 8 or 16 bits")
	if err != nil {
		return err
	}
	size := picture.Bounds().Size()
	d.image = ImageSource{ID: f.id, Path: f.picture, Width: size.X, Height: size.Y}
	if d.rows, d.cols = size.Y, size.X; wanted || f.features == "" {
		d.colours = coloursOf(picture)
	}
	if f.features == "" {
		d.features = colourFeatures(f.picture, picture, d.colours)
	}
	return nil
}

// readEdgeMap reads a map of the strength of edges: a grey picture, whose values are divided by 255,
// or an array [h, w], which is stretched over the picture.
func (f *imageFiles) readEdgeMap(d *imageData) error {
	path := f.edges + ".png"
	data, err := d.source(path, "an edge map as a picture")
	var m *featureMap
	switch {
	case err == nil:
		m, err = parseEdgePicture(path, data, d.allowed)
	case errors.Is(err, fs.ErrNotExist):
		path = f.edges + ".npy"
		var file *infile.Mapping
		if file, err = d.mapped(path, "an edge map in npy format"); err == nil {
			defer file.Close()
			m, err = parseMap(path, file.Bytes(), file, 2)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return &Error{File: f.picture, Problem: fmt.Sprintf("it has no edge map: there is neither %s.png nor %s", f.edges,
			path), Remedy: "name the folder of the maps by {edge-maps}, make the map, or leave the picture out of the list",
			Cause: err}
	}
	if err != nil {
		return err
	}
	value := make([]float32, 1)
	for i := range m.rows * m.cols {
		if m.cells.Read(value, []int32{int32(i)}); value[0] < 0 {
			return &Error{File: path, Place: npy.IndexText([]int{m.rows, m.cols}, i),
				Problem: fmt.Sprintf("is %v, want the strength of an edge, 0 or more", value[0])}
		}
	}
	if s := d.image; !m.fits(s.Height, s.Width) {
		return m.misfit(&s, "[h, w]")
	}
	d.edges = make([]float32, d.rows*d.cols)
	var lines stretch.Lines
	for y, over := 0, m.over(&d.image, false); y < d.rows; y++ {
		lines.Line(d.edges[y*d.cols:][:d.cols], over, y)
	}
	return nil
}

// parseEdgePicture reads a grey png as numbers from 0 to 1.
func parseEdgePicture(path string, data []byte, allowed int64) (*featureMap, error) {
	picture, _, err := decodePicture(path, data, allowed, "edge map", "save it again as a grey png, or as npy")
	if err != nil {
		return nil, err
	}
	if model := picture.ColorModel(); model != color.GrayModel && model != color.Gray16Model {
		return nil, &Error{File: path, Problem: "its pixels are colours, not the strength of edges",
			Remedy: "save it as 8-bit grey (mode L of PIL), or as npy"}
	}
	at := picture.Bounds()
	m := &featureMap{path: path, rows: at.Dy(), cols: at.Dx(), depth: 1}
	values := make(stretch.Values, m.rows*m.cols)
	for i := range values {
		grey := color.Gray16Model.Convert(picture.At(at.Min.X+i%m.cols, at.Min.Y+i/m.cols)).(color.Gray16)
		values[i] = float32(grey.Y) / math.MaxUint16
	}
	m.cells = values
	return m, nil
}

// edgeMapFolder returns the folder from which Open reads edge maps: the one asked for, that of the data
// folder for a model that has them, or none.
func edgeMapFolder(folder string, o *Options) string {
	switch {
	case o.Recipe != nil && (o.Recipe.Edges == nil || o.Recipe.Edges.Map == nil):
		return ""
	case o.EdgeMaps == "" && o.Recipe != nil:
		return filepath.Join(folder, edgesFolder)
	case o.EdgeMaps == "":
		return ""
	}
	return ListPath(folder, o.EdgeMaps)
}

// readLabels reads labels/ID.regions.txt, or else the picture labels/ID.png or .tif.
func (f *imageFiles) readLabels(d *imageData) []error {
	text := filepath.Join(f.folder, labelsFolder, f.id+regionsSuffix)
	parse, path := parseRegions, text
	data, err := d.source(text, "a table of labels")
	for _, suffix := range labelSuffixes {
		if errors.Is(err, fs.ErrNotExist) {
			parse, path = parseLabelPicture, filepath.Join(f.folder, labelsFolder, f.id+suffix)
			data, err = d.source(path, "a picture of labels")
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return []error{&Error{File: f.picture, Problem: fmt.Sprintf("it has no labels: there is neither %s nor %s", text,
			filepath.Join(f.folder, labelsFolder, f.id+".png")), Remedy: "label it, leave it out of " +
			"the list", Cause: err}}
	}
	if err != nil {
		return []error{err}
	}
	m, list := parse(path, data, d.allowed)
	d.labels = m
	return list
}

// misplacedPictures says what to do about pictures that a path leads to, "" if there are none.
func misplacedPictures(path string) string {
	is := slices.Contains(pictureSuffixes, strings.ToLower(filepath.Ext(path)))
	folders, _ := filepath.Glob(filepath.Join(path, "*"))
	for _, folder := range append(folders, path) {
		found, err := pictures(folder)
		is = is || err == nil && len(found) > 0
	}
	if !is {
		return ""
	}
	return fmt.Sprintf("put pictures into a folder DATA/%s, and their labels, ID.png, into DATA/%s, and give DATA",
		imagesFolder, labelsFolder)
}

// checkSizes compares the sizes of labels and picture.
func (d *imageData) checkSizes() []error {
	if m, s := d.labels, d.image; m != nil && (m.rows != s.Height || m.cols != s.Width) {
		return []error{&Error{File: m.path, Problem: fmt.Sprintf("it labels %d rows of %d pixels, but %s has %d rows "+
			"of %d", m.rows, m.cols, s.Path, s.Height, s.Width), Remedy: "use the labels of this picture in its own size"}}
	}
	return nil
}

// shapes of layouts, for messages.
var shapes = map[string]string{LayoutHWC: "[h, w, d]", LayoutCHW: "[d, h, w]"}

// misfit is the error of a map that does not fit a picture.
func (m *featureMap) misfit(s *ImageSource, wanted string) error {
	return &Error{File: m.path, Problem: fmt.Sprintf("its %d rows of %d cells are not the shape of %s, which has %d "+
		"rows of %d pixels", m.rows, m.cols, s.Path, s.Height, s.Width),
		Remedy: "check that it belongs to this picture and is not transposed: want " + wanted}
}
