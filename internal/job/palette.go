package job

import (
	"bufio"
	"bytes"
	"image/color"
	"image/png"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/figure"
	"github.com/blockbp/blockbp/internal/infile"
)

// Names of palettes of label pictures.
const (
	PaletteVOC  = "voc" // of the Pascal VOC data
	PaletteOwn  = "own" // ours: colours that differ as much as can be
	palettesFor = "want " + PaletteVOC + ", " + PaletteOwn +
		", or a file: an indexed .png, or a text with a colour per line, #rrggbb or three numbers from 0 to 255"
)

// Palette returns the colours of the states in label pictures: those that spec names, a palette
// or a file with one, or where it is "" those of the label pictures that the model learned from.
// Where none are known they are ours. A file that has too few is an error.
func Palette(spec string, set *dataset.Set) ([]color.RGBA, error) {
	if spec != "" && set.Recipe.Kind != dataset.KindImages {
		return nil, usagef("{palette} %s: it is for images, and the data are of kind %s", spec, set.Recipe.Kind)
	}
	states := mostStates(set)
	own := figure.ClassPalette(states)
	switch spec {
	case PaletteOwn:
		return own, nil
	case PaletteVOC:
		return vocPalette(states), nil
	case "":
		for i, c := range set.Recipe.Palette[:min(len(set.Recipe.Palette), states)] {
			own[i] = color.RGBA{c[0], c[1], c[2], 0xff}
		}
		return own, nil
	}
	given, err := readPalette(spec)
	if err != nil {
		return nil, err
	}
	if len(given) < states {
		return nil, dataf("{palette} %s: it has %d colours, and the model %d states; give a colour for each", spec,
			len(given), states)
	}
	return given[:states], nil
}

// vocPalette has the colours of the Pascal VOC data: bits 0, 3, 6, … of a label are the highest
// bits of red, the next ones of green and of blue.
func vocPalette(n int) []color.RGBA {
	palette := make([]color.RGBA, n)
	for k := range palette {
		c := &palette[k]
		c.A = 0xff
		for bit, rest := 7, k; rest > 0; bit, rest = bit-1, rest>>3 {
			c.R |= uint8(rest&1) << bit
			c.G |= uint8(rest>>1&1) << bit
			c.B |= uint8(rest>>2&1) << bit
		}
	}
	return palette
}

func readPalette(path string) ([]color.RGBA, error) {
	data, err := infile.Read(path, "a palette: an indexed .png, or a text of colours", infile.Text)
	switch {
	case err != nil && !strings.ContainsAny(path, "./"):
		return nil, usagef("{palette} %q: %s", path, palettesFor)
	case err != nil:
		return nil, err
	case strings.EqualFold(filepath.Ext(path), ".png"):
		return paletteOfPicture(path, data)
	}
	return paletteOfText(path, infile.Lines(data))
}

func paletteOfPicture(path string, data []byte) ([]color.RGBA, error) {
	config, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, dataf("{palette} %s: it is not a readable png: %v", path, err)
	}
	colours, ok := config.ColorModel.(color.Palette)
	if !ok {
		return nil, dataf("{palette} %s: it has no palette; give an indexed png (mode P of PIL), or a text with a colour "+
			"per line", path)
	}
	palette := make([]color.RGBA, len(colours))
	for i, c := range colours {
		red, green, blue, _ := c.RGBA()
		palette[i] = color.RGBA{uint8(red >> 8), uint8(green >> 8), uint8(blue >> 8), 0xff}
	}
	return palette, nil
}

func paletteOfText(path string, data []byte) (palette []color.RGBA, err error) {
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		c, err := hexColour(line)
		if parts := strings.FieldsFunc(line, func(r rune) bool {
			return r == ' ' || r == '\t' ||
				r == ','
		}); len(parts) == 3 {
			c, err = color.RGBA{A: 0xff}, nil
			for i, channel := range []*uint8{&c.R, &c.G, &c.B} {
				x, problem := strconv.ParseUint(parts[i], 10, 8)
				*channel = uint8(x)
				if problem != nil {
					err = problem
				}
			}
		}
		if err != nil {
			return nil, dataf("{palette} %s: line %d is no colour, want #rrggbb or three numbers from 0 to 255", path, n)
		}
		palette = append(palette, c)
	}
	if err := lines.Err(); err != nil {
		return nil, dataf("{palette} %s: %v; %s", path, err, palettesFor)
	}
	return palette, nil
}

// hexColour reads #rrggbb.
func hexColour(text string) (color.RGBA, error) {
	if len(text) != len("#rrggbb") || text[0] != '#' {
		return color.RGBA{}, strconv.ErrSyntax
	}
	x, err := strconv.ParseUint(text[1:], 16, 24)
	return color.RGBA{uint8(x >> 16), uint8(x >> 8), uint8(x), 0xff}, err
}
