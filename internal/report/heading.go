package report

// Measures of the top of a figure, in points.
const (
	pagePadding     = 10.0 // around the figure
	legendSample    = 26.0 // length of the line or box before a name
	legendGap       = 6.0  // between the sample and its name
	legendSeparator = 18.0 // between two entries
	legendLine      = 1.5 * 10.5
	blockGap        = 9.0 // between title, legend and plot
	titleLines      = 2   // at most
)

// heading is the title and the legend above a figure, laid out for a width.
type heading struct {
	title   []string
	names   []string // of the legend
	columns int
	pitch   float64 // from one column of the legend to the next
}

// newHeading lays out title and legend for a figure of this width, padding included.
func newHeading(title string, names []string, width float64) heading {
	room := width - 2*pagePadding
	h := heading{title: titleLetters.wrap(title, room, titleLines)}
	widest := 0.0
	for _, name := range names {
		h.names = append(h.names, legendLetters.fit(name, room-legendSample-legendGap))
		widest = max(widest, legendLetters.width(h.names[len(h.names)-1]))
	}
	h.pitch = legendSample + legendGap + widest + legendSeparator
	h.columns = max(1, min(len(names), int((room+legendSeparator)/h.pitch)))
	return h
}

// rows is the number of lines of the legend.
func (h *heading) rows() int { return (len(h.names) + h.columns - 1) / h.columns }

// bottom is where the heading and the gap below it end.
func (h *heading) bottom() float64 {
	y := h.legendTop()
	if len(h.names) > 0 {
		y += float64(h.rows())*legendLine + blockGap
	}
	return y
}

func (h *heading) legendTop() float64 {
	if len(h.title) == 0 {
		return pagePadding
	}
	return pagePadding + float64(len(h.title))*titleLetters.size*lineSpacing + blockGap
}

// place calls line with the base line of each line of the title, and entry with where each entry of the legend begins
// and the middle of its line.
func (h *heading) place(line func(text string, y float64), entry func(i int, x, y float64)) {
	for i, text := range h.title {
		line(text, pagePadding+titleLetters.size*(1+float64(i)*lineSpacing))
	}
	for i := range h.names {
		entry(i, pagePadding+float64(i%h.columns)*h.pitch, h.legendTop()+(float64(i/h.columns)+0.5)*legendLine)
	}
}
