package dataset

import (
	"bytes"
	"fmt"
	"image"
	"image/draw"
	_ "image/jpeg" // pictures
	_ "image/png"
	"strings"

	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/upsample"
)

// decodedPixel is how many bytes decoding may take for a pixel: a progressive jpeg keeps
// three coefficients of four bytes, and then has three colours of one.
const decodedPixel = 16

// decodePicture decodes a picture. It refuses what the size in the header, which can promise any, would take of memory.
func decodePicture(path string, data []byte, allowed int64) (picture image.Image, format string, err error) {
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err == nil {
		size := fmt.Sprintf("decoding %d×%d pixels", c.Width, c.Height)
		if err := memory.Check(size, decodedPixel*float64(c.Width)*float64(c.Height), allowed); err != nil {
			return nil, "", option.OfFile(path, err)
		}
		picture, format, err = image.Decode(bytes.NewReader(data))
	}
	if err != nil {
		err = &option.Error{File: path, Problem: fmt.Sprintf("the picture cannot be read: %v", err),
			Remedy: "save it again as png, of 8 or 16 bits", Cause: err}
	}
	return picture, format, err
}

// coloursOf returns red, green and blue of the pixels of a picture, of 0 to 255, in finer steps if it has them.
func coloursOf(picture image.Image) upsample.Values {
	b := picture.Bounds()
	flat, at := draw.RGBA64Image(image.NewRGBA(image.Rect(0, 0, b.Dx(), b.Dy()))), 0
	switch p := picture.(type) {
	case *image.NRGBA: // whose colours are as they stand, and not as much as they show
		picture = (*image.RGBA)(p)
	case *image.NRGBA64:
		picture, flat = (*image.RGBA64)(p), image.NewRGBA64(flat.Bounds())
	case *image.Gray16, *image.RGBA64:
		flat = image.NewRGBA64(flat.Bounds())
	}
	draw.Draw(flat, flat.Bounds(), picture, b.Min, draw.Src)
	values := make(upsample.Values, 3*b.Dx()*b.Dy())
	for y := range b.Dy() {
		for x := range b.Dx() {
			c := flat.RGBA64At(x, y)
			values[at], values[at+1], values[at+2] = float32(c.R)/257, float32(c.G)/257, float32(c.B)/257
			at += 3
		}
	}
	return values
}

// upright is how pictures are stored as viewers show them.
const upright = "save it upright, in Python PIL.ImageOps.exif_transpose(PIL.Image.open(FILE)).save(FILE)"

// turned reports whether viewers turn a jpeg: whether the tag 0x0112 of its Exif data, in either order of bytes, is
// one number of 16 bits and more than 1.
func turned(data []byte) bool {
	const most, marker = 1 << 16, "Exif\x00\x00"
	_, exif, _ := strings.Cut(string(data[:min(most, len(data))]), marker)
	for _, tag := range []string{"\x12\x01\x03\x00\x01\x00\x00\x00", "\x01\x12\x00\x03\x00\x00\x00\x01\x00"} {
		if _, value, found := strings.Cut(exif, tag); found && value != "" {
			return value[0] > 1
		}
	}
	return false
}
