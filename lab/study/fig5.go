package study

import (
	"fmt"
	"math"
	"strings"

	"github.com/blockbp/blockbp/internal/report"
)

// fig5 is the objective on images against time.
func fig5() *Study {
	return imageStudy(
		"fig5", "Learning objective on images of the Stanford Background data set",
		"For the same wall time BBPL reduces the objective much faster than inner-dual learning and full BP.",
		func(c *ImageComparison) *Findings {
			f := &Findings{Claims: []Claim{c.lowest(1), c.lowest(earlyShare)}}
			caption := fmt.Sprintf("%d images, best step of each method, all for the time that BBPL took.", c.Images)
			for _, x := range axes {
				f.Figures = append(f.Figures, Figure{"objective-" + x.file, caption, c.curves(x)})
			}
			return f
		},
	)
}

// imageStudy is one about the comparison on images.
func imageStudy(name, title, paper string, conclude func(*ImageComparison) *Findings) *Study {
	return &Study{
		Name: name, Title: title, Paper: paper, needsData: true,
		parts: func(s Settings) []part { return []part{imagePart(s)} },
		conclude: func(s Settings, r results) (*Findings, error) {
			all, err := resultsOf[ImageComparison](r, []part{imagePart(s)})
			if err != nil {
				return nil, err
			}
			f := conclude(all[0])
			f.Data, f.Notes = all[0], []string{all[0].note()}
			return f, nil
		},
	}
}

// curves draws the objective against a measure of effort.
func (c *ImageComparison) curves(x axis) report.Curves {
	curves := report.Curves{
		Title:  fmt.Sprintf("%d images of the Stanford Background data set: objective", c.Images),
		XLabel: x.label, YLabel: "L(θ), exact", LogX: true, LogY: true,
	}
	for _, run := range c.Runs {
		series := report.Series{Name: run.Name}
		for _, p := range run.Points {
			series.X, series.Y = append(series.X, x.value(p.Effort)), append(series.Y, p.Objective)
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
	return fmt.Sprintf("%d images, %d variables, 4×5 blocks of every image. BBPL %s after %.1f s (%d threads); the "+
		"others ran for the same time. Features are those given, not the paper's FCN-32.",
		c.Images, c.Variables, how, c.Seconds, c.Threads)
}

// objectiveAt returns the objective of the last kept point by a time; +Inf before the first.
func (r *ImageRun) objectiveAt(seconds float64) float64 {
	objective := math.Inf(1)
	for _, p := range r.Points {
		if p.Seconds <= seconds {
			objective = p.Objective
		}
	}
	return objective
}

// lowest is the claim that BBPL has the lowest objective after a part of the time.
func (c *ImageComparison) lowest(part float64) Claim {
	claim := Claim{
		Name:  fmt.Sprintf("BBPL lowest after %.0f %% of its time", 100*part),
		Paper: "BBPL reduces the objective much faster than the two other methods", Held: true,
	}
	ours := math.Inf(1)
	var measured []string
	for i := range c.Runs {
		r := &c.Runs[i]
		x := r.objectiveAt(part * c.Seconds)
		if r.Name == nameBBPL { // the first
			ours = x
		} else {
			claim.Held = claim.Held && ours < x
		}
		measured = append(measured, fmt.Sprintf("%s %.6g", r.Name, x))
	}
	claim.Measured = strings.Join(measured, ", ")
	return claim
}
