package dataset

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"path/filepath"

	"github.com/blockbp/blockbp/crf"
)

// numberColours writes pictures of numbers, whose palettes keep the colours, of label pictures in colours.
const numberColours = `import glob, numpy, os; from PIL import Image; os.makedirs("numbered", exist_ok=True); ` +
	`files = glob.glob(%q); ` +
	`read = lambda f: numpy.asarray(Image.open(f).convert("RGB")).astype(int) @ [65536, 256, 1]; ` +
	`colours = sorted({c for f in files for c in numpy.unique(read(f)).tolist()}); ` +
	`[(p := Image.fromarray(numpy.searchsorted(colours, read(f)).astype("uint8")), ` +
	`p.putpalette([x for c in colours for x in (c >> 16, c >> 8 & 255, c & 255)]), ` +
	`p.save("numbered/" + os.path.basename(f))) for f in files]`

// parseLabelPicture reads a png whose pixels are labels: with a palette, or grey. What 255 means is found out from all
// pictures: see chooseVoid.
func parseLabelPicture(path string, data []byte, allowed int64) (*labelMap, error) {
	picture, format, err := decodePicture(path, data, allowed, "png", "save it again as png")
	if err == nil && format == "jpeg" {
		err = wrong(path, 0, "", "save pictures of labels as png, resized without interpolation (NEAREST), and borders "+
			"without smoothing", "it is a jpg, which changes labels")
	}
	if err != nil {
		return nil, err
	}
	size := picture.Bounds().Size()
	m := &labelMap{path: path, rows: size.Y, cols: size.X, labels: make([]int32, size.X*size.Y), picture: true}
	switch p := picture.(type) {
	case *image.Gray16:
		return m, m.readGrey(p)
	case *image.Paletted:
		if !isRamp(p.Palette) {
			m.palette = p.Palette
			for s := range m.labels {
				m.labels[s] = int32(p.ColorIndexAt(s%m.cols, s/m.cols))
			}
			return m, nil
		}
	}
	return m, m.readGreys(picture)
}

// readGrey takes labels in 16 bits, of which white stands for the white of 8.
func (m *labelMap) readGrey(p *image.Gray16) error {
	for s := range m.labels {
		v := p.Gray16At(s%m.cols, s/m.cols).Y
		if v == math.MaxUint16 {
			v = math.MaxUint8
		}
		if m.labels[s] = int32(v); v > math.MaxUint8 {
			return m.place(wrong("", 0, "", "number the classes from 0; numbers of single objects are no labels",
				"is %d in 16 bits, want a label of 0 to 254, or 255 or 65535", v), s)
		}
	}
	return nil
}

// readGreys takes labels in 8 bits, however they are saved.
func (m *labelMap) readGreys(picture image.Image) error {
	for s := range m.labels {
		c := color.NRGBAModel.Convert(picture.At(s%m.cols, s/m.cols)).(color.NRGBA)
		if c.A != math.MaxUint8 {
			return m.place(wrong("", 0, "", `save the labels without transparency, in Python `+
				`Image.open("mask.png").convert("RGB") or .getchannel("A")`, "is transparent, which says nothing of a label"), s)
		}
		if m.labels[s] = int32(c.R); c.R != c.G || c.G != c.B {
			all := &peek{path: filepath.Join(filepath.Dir(m.path), "*.png")}
			return m.place(wrong("", 0, "", "number the colours of all pictures at once, such as by "+python(numberColours)(all)+
				", and put the folder numbered in the place of that", "is the colour #%02x%02x%02x, want the number of a state",
				c.R, c.G, c.B), s)
		}
	}
	return nil
}

// chooseVoid finds out what 255 means in label pictures: it is unobserved, unless all greys are 0 or 255, of which one
// state alone would be left. Then both are states.
func (l *imageLoader) chooseVoid() {
	black, white, others := false, false, false
	for _, d := range l.images {
		if m := d.labels; m != nil {
			for _, y := range m.labels {
				grey := m.picture && m.palette == nil
				black, white = black || grey && y == 0, white || grey && y == voidLabel
				others = others || !grey || y != 0 && y != voidLabel
			}
		}
	}
	names, _ := l.namedStates(0)
	r := &l.set.Recipe
	if l.o.Recipe == nil && !l.manifest.HiddenLabels && (len(names) == 0 || len(names) == 2) && black && white && !others {
		r.LabelColours, r.Palette, r.States = true, [][3]uint8{{}, {voidLabel, voidLabel, voidLabel}}, []string{"0", "255"}
		called := "0, 255"
		if len(names) > 0 {
			r.States, called = names, fmt.Sprintf("0 is %s, 255 is %s", names[0], names[1])
		}
		l.warn("the labels of all pictures are 0 or 255: both are states (%s), and 255 hides nothing; if it is to hide, %s",
			called, sayHidden)
	}
	for _, d := range l.images {
		m := d.labels
		if m == nil || !m.picture {
			continue
		}
		for s, y := range m.labels {
			switch {
			case y == voidLabel && r.LabelColours:
				m.labels[s] = 1
			case y == voidLabel:
				m.labels[s] = crf.Unobserved
			case y != 0 && r.LabelColours:
				l.fail(m.place(wrong("", 0, "", "learn from pictures that have it, too", "is %d, want 0 or 255, as in those that "+
					"the model learned from", y), s))
				return
			}
		}
	}
}

// keepPalette keeps the colours that pictures of labels give the states, so that predictions have them too: those of
// the picture that has the most, the first of several. A ramp of greys is what programs write where nobody chose
// colours. Other colours than a model has may be other labels.
func (l *imageLoader) keepPalette() {
	r := &l.set.Recipe
	var best color.Palette
	for _, d := range l.images {
		if m := d.labels; m != nil && len(m.palette) > len(best) {
			best = m.palette
		}
	}
	if r.LabelColours {
		return
	}
	for x := range r.States {
		label := x
		if names := l.names[0]; names != nil {
			label = int(names[x])
		}
		if label >= len(best) {
			break
		}
		red, green, blue, _ := best[label].RGBA()
		colour := [3]uint8{uint8(red >> 8), uint8(green >> 8), uint8(blue >> 8)}
		if l.o.Recipe == nil {
			r.Palette = append(r.Palette, colour)
		} else if x < len(r.Palette) && r.Palette[x] != colour {
			l.warn("palettes of the label pictures give label %d another colour than it had in training: are labels the same?",
				label)
			break
		}
	}
}

func isRamp(p color.Palette) bool {
	for i, c := range p {
		if red, green, blue, _ := c.RGBA(); red != green || green != blue || red>>8 != uint32(i) {
			return false
		}
	}
	return true
}
