package dataset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/internal/memory"
)

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

// mostPixels bounds pictures: a header alone can promise any size.
const mostPixels = 1 << 26

// decodedPixel is how many bytes decoding may take for a pixel: a progressive jpeg keeps
// three coefficients of four bytes, and then has three colours of one.
const decodedPixel = 16

// pictureSize reads the header of a picture, and refuses the size that it tells before any pixel is decoded.
func pictureSize(data []byte, allowed int64) (image.Config, error) {
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	switch {
	case err != nil:
		return c, err
	case c.Width < 1 || c.Height < 1 || c.Width > mostPixels/c.Height:
		return c, fmt.Errorf("it is %d×%d pixels, at most %d in all are supported", c.Width, c.Height, mostPixels)
	}
	return c, memory.Check(fmt.Sprintf("decoding %d×%d pixels", c.Width, c.Height),
		decodedPixel*float64(c.Width)*float64(c.Height), allowed)
}

// decodePicture decodes a picture of one page. what and remedy are for errors.
func decodePicture(path string, data []byte, allowed int64, what, remedy string) (picture image.Image, format string,
	err error) {
	if _, err = pictureSize(data, allowed); err == nil {
		picture, format, err = image.Decode(bytes.NewReader(data))
	}
	switch {
	case err != nil:
		return nil, "", pictureError(path, what, remedy, err)
	case severalPages(data):
		return nil, "", &Error{File: path, Problem: "it has more than one page, and a picture has one",
			Remedy: "save each page as a picture of its own"}
	}
	return picture, format, nil
}

// pictureError is the error of a picture that cannot be read.
func pictureError(path, what, remedy string, err error) error {
	if large := (*memory.Error)(nil); errors.As(err, &large) {
		return &Error{File: path, Problem: err.Error(), Cause: err}
	}
	return &Error{File: path, Problem: fmt.Sprintf("the %s cannot be read: %v", what, err), Remedy: remedy, Cause: err}
}

// severalPages reports whether a tif has several, as a stack has: of these the first alone is decoded.
func severalPages(data []byte) bool {
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case len(data) < 8:
		return false
	case bytes.HasPrefix(data, []byte("MM\x00*")):
		order = binary.BigEndian
	case !bytes.HasPrefix(data, []byte("II*\x00")):
		return false
	}
	const entry = 12
	at := uint64(order.Uint32(data[4:]))
	if at+2 > uint64(len(data)) {
		return false
	}
	next := at + 2 + entry*uint64(order.Uint16(data[at:]))
	return next+4 <= uint64(len(data)) && order.Uint32(data[next:]) != 0
}
