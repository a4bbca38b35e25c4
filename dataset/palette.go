package dataset

import "image/color"

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
	for _, c := range best[:min(len(best), len(r.States))] {
		red, green, blue, _ := c.RGBA()
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
