package dataset

import (
	"cmp"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/memory"
)

// Folders and files of an image folder.
const (
	imagesFolder   = "images"
	labelsFolder   = "labels"
	featuresFolder = "features"
	regionsSuffix  = ".regions.txt"
)

// imageFiles is what one picture is read from.
type imageFiles struct {
	id       string
	picture  string
	features string // "": the colours of the picture
	// superpixels is a map of regions, without .png or .npy; "": pixels are the nodes
	superpixels string
	labels      string // without .regions.txt or .png; "": none
}

// imageData is what was read.
type imageData struct {
	image    ImageSource
	features *featureMap
	labels   *labelMap // nil: not read
	sources  []Source
	files    []*fileio.Mapping // that features lie in
	allowed  int64             // memory, as Options.Memory
	regions  regions           // with superpixels
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
func (d *imageData) mapped(path, wanted string) (*fileio.Mapping, error) {
	file, err := fileio.Map(path, wanted, func(size int64) error {
		return memory.Check("the file "+path, float64(size), d.allowed)
	})
	if err == nil {
		d.sources = append(d.sources, sourceOf(path, file.Bytes()))
	}
	return file, err
}

// findImages lists the pictures to read: those of the list, or all.
func findImages(folder string, o *Options) ([]imageFiles, []Source, []error) {
	within, ids := filepath.Join(folder, imagesFolder), ""
	byID, err := pictures(within)
	if err != nil {
		return nil, nil, []error{err}
	}
	features, err := findFeatures(folder, o)
	if err != nil {
		return nil, nil, []error{err}
	}
	labels := filepath.Join(folder, labelsFolder)
	if !o.NoLabels && !isFolder(labels) {
		return nil, nil, []error{wrong(folder, 0, "", "it has a picture of labels, ID.png, for each ID.jpg or ID.png in "+
			"images; predict needs none", "there is no folder %s", labels)}
	}
	if o.List != "" {
		ids = ListPath(folder, o.List)
	}
	entries, sources, list := chosen(within, byID, ids, o.Memory)
	var found []imageFiles
	for _, e := range entries {
		f := imageFiles{id: e.text, picture: byID[e.text][0]}
		if !o.NoLabels {
			f.labels = filepath.Join(labels, e.text)
		}
		if features != "" {
			f.features = filepath.Join(features, e.text+".npy")
		}
		if o.superpixels() {
			f.superpixels = filepath.Join(ListPath(folder, cmp.Or(o.Superpixels, superpixelsFolder)), e.text)
		}
		found = append(found, f)
	}
	return found, sources, list
}

// ListPath returns where Open reads a list of image ids, or a folder that an option names: at the path as it stands, or
// else within the data folder.
func ListPath(folder, list string) string {
	within := filepath.Join(folder, list)
	if _, err := os.Stat(list); err != nil {
		if _, err := os.Stat(within); err == nil {
			return within
		}
	}
	return list
}

// FeatureFolder returns the folder from which Open reads the unary features of an image folder: the one asked for, as
// ListPath finds it, or else features in the data folder.
func FeatureFolder(folder, asked string) string {
	if asked != "" {
		return ListPath(folder, asked)
	}
	return filepath.Join(folder, featuresFolder)
}

// findFeatures returns the folder of the features if it is there, or "" where colours are the features.
func findFeatures(folder string, o *Options) (string, error) {
	features := FeatureFolder(folder, o.FeatureDir)
	_, err := os.Stat(features)
	colours := o.Recipe != nil && o.Recipe.Colours
	switch {
	case colours && o.FeatureDir != "":
		return "", optionError("FeatureDir", "the model learned from the colours of pictures, and has no features: leave "+
			"the option out")
	case colours, errors.Is(err, fs.ErrNotExist) && o.FeatureDir == "" && o.Recipe == nil:
		return "", nil
	case err != nil && o.FeatureDir == "":
		return "", optionError("FeatureDir", "there is no folder %s; name the folder with one ID.npy of unary features "+
			"[h, w, d] per picture, as the model learned from", features)
	}
	return features, err
}

// read reads everything about one picture and checks that it fits together.
func (f *imageFiles) read(o *Options) (*imageData, []error) {
	d, list := &imageData{allowed: o.Memory}, []error(nil)
	fail := func(errs ...error) {
		list = append(list, slices.DeleteFunc(errs, func(err error) bool { return err == nil })...)
	}
	fail(f.readPicture(d, o.superpixels() || o.edgesOfImages() == EdgesContrast))
	if f.features != "" {
		fail(f.readFeatures(d))
	}
	if f.labels != "" {
		fail(f.readLabels(d)...)
	}
	if m, s := d.labels, d.image; len(list) == 0 && m != nil && (m.rows != s.Height || m.cols != s.Width) {
		remedy := "use the labels of this picture in its own size"
		if s.turned {
			remedy = "viewers turn the picture: " + upright
		}
		fail(wrong(m.path, 0, "", remedy, "it labels %d rows of %d pixels, but %s has %d rows of %d", m.rows, m.cols,
			s.Path, s.Height, s.Width))
	}
	if len(list) == 0 && f.superpixels != "" {
		fail(f.readSuperpixels(d))
	}
	return d, list
}

// readFeatures reads features/ID.npy.
func (f *imageFiles) readFeatures(d *imageData) error {
	features, err := d.mapped(f.features, "the features of a picture in npy format")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return wrong(f.features, 0, "", "make the features, or leave the picture out of the list",
			"there is no such file; it should hold the unary features of %s", f.picture)
	case err == nil:
		d.files = append(d.files, features)
		d.features, err = parseMap(f.features, features.Bytes(), features)
		if m := d.features; err == nil && !m.fits(d.image.Height, d.image.Width) {
			err = misfit(m.path, m.rows, m.cols, &d.image, "[h, w, d], of features first numpy.moveaxis(a, 0, -1)")
		}
	}
	return err
}

// readPicture finds the size of the picture, and its colours where they are wanted. Its pixels are decoded at any rate,
// to see that they can be: they are drawn when the work is done, which is too late to find a damaged file.
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
	d.image = ImageSource{ID: f.id, Path: f.picture, Width: size.X, Height: size.Y, turned: orientation(data) > 1}
	if d.rows, d.cols = size.Y, size.X; wanted || f.features == "" {
		d.colours = coloursOf(picture)
	}
	if f.features == "" {
		d.features = colourFeatures(f.picture, picture, d.colours)
	}
	return nil
}

// firstThere reads the first of some files that is there. Where none is, the picture lacks what is missing.
func (f *imageFiles) firstThere(d *imageData, wanted, missing, remedy string, paths ...string) (string, []byte, error) {
	for _, path := range paths {
		if data, err := d.source(path, wanted); !errors.Is(err, fs.ErrNotExist) {
			return path, data, err
		}
	}
	return "", nil, wrong(f.picture, 0, "", remedy, "it has no %s: there is neither %s nor %s", missing, paths[0],
		paths[1])
}

// readLabels reads labels/ID.regions.txt, or else the picture labels/ID.png.
func (f *imageFiles) readLabels(d *imageData) (list []error) {
	path, data, err := f.firstThere(d, "labels", "labels", "label it, leave it out of the list", f.labels+regionsSuffix,
		f.labels+".png")
	switch {
	case err != nil:
		return []error{err}
	case strings.HasSuffix(path, regionsSuffix):
		d.labels, list = parseRegions(path, data)
		return list
	}
	d.labels, err = parseLabelPicture(path, data, d.allowed)
	return []error{err}
}

// misfit is the error of a map that does not fit a picture.
func misfit(path string, rows, cols int, s *ImageSource, wanted string) error {
	remedy := "check that it belongs to this picture and is not transposed: want " + wanted
	if s.turned {
		remedy += "; viewers turn the picture: " + upright
	}
	return wrong(path, 0, "", remedy,
		"its %d rows of %d cells are not the shape of %s, which has %d rows of %d pixels", rows, cols, s.Path, s.Height,
		s.Width)
}
