package dataset

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/formats"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
)

const (
	// mostColours bounds how many states the colours of label pictures make: soft borders make more.
	mostColours = 64
	white       = 0xffffff
	// hiddenName is the name of a colour that hides labels, as in text and tables.
	hiddenName = "?"
	// vocVoid is the colour of what is not labelled in PASCAL VOC, and wherever its palette is used.
	vocVoid = 0xe0e0c0

	softRemedy = "save pictures of labels as png at once, resized by NEAREST, and borders without smoothing"
)

// haveColours reports whether colours of label pictures tell what numbers do not: a model learned from them, a picture
// has no numbers, or numbers of palettes have two colours and colours two numbers, as where programs make a palette for
// each picture. Palettes that differ in shades alone tell nothing.
func (l *imageLoader) haveColours() bool {
	if l.o.Recipe != nil && l.o.Recipe.LabelColours {
		return true
	}
	colour, number, colours, numbers := map[int32]int32{}, map[int32]int32{}, false, false
	for _, d := range l.images {
		switch m := d.labels; {
		case m == nil:
		case m.form == numbersColours:
			return true
		case m.palette != nil:
			var seen [math.MaxUint8 + 1]bool
			for _, y := range m.numbers {
				if seen[y] {
					continue
				}
				c := m.palette[y]
				seen[y] = true
				x, known := colour[y]
				colours, colour[y] = colours || known && x != c, c
				z, known := number[c]
				numbers, number[c] = numbers || known && z != y, y
			}
		}
	}
	return colours && numbers
}

// readColours finds out what the numbers of label pictures mean: those of a palette, and greys,
// are numbers of states, and 255 is unobserved, unless colours tell more (haveColours), or greys are masks: in even
// steps from black to white, as 0 and 255 alone. Then each colour is a state.
func (l *imageLoader) readColours() {
	forms, coloured := map[int]string{}, l.haveColours()
	for _, d := range l.images {
		if m := d.labels; m != nil {
			if coloured && m.form == numbersIndices {
				m.form, m.numbers = numbersColours, numeric.Map(m.numbers, func(y int32) int32 { return m.palette[y] })
			}
			forms[m.form] = cmp.Or(forms[m.form], m.path)
			hides := map[bool]string{true: hiddenNumber, false: fmt.Sprint(voidLabel)}[m.form == numbersText]
			l.numbers = append(l.numbers, numbered{m.numbers, func(int) int { return 0 }, m.place, hides})
		}
	}
	counts := l.countLabels()[0]
	names, _ := l.namedStates(0)
	greys, n := slices.Sorted(maps.Keys(counts)), len(counts)
	masks := n > 1 && greys[0] == 0 && greys[n-1] == white && l.o.Recipe == nil
	switch r := l.o.Recipe; {
	case r != nil && r.LabelColours:
		l.mapColours(r)
	case r != nil && forms[numbersColours] != "":
		l.failAt(forms[numbersColours], "", "save it with a palette or as 8-bit grey (modes P and L of PIL)",
			"its pixels are colours, and the labels that the model learned from are numbers")
	case r != nil && n == 2 && greys[0] == 0 && greys[1] == white:
		l.warn("the labels of all pictures are 0 and 255, and 255 hides; if it is a state that the model learned as 1, " +
			"write 1")
	case r == nil && forms[numbersColours] != "", masks && len(forms) == 1 && !l.manifest.HiddenLabels &&
		(len(names) == 0 || len(names) == n) && areEven(greys):
		if l.chooseColours(counts, forms); len(l.problems) == 0 {
			l.mapColours(&l.set.Recipe)
		}
	case r == nil && len(names) == 0 && (n > 8 || n > 5 && masks) && l.areBlurred(greys):
		l.failAt(forms[numbersGreys], "", softRemedy+"; of masks, in Python with PIL Image.open(p).convert(\"L\").point("+
			"lambda g: g // 128 * 255).save(p); if each is a state, name all by {states}",
			"the labels of all pictures are %d greys, as of soft borders or jpg", n)
	}
	for _, n := range l.numbers {
		for s, y := range n.labels {
			if y &= math.MaxUint8; n.hides != hiddenNumber { // all three parts of a grey are the same
				if n.labels[s] = y; y == voidLabel {
					n.labels[s] = crf.Unobserved
				}
			}
		}
	}
}

// areBlurred reports whether most greys, two of them too large for numbers of classes, are what interpolation or jpg
// makes at borders: next to their pixels the same grey is rarer than others. White may hide, and tells nothing.
func (l *imageLoader) areBlurred(greys []int32) bool {
	var same [math.MaxUint8 + 1]int // neighbours, less others
	for _, d := range l.images {
		for m, s := d.labels, 0; m != nil && m.form == numbersGreys && s < len(m.numbers); s++ {
			for _, step := range []int{1, m.cols} { // before, and above
				y, z := m.numbers[s]&math.MaxUint8, m.numbers[max(0, s-step)]&math.MaxUint8
				if told := s >= step && (step > 1 || s%m.cols > 0) && max(y, z) < voidLabel; told && y == z {
					same[y] += 2
				} else if told {
					same[y], same[z] = same[y]-1, same[z]-1
				}
			}
		}
	}
	blurred := slices.DeleteFunc(same[:], func(n int) bool { return n >= 0 })
	return 2*len(blurred) > len(greys) && greys[len(greys)-2]&math.MaxUint8 > mostColours
}

// areEven reports whether greys from black to white, not too many, are in even steps, but for rounding.
func areEven(greys []int32) bool {
	steps := len(greys) - 1
	for i, c := range greys {
		if off := int(c&math.MaxUint8)*steps - math.MaxUint8*i; max(off, -off) > steps {
			return false
		}
	}
	return steps < manyStates
}

// chooseColours numbers the states by the colours of label pictures, black first.
func (l *imageLoader) chooseColours(counts labelCounts, forms map[int]string) {
	at, text := forms[numbersColours], colourText
	if other := forms[numbersText]; other != "" {
		l.failAt(at, "", "save all labels in one way", "its pixels are colours, and the labels of %s are numbers", other)
		return
	}
	var known map[int32]string
	if at != "" {
		known = l.namedColours(counts)
	} else { // masks
		text = func(c int32) string { return fmt.Sprint(c & math.MaxUint8) }
	}
	r, colours := &l.set.Recipe, slices.Sorted(maps.Keys(counts))
	texts, void := numeric.Map(colours, text), slices.Index(colours, vocVoid)
	names, _ := l.namedStates(0)
	named := len(names)
	switch names = slices.Clone(names); {
	case named == 0:
		if names = slices.Clone(texts); void >= 0 {
			names[void] = hiddenName
		}
		for i, c := range colours {
			names[i] = cmp.Or(known[c], names[i])
		}
	case void >= 0 && named == len(colours)-1:
		names = slices.Insert(names, void, hiddenName)
	}
	switch {
	case len(colours) > mostColours:
		l.failAt(at, "", softRemedy, "the labels of all pictures have %d colours, want one for each of at most %d states",
			len(colours), mostColours)
		return
	case len(names) != len(colours):
		l.failAt(at, "", "name as many, in this order, and "+hiddenName+" for one that means not labelled",
			"the labels of all pictures have %d colours, %s, and %d states are named", len(colours), option.FirstFew(texts),
			named)
		return
	}
	r.LabelColours = true
	var states []string
	for i, c := range colours {
		if names[i] == hiddenName {
			r.HiddenColours, l.hiddenBy = append(r.HiddenColours, partsOf(c)), texts[i]
			l.warn("the colour %s hides labels; where it is a state, name the states of all colours", texts[i])
			continue
		}
		r.Palette, r.States = append(r.Palette, partsOf(c)), append(r.States, names[i])
		if names[i] != texts[i] {
			texts[i] += " is " + names[i]
		}
		states = append(states, texts[i])
	}
	if said := strings.Join(states, ", "); at != "" {
		l.warn("each colour of the label pictures is a state: %s; {states} names them in this order, with %s for one that "+
			"means not labelled", said, hiddenName)
	} else if r.HiddenColours == nil {
		l.warn("the labels of all pictures are greys from 0 to 255: all are states (%s), and 255 hides nothing; if it is to "+
			"hide, %s", said, sayHidden)
	}
}

// namedColours are those that label_colors.txt beside the pictures names, as of CamVid: three numbers and a name a
// line. What is void hides labels, and others are states, if they occur or not.
func (l *imageLoader) namedColours(counts labelCounts) map[int32]string {
	path := filepath.Join(filepath.Dir(l.manifestPath), formats.ColoursFile)
	named, _ := l.namedStates(0)
	if _, missing := os.Stat(path); missing != nil || len(named) > 0 {
		return nil
	}
	names := map[int32]string{}
	for line := range strings.Lines(string(l.source(path, "names of colours", smallText))) {
		c, words := [3]uint8{}, strings.Fields(line)
		if n, _ := fmt.Sscan(line, &c[0], &c[1], &c[2]); n == len(c) && len(words) > n {
			name := strings.Join(words[n:], " ")
			if slices.Contains([]string{"void", "unlabelled", "unlabeled"}, strings.ToLower(name)) {
				name = hiddenName
			} else if slices.Contains(slices.Collect(maps.Values(names)), name) && names[colourNumber(c)] != name {
				l.failAt(path, "", "give each a name of its own", "two colours are called %q", name)
			}
			names[colourNumber(c)] = name
			counts[colourNumber(c)] += 0
		}
	}
	return names
}

// withoutHidden leaves out the name of a colour that hides labels.
func withoutHidden(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == hiddenName })
}

func colourText(c int32) string { return fmt.Sprintf("#%06x", c) }

// mapColours replaces greys and colours by the number of the state.
func (l *imageLoader) mapColours(r *Recipe) {
	states, known := map[int32]int32{-1: crf.Unobserved, vocVoid: crf.Unobserved}, []int32(nil)
	for _, c := range r.HiddenColours {
		states[colourNumber(c)] = crf.Unobserved
	}
	for i, c := range r.Palette { // which may have that of VOC
		states[colourNumber(c)], known = int32(i), append(known, colourNumber(c))
	}
	for _, d := range l.images {
		if d.labels == nil || d.labels.form < numbersGreys {
			continue
		}
		for s, v := range d.labels.numbers {
			y, ok := states[v]
			if d.labels.numbers[s] = y; !ok {
				l.fail(d.labels.place(option.At("", 0, "", "learn from pictures that have it, too; soft borders, which "+
					"interpolation makes, have colours of their own", "is %s, want a colour of those that the model learned from: %s",
					colourText(v), option.FirstFew(numeric.Map(known, colourText))), s))
				break
			}
		}
	}
}

// keepPalette keeps the colours that pictures of labels give the states, so that predictions
// have them too: those of the picture that has the most, the first of several.
func (l *imageLoader) keepPalette() {
	r := &l.set.Recipe
	if l.o.Recipe != nil || r.LabelColours {
		return
	}
	var best []int32
	for _, d := range l.images {
		if d.labels != nil && len(d.labels.palette) > len(best) {
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
		r.Palette = append(r.Palette, partsOf(best[x]))
	}
}
