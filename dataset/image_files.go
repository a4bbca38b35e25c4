package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/internal/memory"
)

// Folders and files of an image folder.
const (
	imagesFolder   = "images"
	labelsFolder   = "labels"
	featuresFolder = "features"
	regionsSuffix  = ".regions.txt"
)

var pictureSuffixes = []string{".jpg", ".jpeg", ".png"}

// imageFiles is what one picture is read from.
type imageFiles struct {
	id       string
	picture  string
	features string
	folder   string // with labels/
}

// imageData is what was read.
type imageData struct {
	image    ImageSource
	features *featureMap
	labels   *labelMap // nil: not read
	sources  []Source
	allowed  int64 // memory, as Options.Memory
}

// source reads a whole file, which then is among the sources.
func (d *imageData) source(path, wanted string) ([]byte, error) {
	data, source, err := readSource(path, wanted, math.MaxInt64, d.allowed)
	if err == nil {
		d.sources = append(d.sources, source)
	}
	return data, err
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
			return nil, nil, []error{&Error{File: folder, Problem: "there is no folder " + labels, Remedy: "to predict, leave labels unread", Cause: err}}
		}
	}
	var entries []listEntry
	var sources []Source
	var list []error
	listed := filepath.Join(folder, imagesFolder)
	if o.List != "" {
		listed = ListPath(folder, o.List)
		var source Source
		entries, source, list = readList(listed, o.Memory)
		sources = []Source{source}
	} else {
		for _, id := range slices.SortedFunc(maps.Keys(byID), naturalCompare) {
			entries = append(entries, listEntry{text: id})
		}
		if len(entries) == 0 {
			list = append(list, &Error{File: listed, Problem: "there are no pictures (.jpg, .jpeg, .png)"})
		}
	}
	var found []imageFiles
	for _, e := range entries {
		paths := byID[e.text]
		if len(paths) != 1 {
			list = append(list, &Error{File: listed, Line: e.line, Problem: fmt.Sprintf("%d pictures are named %q in %s, want 1", len(paths), abbreviate(e.text), filepath.Join(folder, imagesFolder)), Remedy: "an id is a file name without .jpg or .png"})
			continue
		}
		found = append(found, imageFiles{e.text, paths[0], filepath.Join(features, e.text+".npy"), folder})
	}
	return found, sources, list
}

// ListPath returns where Open reads a list of image ids: at the path as it stands,
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
// image folder: the one asked for, or else features in the data folder.
func FeatureFolder(folder, asked string) string {
	if asked != "" {
		return asked
	}
	return filepath.Join(folder, featuresFolder)
}

// pictures lists the pictures of a folder by id.
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
	return byID, nil
}

// findFeatures returns the folder of the features if it is there.
func findFeatures(folder string, o *Options) (string, error) {
	features := FeatureFolder(folder, o.FeatureDir)
	_, err := os.Stat(features)
	if err != nil && o.FeatureDir == "" {
		return "", optionError("FeatureDir", "there is no folder %s; name the folder with one ID.npy of unary features [h, w, d] per picture", features)
	}
	return features, err
}

// read reads everything about one picture and checks that it fits together.
func (f *imageFiles) read(noLabels bool, allowed int64) (*imageData, []error) {
	d := &imageData{allowed: allowed}
	var list []error
	if err := f.readPicture(d); err != nil {
		list = append(list, err)
	}
	data, err := d.source(f.features, "the features of a picture in npy format")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		list = append(list, &Error{File: f.features, Problem: fmt.Sprintf("there is no such file; it should hold the unary features of %s", f.picture), Remedy: "make the features, or leave the picture out of the list", Cause: err})
	case err != nil:
		list = append(list, err)
	default:
		if d.features, err = parseFeatureMap(f.features, data); err != nil {
			list = append(list, err)
		}
	}
	if !noLabels {
		list = append(list, f.readLabels(d)...)
	}
	if len(list) == 0 {
		list = d.checkSizes()
	}
	return d, list
}

// readPicture finds the size of the picture. Its pixels are decoded only to see
// that they can be: they are drawn when the work is done, which is too late to
// find a damaged file.
func (f *imageFiles) readPicture(d *imageData) error {
	data, err := d.source(f.picture, "a picture")
	if err != nil {
		return err
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err == nil {
		err = checkPixels(config, d.allowed)
	}
	if err == nil {
		_, _, err = image.Decode(bytes.NewReader(data))
	}
	if large := (*memory.Error)(nil); errors.As(err, &large) {
		return &Error{File: f.picture, Problem: err.Error(), Cause: err}
	}
	if err != nil {
		return &Error{File: f.picture, Problem: "the picture cannot be read: " + err.Error(), Remedy: "save it again as jpg or png", Cause: err}
	}
	d.image = ImageSource{ID: f.id, Path: f.picture, Width: config.Width, Height: config.Height}
	return nil
}

// readLabels reads labels/ID.regions.txt, or else labels/ID.png.
func (f *imageFiles) readLabels(d *imageData) []error {
	text := filepath.Join(f.folder, labelsFolder, f.id+regionsSuffix)
	picture := filepath.Join(f.folder, labelsFolder, f.id+".png")
	parse, path := parseRegions, text
	data, err := d.source(text, "a table of labels")
	if errors.Is(err, fs.ErrNotExist) {
		parse, path = parseLabelPicture, picture
		data, err = d.source(picture, "a picture of labels")
	}
	if errors.Is(err, fs.ErrNotExist) {
		return []error{&Error{File: f.picture, Problem: fmt.Sprintf("it has no labels: there is neither %s nor %s", text, picture), Remedy: "label it, leave it out of the list, or leave labels unread", Cause: err}}
	}
	if err != nil {
		return []error{err}
	}
	m, list := parse(path, data, d.allowed)
	d.labels = m
	return list
}

// checkSizes compares the sizes of labels and features with the picture's.
func (d *imageData) checkSizes() []error {
	s := d.image
	var list []error
	if m := d.labels; m != nil && (m.rows != s.Height || m.cols != s.Width) {
		list = append(list, &Error{File: m.path, Problem: fmt.Sprintf("it labels %d rows of %d pixels, but %s has %d rows of %d", m.rows, m.cols, s.Path, s.Height, s.Width), Remedy: "use the labels of this picture in its own size"})
	}
	if m := d.features; !m.fits(s.Height, s.Width) {
		list = append(list, &Error{File: m.path, Problem: fmt.Sprintf("its %d rows of %d cells are not the shape of %s, which has %d rows of %d pixels", m.rows, m.cols, s.Path, s.Height, s.Width), Remedy: "check that it belongs to this picture and is not transposed: want [h, w, d]"})
	}
	return list
}
