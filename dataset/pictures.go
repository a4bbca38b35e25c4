package dataset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/internal/memory"
)

// pictureSuffixes are those of pictures to be read.
var pictureSuffixes = []string{".jpg", ".jpeg", ".png", ".tif", ".tiff"}

// pictures lists the pictures of a folder by id. A tif, which is not read, counts beside another as what that was made
// of.
func pictures(folder string) (map[string][]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	byID, tif := map[string][]string{}, map[string][]string{}
	for _, e := range entries {
		suffix := filepath.Ext(e.Name())
		if !slices.Contains(pictureSuffixes, strings.ToLower(suffix)) || e.Name()[0] == '.' {
			continue
		}
		of, id := byID, strings.TrimSuffix(e.Name(), suffix)
		if strings.HasPrefix(strings.ToLower(suffix), ".tif") {
			of = tif
		}
		of[id] = append(of[id], filepath.Join(folder, e.Name()))
	}
	for id, paths := range tif {
		if len(byID[id]) == 0 {
			byID[id] = paths
		}
	}
	return byID, nil
}

// chosen returns the ids of a list of which there is one picture, or without a list of all pictures of a folder.
func chosen(folder string, byID map[string][]string, list string, allowed int64) ([]listEntry, []Source, []error) {
	var entries []listEntry
	var sources []Source
	p := &problems{file: folder}
	if list != "" {
		found, source, wrong := readList(list, allowed)
		entries, sources, p.file, p.list = found, []Source{source}, list, wrong
	} else {
		for _, id := range slices.SortedFunc(maps.Keys(byID), naturalCompare) {
			entries = append(entries, listEntry{text: id})
		}
		if len(entries) == 0 {
			p.add(0, "", `save them as png, in Python PIL.Image.open("a.bmp").save("a.png")`, "there are no pictures (%s)",
				strings.Join(pictureSuffixes[:3], ", "))
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
			p.add(e.line, "", "remove one of the two", "%q is listed on line %d already", abbreviate(e.text), line)
		}
		first[e.text] = e.line
	}
	entries = slices.DeleteFunc(entries, func(e listEntry) bool {
		n := len(byID[e.text])
		if n != 1 {
			p.add(e.line, "", "an id is a file name without .jpg or .png", "%d pictures are named %q in %s, want 1", n,
				abbreviate(e.text), folder)
		}
		return n != 1
	})
	return entries, sources, p.errors()
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

// decodePicture decodes a picture. what and remedy are for errors.
func decodePicture(path string, data []byte, allowed int64, what, remedy string) (picture image.Image, format string,
	err error) {
	if _, err = pictureSize(data, allowed); err == nil {
		picture, format, err = image.Decode(bytes.NewReader(data))
	}
	if large := (*memory.Error)(nil); errors.As(err, &large) {
		return nil, "", ofFile(path, err)
	} else if err != nil {
		err = &Error{File: path, Problem: fmt.Sprintf("the %s cannot be read: %v", what, err), Remedy: remedy, Cause: err}
	}
	return picture, format, err
}

// upright is how pictures are stored as viewers show them.
const upright = "save it upright, in Python PIL.ImageOps.exif_transpose(PIL.Image.open(FILE)).save(FILE)"

// orientation is how a viewer turns a jpeg: the tag 0x0112 of its Exif data; 0: there is none, and 1: not at all.
func orientation(data []byte) int {
	const most, marker, tag, entry = 1 << 16, "Exif\x00\x00", 0x0112, 12
	_, tiff, found := bytes.Cut(data[:min(most, len(data))], []byte(marker))
	if !found || len(tiff) < 8 {
		return 0
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if tiff[0] == 'M' {
		order = binary.BigEndian
	}
	at := int(order.Uint32(tiff[4:]))
	if at > len(tiff)-2 {
		return 0
	}
	for n := int(order.Uint16(tiff[at:])); n > 0 && at+2+n*entry <= len(tiff); n-- {
		if e := tiff[at+2+(n-1)*entry:]; order.Uint16(e) == tag {
			return int(order.Uint16(e[8:]))
		}
	}
	return 0
}
