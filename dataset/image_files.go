package dataset

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/formats"
	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/upsample"
)

// superpixelsFolder has the maps of models that learned from some, and featuresFolder features, by default.
const superpixelsFolder, featuresFolder = "superpixels", "features"

// Folders of labels are called as usual, or by PASCAL VOC or CamVid.
var labelsFolders = []string{"labels", "SegmentationClass", "LabeledApproved_full"}

// imageFolders are where what belongs to pictures is read from.
type imageFolders struct {
	features    string // "": their colours
	superpixels string // "": pixels are the nodes
	labels      string // "": none
}

// imageData is what was read.
type imageData struct {
	image    ImageSource     // of no width until the picture was read
	colours  upsample.Values // [pixels × 3] of 0 to 255
	features *featureMap
	labels   *numberMap // nil: not read
	regions  *regions   // nil: pixels are the nodes
	sources  []Source
	files    []*fileio.Mapping // that features lie in
	allowed  int64             // memory, as Options.Memory

	graph  *graph.Graph
	pixels *upsample.Map // the features of pixels
}

// open opens what belongs to a picture: the first that is there of the files with one of some suffixes.
func (d *imageData) open(path, what, remedy string, suffixes ...string) (string, *fileio.Mapping, error) {
	var missing []string
	for i, suffix := range suffixes {
		file, err := fileio.Map(path+suffix, what, func(size int64) error {
			return memory.Check("the file "+path+suffix, float64(size), d.allowed)
		})
		if err == nil {
			d.sources = append(d.sources, sourceOf(path+suffix, file.Bytes()))
			there := func(other string) bool { _, err := os.Stat(path + other); return err == nil }
			if k := slices.IndexFunc(suffixes[i+1:], there); k >= 0 {
				err = option.At(path+suffix, 0, "", "take one of them away", "%s is there, too", path+suffixes[i+1+k])
			}
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return path + suffix, file, err
		}
		missing = append(missing, path+suffix)
	}
	if others, _ := filepath.Glob(path + `[._\-]*`); len(others) > 0 {
		remedy += ", or if " + others[0] + " is that, save it as one of these"
	}
	return "", nil, option.At(d.image.Path, 0, "", remedy+", or leave the picture out of the list",
		"it has no %s: there is no %s", what, strings.Join(missing, " or "))
}

// findFolders finds what there is beside the pictures.
func (l *imageLoader) findFolders(folder string) (f imageFolders) {
	features, r := folderOf(folder, l.o.FeatureDir, featuresFolder), l.o.Recipe
	_, err := os.Stat(features)
	switch missing := errors.Is(err, fs.ErrNotExist) && l.o.FeatureDir == ""; {
	case r != nil && r.Colours, r == nil && missing:
	case missing:
		l.fail(option.Wrong("FeatureDir", "there is no folder %s; name the folder with one ID.npy of unary features "+
			"[h, w, d] per picture, as the model learned from", features))
	default:
		f.features = features
		l.fail(err)
	}
	if l.o.superpixels() {
		f.superpixels = folderOf(folder, l.o.Superpixels, superpixelsFolder)
	}
	if !l.o.NoLabels {
		if f.labels = folderOf(folder, l.o.LabelDir, labelsFolders...); !formats.IsFolder(f.labels) {
			l.failAt(folder, "", "it has a picture of labels, ID.png, for each ID.jpg or ID.png in images, or {labels} names "+
				"it; predict needs none", "there is no folder %s", f.labels)
		}
	}
	return f
}

// folderOf returns the folder asked for, as formats.ListPath finds it, or else the first usual one in the data folder.
func folderOf(folder, asked string, usual ...string) string {
	if asked != "" {
		return formats.ListPath(folder, asked)
	}
	there := slices.IndexFunc(usual, func(name string) bool { return formats.IsFolder(filepath.Join(folder, name)) })
	return filepath.Join(folder, usual[max(there, 0)])
}

// idOf is what a picture is called: its file without a suffix.
func idOf(picture string) string {
	return strings.TrimSuffix(filepath.Base(picture), filepath.Ext(picture))
}

// chosen returns the pictures that a list names, by their ids or files, or without a list all in the order of ids.
func (l *imageLoader) chosen(folder string) (pictures []string) {
	within := folderOf(folder, "", formats.ImagesFolders...)
	all, err := filesIn(within, formats.IsPicture)
	if err != nil {
		l.fail(err)
		return nil
	}
	p := &option.Problems{File: within}
	named := map[string][]string{} // pictures by ids and by files
	var entries []listEntry
	for _, path := range all {
		id := idOf(path)
		entries = append(entries, listEntry{text: id})
		named[id], named[filepath.Base(path)] = append(named[id], path), []string{path}
	}
	slices.SortFunc(entries, func(a, b listEntry) int { return numeric.NaturalOrder(a.text, b.text) })
	if len(all) == 0 {
		p.Add(0, "", formats.Look("").Advise("no pictures"), "there are no pictures (%s)",
			strings.Join(formats.PictureSuffixes, ", "))
	} else if l.o.List != "" {
		p.File = formats.ListPath(folder, l.o.List)
		data := l.source(p.File, "a list with one name per line", smallText)
		if data == nil {
			return nil
		}
		entries, p.List = parseList(p.File, data)
	}
	first := map[string]int{} // line of a picture
	for _, e := range entries {
		paths := named[filepath.Base(e.text)]
		if len(paths) != 1 {
			p.Add(e.line, "", "an id is a file name without .jpg or .png", "%d pictures are named %q in %s, want 1",
				len(paths), option.Short(e.text), within)
			continue
		}
		if line := first[paths[0]]; line > 0 {
			p.Add(e.line, "", "remove one of the two", "%q is listed on line %d already", option.Short(idOf(paths[0])), line)
		}
		first[paths[0]] = e.line
		pictures = append(pictures, paths[0])
	}
	l.fail(p.Errors()...)
	return pictures
}

// read reads everything about one picture and checks that it fits together.
func (f *imageFolders) read(picture string, allowed int64) (d *imageData, list []error) {
	id := idOf(picture)
	d = &imageData{image: ImageSource{ID: id, Path: picture}, allowed: allowed}
	list = []error{d.readPicture()}
	if f.features != "" {
		list = append(list, d.readFeatures(filepath.Join(f.features, id)))
	} else {
		d.features = &featureMap{picture, d.image.Height, d.image.Width, 3, d.colours}
	}
	if f.labels != "" {
		m, problems := d.numbers(filepath.Join(f.labels, id), "labels", "label it", "_L.png")
		if list = append(list, problems...); m != nil {
			d.labels, list = m, append(list, m.asLabels())
		}
	}
	if f.superpixels != "" {
		m, problems := d.numbers(filepath.Join(f.superpixels, id), "map of superpixels", "name the folder of the maps by "+
			"{superpixels}, make the map, as by "+makeSuperpixels(picture))
		if list = append(list, problems...); m != nil {
			d.regions = newRegions(m.numbers)
		}
	}
	return d, list
}

// readFeatures reads features/ID.npy.
func (d *imageData) readFeatures(path string) error {
	path, file, err := d.open(path, "features", "make them", ".npy")
	if err != nil {
		return err
	}
	d.files = append(d.files, file)
	m, err := parseMap(path, file.Bytes(), file)
	if err == nil && d.image.Width > 0 && !m.fits(d.image.Height, d.image.Width) {
		err = misfit(path, m.rows, m.cols, &d.image, "[h, w, d], of features first numpy.moveaxis(a, 0, -1)")
	}
	d.features = m
	return err
}

// readPicture finds the size of the picture, and its colours.
func (d *imageData) readPicture() error {
	path, file, err := d.open(d.image.Path, "picture", "restore it", "")
	if err != nil {
		return err
	}
	defer file.Close()
	picture, _, err := decodePicture(path, file.Bytes(), d.allowed)
	if err != nil {
		return err
	}
	size := picture.Bounds().Size()
	d.image.Width, d.image.Height, d.image.turned = size.X, size.Y, turned(file.Bytes())
	whole, ok := picture.(interface{ Opaque() bool })
	d.colours, d.image.clear = coloursOf(picture), ok && !whole.Opaque()
	return nil
}

// numbers reads a map of the picture's pixels: of labels, as CamVid names some, too, or of superpixels.
func (d *imageData) numbers(path, what, remedy string, more ...string) (m *numberMap, list []error) {
	path, file, err := d.open(path, what, remedy, append([]string{".regions.txt", ".png", ".npy"}, more...)...)
	if err != nil {
		return nil, []error{err}
	}
	defer file.Close()
	m, list = parseNumbers(path, file.Bytes(), d.allowed)
	if s := &d.image; len(list) == 0 && s.Width > 0 && (m.rows != s.Height || m.cols != s.Width) {
		list = append(list, misfit(path, m.rows, m.cols, s, "[h, w]"))
	}
	return m, list
}

// misfit is the error of a map that does not fit a picture.
func misfit(path string, rows, cols int, s *ImageSource, wanted string) error {
	remedy := "check that it belongs to this picture and is not transposed: want " + wanted
	if s.turned {
		remedy += "; viewers turn the picture: " + upright
	}
	return option.At(path, 0, "", remedy,
		"its %d rows of %d cells are not the shape of %s, which has %d rows of %d pixels", rows, cols, s.Path, s.Height,
		s.Width)
}
