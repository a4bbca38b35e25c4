package report

import (
	"fmt"
	"image"
	"image/color"
)

// unknownIndex is the palette entry of unknown labels, as in the Pascal VOC data.
const unknownIndex = 255

// unknownLabel is the label of a pixel whose class is not known.
const unknownLabel = -1

// LabelImage is the w × h image of labels, row by row from the top: label k is palette entry k, and −1, unknown, is
// entry 255, dark grey: as an indexed PNG its pixel values are the labels. The palette may have at most MaxClasses
// colours. It fails if the number of labels is not w·h or a label has no colour.
func LabelImage(labels []int32, w, h int, palette []color.RGBA) (*image.Paletted, error) {
	if err := checkLabels("labels", labels, w, h, len(palette)); err != nil {
		return nil, err
	}
	img := image.NewPaletted(image.Rect(0, 0, w, h), labelPalette(palette))
	for i, label := range labels {
		if label == unknownLabel {
			label = unknownIndex
		}
		img.Pix[i] = uint8(label)
	}
	return img, nil
}

// checkLabels tells whether the labels called name are those of a w × h image with this number of classes.
func checkLabels(name string, labels []int32, w, h, classes int) error {
	switch {
	case classes > MaxClasses:
		return fmt.Errorf("%d classes, at most %d can be drawn", classes, MaxClasses)
	case w <= 0 || h <= 0:
		return fmt.Errorf("an image of %d × %d pixels, want at least 1 × 1", w, h)
	case len(labels) != w*h:
		return fmt.Errorf("%d %s for %d × %d pixels", len(labels), name, w, h)
	}
	for i, label := range labels {
		if label < unknownLabel || int(label) >= classes {
			return fmt.Errorf("%s[%d] (row %d, column %d) is %d, want 0 to %d, or −1 for unknown", name, i, i/w, i%w, label,
				classes-1)
		}
	}
	return nil
}

// labelPalette is palette filled up to 256 entries with the grey of unknown.
func labelPalette(palette []color.RGBA) color.Palette {
	full := make(color.Palette, unknownIndex+1)
	for k := range full {
		full[k] = unknownColors[0]
		if k < len(palette) {
			full[k] = palette[k]
		}
	}
	return full
}
