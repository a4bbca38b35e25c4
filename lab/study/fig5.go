package study

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/blockbp/blockbp/internal/figure"
)

// fig5 is the objective on images against time.
func fig5() *Study {
	return &Study{
		Name: "fig5", Title: "Learning objective on images of the Stanford Background data set",
		Paper:     "For the same wall time BBPL reduces the objective much faster than inner-dual learning and full BP.",
		needsData: true,
		parts:     func(s Settings) []part { return []part{imagePart(s)} },
		conclude: func(s Settings, r results) (*Findings, error) {
			c, err := result[ImageComparison](r, imagePart(s))
			if err != nil {
				return nil, err
			}
			f := &Findings{Data: c, Notes: []string{c.note()}}
			f.Claims = []Claim{c.lowest(1), c.lowest(earlyShare)}
			for _, x := range axes {
				if x.file == secondsAxis.file {
					x.label = fmt.Sprintf("seconds (%s time, %d threads)", c.Clock, c.Threads)
				}
				f.Figures = append(f.Figures, Figure{"objective-" + x.file, fmt.Sprintf("%d images, best step of each method, all for the time that BBPL took.", c.Images), c.curves(x)})
			}
			return f, nil
		},
	}
}

// curves draws the objective against a measure of effort.
func (c *ImageComparison) curves(x axis) figure.Curves {
	curves := figure.Curves{Title: fmt.Sprintf("%d images of the Stanford Background data set: objective", c.Images), XLabel: x.label, YLabel: "L(θ), exact", LogX: true, LogY: true}
	for _, run := range c.Runs {
		series := figure.Series{Name: run.Name}
		for _, p := range run.Points {
			series.X, series.Y = append(series.X, x.value(p.effort())), append(series.Y, p.Objective)
		}
		curves.Series = append(curves.Series, series)
	}
	return curves
}

// note says what was measured.
func (c *ImageComparison) note() string {
	how := "converged"
	if !c.Converged {
		how = "was stopped, not converged,"
	}
	return fmt.Sprintf("%d images, %d variables, 4×5 blocks of every image. BBPL %s after %.1f s (%s time, %d threads); the others ran for the same time. Features are those given, not the paper's FCN-32.", c.Images, c.Variables, how, c.Seconds, c.Clock, c.Threads)
}

// objectiveAt returns the objective at a time: between the kept points around it as a straight line in its logarithm, where it has one; that of the last
// one afterwards, and +Inf before the first.
func (r *ImageRun) objectiveAt(seconds float64) float64 {
	next := sort.Search(len(r.Points), func(i int) bool { return r.Points[i].Seconds > seconds })
	switch next {
	case 0:
		return math.Inf(1)
	case len(r.Points):
		return r.Points[next-1].Objective
	}
	a, b := r.Points[next-1], r.Points[next]
	between := (seconds - a.Seconds) / (b.Seconds - a.Seconds)
	if !(a.Objective > 0 && b.Objective > 0) {
		return a.Objective + between*(b.Objective-a.Objective)
	}
	return a.Objective * math.Pow(b.Objective/a.Objective, between)
}

// between reports whether a time lies between kept points, so that the objective there is
// interpolated.
func (r *ImageRun) between(seconds float64) bool {
	n := len(r.Points)
	return n > 0 && seconds > r.Points[0].Seconds && seconds < r.Points[n-1].Seconds &&
		!slices.ContainsFunc(r.Points, func(p ImagePoint) bool { return p.Seconds == seconds })
}

// lowest is the claim that BBPL has the lowest objective after a part of the time.
func (c *ImageComparison) lowest(part float64) Claim {
	claim := Claim{
		Name:  fmt.Sprintf("BBPL lowest after %.0f %% of its time", 100*part),
		Paper: "BBPL reduces the objective much faster than the two other methods", Held: true,
	}
	ours := math.Inf(1)
	var measured []string
	interpolated := false
	for i := range c.Runs {
		r := &c.Runs[i]
		x := r.objectiveAt(part * c.Seconds)
		switch r.Name {
		case nameBBPL: // the first
			ours = x
		case nameInner, nameFull:
			claim.Held = claim.Held && ours < x
		}
		if r.between(part * c.Seconds) {
			measured, interpolated = append(measured, fmt.Sprintf("%s about %.4g", r.Name, x)), true
		} else {
			measured = append(measured, fmt.Sprintf("%s %.6g", r.Name, x))
		}
	}
	claim.Measured = strings.Join(measured, ", ")
	if interpolated {
		claim.Measured += " (about: interpolated between the exact ones of the kept iterations before and after)"
	}
	return claim
}
