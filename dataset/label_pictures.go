package dataset

import (
	"fmt"
	"image"
	"image/color"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/crf"
)

// What the numbers of a label map are.
const (
	labelsText    = iota // numbers of states in a text
	labelsIndices        // indices of a palette
	labelsGreys          // 0xrrggbb, all of which are greys
	labelsColours        // 0xrrggbb
)

// mostColours bounds how many states the colours of label pictures make: soft borders make more.
const mostColours = 64

// parseLabelPicture reads a png whose pixels are labels: with a palette, grey, or in colours.
// What the numbers mean is found out from all pictures: see readColours.
func parseLabelPicture(path string, data []byte, allowed int64) (*labelMap, error) {
	picture, format, err := decodePicture(path, data, allowed, "png", "save it again as png")
	if err == nil && format == "jpeg" {
		err = wrong(path, 0, "", softRemedy, "it is a jpg, which changes labels")
	}
	if err != nil {
		return nil, err
	}
	m, err := pixelNumbers(path, picture)
	if err == nil && picture.ColorModel() == color.Gray16Model {
		for s, v := range m.labels {
			if v == math.MaxUint16 {
				v = voidLabel
			}
			if m.labels[s] = greyColour(v); v > math.MaxUint8 {
				return nil, m.place(wrong("", 0, "", "number the classes from 0; numbers of single objects are no labels",
					"is %d in 16 bits, want a label of 0 to 254, or 255 or 65535", v), s)
			}
		}
	}
	return m, err
}

// pixelNumbers returns indices of a palette, but for a ramp of greys; greys of 16 bits; or colours, 0xrrggbb.
func pixelNumbers(path string, picture image.Image) (*labelMap, error) {
	at := picture.Bounds()
	m := &labelMap{path: path, rows: at.Dy(), cols: at.Dx(), labels: make([]int32, at.Dx()*at.Dy()), form: labelsGreys}
	paletted, _ := picture.(*image.Paletted)
	if paletted != nil && !isRamp(paletted.Palette) {
		m.form, m.palette = labelsIndices, paletted.Palette
	}
	for s := range m.labels {
		x, y := at.Min.X+s%m.cols, at.Min.Y+s/m.cols
		if m.palette != nil {
			m.labels[s] = int32(paletted.ColorIndexAt(x, y))
			continue
		}
		if grey, ok := picture.(*image.Gray16); ok {
			m.labels[s] = int32(grey.Gray16At(x, y).Y)
			continue
		}
		c := color.NRGBAModel.Convert(picture.At(x, y)).(color.NRGBA)
		if c.A != math.MaxUint8 {
			return nil, m.place(wrong("", 0, "", `save the picture without transparency, in Python `+
				`Image.open("mask.png").convert("RGB") or .getchannel("A")`, "is transparent, which says nothing of a label"), s)
		}
		if m.labels[s] = colourNumber([3]uint8{c.R, c.G, c.B}); c.R != c.G || c.G != c.B {
			m.form = labelsColours
		}
	}
	return m, nil
}

// colourNumber is 0xrrggbb, and partsOf takes it apart.
func colourNumber(c [3]uint8) int32 { return int32(c[0])<<16 | int32(c[1])<<8 | int32(c[2]) }
func partsOf(c int32) [3]uint8      { return [3]uint8{uint8(c >> 16), uint8(c >> 8), uint8(c)} }

// tally counts greys and colours.
type tally map[int32]int

// add counts the pixels of a picture, most of which are as the one before.
func (t tally) add(pixels []int32) {
	for s := 0; s < len(pixels); {
		v, n := pixels[s], 1
		for s+n < len(pixels) && pixels[s+n] == v {
			n++
		}
		s, t[v] = s+n, t[v]+n
	}
}

// greyColour is the colour of a grey.
func greyColour(v int32) int32 { return v<<16 | v<<8 | v }

// readColours finds out what the numbers of label pictures mean: those of a palette, and greys,
// are numbers of states, and 255 is unobserved, unless a picture has colours, or all greys are
// black or white, of which one state alone would be left. Then each colour is a state.
func (l *imageLoader) readColours() {
	counts := tally{} // of greys and colours
	forms := map[int]string{}
	for _, d := range l.images {
		if m := d.labels; m != nil {
			if forms[m.form] == "" {
				forms[m.form] = m.path
			}
			if m.form >= labelsGreys {
				counts.add(m.labels)
			}
		}
	}
	switch r := l.o.Recipe; {
	case r != nil && r.LabelColours:
		l.mapColours(r)
	case r != nil && forms[labelsColours] != "":
		l.failAt(forms[labelsColours], "", "save it with a palette or as 8-bit grey (modes P and L of PIL)",
			"its pixels are colours, and the labels that the model learned from are numbers")
	case r == nil && forms[labelsColours] != "" || l.blackAndWhite(counts, forms):
		if l.chooseColours(counts, forms); len(l.problems) == 0 {
			l.mapColours(&l.set.Recipe)
		}
	}
	for _, d := range l.images {
		if m := d.labels; m != nil && m.form != labelsText {
			for s, y := range m.labels {
				if m.labels[s] = y & math.MaxUint8; m.labels[s] == voidLabel { // all three parts of a grey are the same
					m.labels[s] = crf.Unobserved
				}
			}
		}
	}
}

// blackAndWhite reports whether the labels to learn from are masks.
func (l *imageLoader) blackAndWhite(counts tally, forms map[int]string) bool {
	names, _ := l.namedStates(0)
	states := len(names)
	return l.o.Recipe == nil && !l.manifest.HiddenLabels && (states == 0 || states == 2) && len(forms) == 1 &&
		len(counts) == 2 && counts[0] > 0 && counts[greyColour(voidLabel)] > 0
}

// chooseColours numbers the states by the colours of label pictures, black first.
func (l *imageLoader) chooseColours(counts tally, forms map[int]string) {
	for form, what := range map[int]string{labelsText: "numbers in a text", labelsIndices: "indices of a palette"} {
		if other := forms[form]; other != "" {
			l.failAt(forms[labelsColours], "", "save the labels of all pictures in one way",
				"its pixels are colours, and the labels of %s are %s", other, what)
			return
		}
	}
	r, colours := &l.set.Recipe, slices.Sorted(maps.Keys(counts))
	names, _ := l.namedStates(0)
	hidden, named := slices.Index(names, hiddenName), len(names)
	if at := slices.Index(colours, vocVoid); at >= 0 && named != len(colours) {
		if hidden = at; named > 0 {
			names = slices.Insert(slices.Clone(names), min(at, named), hiddenName)
		}
	}
	switch {
	case len(colours) > mostColours:
		l.failAt(forms[labelsColours], "", softRemedy, "the labels of all pictures have %d colours, want one for each of "+
			"at most %d states", len(colours), mostColours)
		return
	case named > 0 && len(names) != len(colours):
		l.failAt(forms[labelsColours], "", "name as many, in this order, and "+hiddenName+" for one that means not labelled",
			"the labels of all pictures have %d colours, %s, and %d states are named", len(colours), listed(colours), named)
		return
	}
	r.LabelColours = true
	var texts []string
	for i, c := range colours {
		text := colourText(c)
		if forms[labelsColours] == "" {
			text = fmt.Sprint(c & math.MaxUint8)
		}
		if i == hidden {
			r.HiddenColours, l.hiddenBy = append(r.HiddenColours, partsOf(c)), text
			l.warn("the colour %s hides labels; where it is a state, name the states of all colours", text)
			continue
		}
		if r.Palette = append(r.Palette, partsOf(c)); named > 0 {
			r.States = append(r.States, names[i])
		} else {
			r.States = append(r.States, text)
		}
		if last := r.States[len(r.States)-1]; last != text {
			text += " is " + last
		}
		texts = append(texts, text)
	}
	if forms[labelsColours] == "" {
		l.warn("the labels of all pictures are 0 or 255: both are states (%s), and 255 hides nothing; if it is to hide, "+
			"%s", strings.Join(texts, ", "), sayHidden)
	} else {
		l.warn("each colour of the label pictures is a state: %s; {states} names them in this order, with %s for one that "+
			"means not labelled", strings.Join(texts, ", "), hiddenName)
	}
}

const (
	// hiddenName is the name of a colour that hides labels, as in text and tables.
	hiddenName = "?"
	// vocVoid is the colour of what is not labelled in PASCAL VOC, and wherever its palette is used.
	vocVoid = 0xe0e0c0
)

// withoutHidden leaves out the name of a colour that hides labels.
func withoutHidden(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == hiddenName })
}

const softRemedy = "save pictures of labels as png, resized without interpolation (NEAREST), and borders without " +
	"smoothing"

func colourText(c int32) string { return fmt.Sprintf("#%06x", c) }

func listed(colours []int32) string {
	var texts []string
	for _, c := range colours {
		texts = append(texts, colourText(c))
	}
	return firstFew(texts)
}

// mapColours replaces greys and colours by the number of the state.
func (l *imageLoader) mapColours(r *Recipe) {
	states, known := map[int32]int32{vocVoid: crf.Unobserved}, []int32(nil) // it hides, unless a state has it
	for i, c := range r.Palette {
		states[colourNumber(c)], known = int32(i), append(known, colourNumber(c))
	}
	for _, c := range r.HiddenColours {
		states[colourNumber(c)] = crf.Unobserved
	}
	for _, d := range l.images {
		m := d.labels
		if m == nil || m.form < labelsGreys {
			continue
		}
		for s, v := range m.labels {
			y, ok := states[v]
			if !ok {
				l.fail(m.place(wrong("", 0, "", "learn from pictures that have it, too; soft borders, which interpolation makes, "+
					"have colours of their own", "is %s, want a colour of those that the model learned from: %s", colourText(v),
					listed(known)), s))
				break
			}
			m.labels[s] = y
		}
	}
}

// keepPalette keeps the colours that pictures of labels give the states, so that predictions
// have them too: those of the picture that has the most, the first of several. A ramp of greys
// is what programs write where nobody chose colours.
func (l *imageLoader) keepPalette() {
	r := &l.set.Recipe
	if l.o.Recipe != nil || l.o.Schema != nil || r.LabelColours {
		return
	}
	var best color.Palette
	for _, d := range l.images {
		if d.labels != nil && len(d.labels.palette) > len(best) && !isRamp(d.labels.palette) {
			best = d.labels.palette
		}
	}
	for x := range r.States {
		if names := l.names[0]; names != nil {
			x = int(names[x])
		}
		if x >= len(best) {
			break
		}
		red, green, blue, _ := best[x].RGBA()
		r.Palette = append(r.Palette, [3]uint8{uint8(red >> 8), uint8(green >> 8), uint8(blue >> 8)})
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
