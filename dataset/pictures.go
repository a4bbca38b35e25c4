package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/internal/memory"
)

// Pictures lists the pictures in the folder images of a data folder, or in a folder
// itself, with their sizes: those of a list of ids, found as by ListPath, or all. Memory
// is as in Options.
func Pictures(folder, list string, memoryAllowed int64) ([]ImageSource, error) {
	within := filepath.Join(folder, imagesFolder)
	if info, err := os.Stat(within); err != nil || !info.IsDir() {
		within = folder
	}
	byID, err := pictures(within)
	if err != nil {
		return nil, err
	}
	if list != "" {
		list = ListPath(folder, list)
	}
	entries, _, problems := chosen(within, byID, list, memoryAllowed)
	var found []ImageSource
	for _, e := range entries {
		if source, err := sizeOf(e.text, byID[e.text][0], memoryAllowed); err != nil {
			problems = append(problems, err)
		} else {
			found = append(found, source)
		}
	}
	return found, errors.Join(problems...)
}

// chosen returns the ids of a list of which there is one picture, or without a list of
// all pictures of a folder.
func chosen(folder string, byID map[string][]string, list string, allowed int64) ([]listEntry, []Source, []error) {
	var entries []listEntry
	var sources []Source
	var problems []error
	listed := folder
	if list != "" {
		var source Source
		entries, source, problems = readList(list, allowed)
		sources, listed = []Source{source}, list
	} else {
		for _, id := range slices.SortedFunc(maps.Keys(byID), naturalCompare) {
			entries = append(entries, listEntry{text: id})
		}
		if len(entries) == 0 {
			problems = append(problems, &Error{File: folder,
				Problem: "there are no pictures (" + strings.Join(pictureSuffixes, ", ") + ")",
				Remedy:  `save them as png, in Python PIL.Image.open("a.bmp").save("a.png")`})
		}
	}
	first := map[string]int{}
	for i := range entries {
		e := &entries[i]
		if name := filepath.Base(e.text); len(byID[e.text]) == 0 { // a file name stands for its id
			if id := strings.TrimSuffix(name, filepath.Ext(name)); slices.Contains(byID[id], filepath.Join(folder, name)) {
				e.text = id
			}
		}
		if line := first[e.text]; line > 0 {
			problems = append(problems, &Error{File: listed, Line: e.line,
				Problem: fmt.Sprintf("%q is listed on line %d already", abbreviate(e.text), line), Remedy: "remove one of the two"})
		}
		first[e.text] = e.line
	}
	entries = slices.DeleteFunc(entries, func(e listEntry) bool {
		n := len(byID[e.text])
		if n != 1 {
			problems = append(problems, &Error{File: listed, Line: e.line,
				Problem: fmt.Sprintf("%d pictures are named %q in %s, want 1", n, abbreviate(e.text), folder),
				Remedy:  "an id is a file name without .jpg or .png"})
		}
		return n != 1
	})
	return entries, sources, problems
}

// sizeOf reads how large a picture is.
func sizeOf(id, path string, allowed int64) (ImageSource, error) {
	data, _, err := readSource(path, "a picture", math.MaxInt64, allowed)
	if err != nil {
		return ImageSource{}, err
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err == nil {
		err = checkPixels(config, allowed)
	}
	if err != nil {
		return ImageSource{}, pictureError(path, err)
	}
	return ImageSource{ID: id, Path: path, Width: config.Width, Height: config.Height}, nil
}

// pictureError is the error of a picture that cannot be read.
func pictureError(path string, err error) error {
	if large := (*memory.Error)(nil); errors.As(err, &large) {
		return &Error{File: path, Problem: err.Error(), Cause: err}
	}
	return &Error{File: path, Problem: "the picture cannot be read: " + err.Error(),
		Remedy: "save it again as png, of 8 or 16 bits", Cause: err}
}
