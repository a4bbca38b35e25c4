package study

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/internal/figure"
	"github.com/blockbp/blockbp/internal/report"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// pageFile is the page that shows figures beside claims.
const pageFile = "study.html"

// write writes everything that the studies found into the folder.
func (o *Outcome) write(folder *runfolder.Run) error {
	for i, f := range o.findings {
		if err := f.write(folder, o.studies[i].Name); err != nil {
			return err
		}
	}
	// Where figures and page were made, and where the parts behind them were measured.
	if err := folder.WriteJSON("env.json", map[string]any{"drawn_on": runfolder.Environment(), "measured_on": o.environments}); err != nil {
		return err
	}
	if err := folder.WriteJSON("claims.json", o); err != nil {
		return err
	}
	page, err := o.page()
	if err != nil {
		return err
	}
	return folder.WriteFile(pageFile, page.Write)
}

// write writes figures as svg, png and csv, tables as csv, and the numbers as json.
func (f *Findings) write(folder *runfolder.Run, study string) error {
	for _, figure := range f.Figures {
		name := path.Join(study, figure.File)
		for ending, fill := range map[string]func(io.Writer) error{
			".svg": figure.Drawing.SVG, ".png": figure.Drawing.PNG, ".csv": func(w io.Writer) error { return csv.NewWriter(w).WriteAll(curvePoints(figure.Drawing)) },
		} {
			if err := folder.WriteFile(name+ending, fill); err != nil {
				return err
			}
		}
	}
	for _, picture := range f.Pictures {
		if err := folder.WriteFile(path.Join(study, picture.File+".png"), picture.Panel.PNG); err != nil {
			return err
		}
	}
	for _, table := range f.Tables {
		if err := folder.WriteFile(path.Join(study, table.File+".csv"), func(w io.Writer) error {
			return csv.NewWriter(w).WriteAll(append([][]string{table.Table.Headers}, table.Table.Rows...))
		}); err != nil {
			return err
		}
	}
	return folder.WriteJSON(path.Join(study, study+".json"), f.Data)
}

// curvePoints are what a figure draws, as a table.
func curvePoints(c figure.Curves) [][]string {
	rows := [][]string{{"series", c.XLabel, c.YLabel}}
	name, ends := "", 0
	for _, s := range c.Series {
		mark := ""
		if s.Name != "" {
			name, ends = s.Name, 0
		} else {
			mark, ends = rangeMarks[ends%len(rangeMarks)], ends+1
		}
		for i := range s.X {
			rows = append(rows, []string{name + mark, exactly(s.X[i]), exactly(s.Y[i])})
		}
	}
	return rows
}

// rangeMarks tell the ends of a range, which have no name, from the median before them.
var rangeMarks = []string{" (min)", " (max)"}

// exactly writes a number with all its digits.
func exactly(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// page shows each figure beside what the paper claims.
func (o *Outcome) page() (*report.Report, error) {
	held := 0
	for _, c := range o.Claims {
		if c.Held {
			held++
		}
	}
	r := &report.Report{Title: "The paper's empirical study, run again", Subtitle: fmt.Sprintf("scale %s; %d of %d claims held", o.Scale, held, len(o.Claims))}
	if len(o.Asked) < len(o.Studies) {
		r.Subtitle += "; the last run was asked for " + strings.Join(o.Asked, ", ")
	}
	r.Paragraph(o.howMeasured())
	r.Section("Claims")
	table := ClaimsTable(o.Claims)
	r.Table(table.Headers, table.Rows)
	for _, reason := range o.NotRun {
		r.Callout(report.CalloutWarn, "Not run: "+reason)
	}
	for i, f := range o.findings {
		study := o.studies[i]
		r.Section(study.Name + ": " + study.Title)
		if len(f.Claims) > 0 && f.Claims[0].Ours {
			r.Paragraph(study.Paper)
		} else {
			r.Paragraph("The paper: " + study.Paper)
		}
		for _, c := range f.Claims {
			kind, word := report.CalloutOK, "held"
			if !c.Held {
				kind, word = report.CalloutWarn, "not held"
			}
			r.Callout(kind, fmt.Sprintf("%s: %s. %s: %s. Here: %s.", c.Name, word, c.source(), c.Paper, c.Measured))
		}
		for _, note := range f.Notes {
			r.Paragraph(note)
		}
		for _, t := range f.Tables {
			r.Paragraph(t.Caption)
			r.Table(t.Table.Headers, t.Table.Rows)
		}
		for _, figure := range f.Figures {
			r.Figure(figure.Drawing, figure.Caption)
		}
		for _, picture := range f.Pictures {
			var png bytes.Buffer
			if err := picture.Panel.PNG(&png); err != nil {
				return nil, err
			}
			r.Image(png.Bytes(), picture.Caption)
		}
	}
	return r, nil
}

// howMeasured says where and how the numbers of the page were measured.
func (o *Outcome) howMeasured() string {
	text := measuredWords(o.environments) + " Distances are ‖θ−θ*‖/‖θ*‖. A pass is the message work of one sweep over the whole network and depends on no machine; gradients, each with the grounding of the potentials, are counted apart, in whole networks, where an edge between two blocks counts in both. " +
		clockWords(o.environments, slices.ContainsFunc(o.studies, (*Study).Apart)) + "; no garbage is collected meanwhile, and all methods run in the same process on one thread, one after the other, round after round."
	if slices.ContainsFunc(o.studies, func(study *Study) bool { return study.needsData }) {
		text += " On images there is one round, and runs use several threads: the processor times of all are added up, so that they are not the wall time that the paper speaks of."
	}
	return text
}

// source says whose statement it is.
func (c *Claim) source() string {
	if c.Ours {
		return "Promised here"
	}
	return "Paper"
}

// ClaimsTable lists claims for a reader.
func ClaimsTable(claims []Claim) report.Table {
	t := report.Table{Headers: []string{"claim", "held", "measured", "paper, or promised here", "scale"}}
	for _, c := range claims {
		held := "no"
		if c.Held {
			held = "yes"
		}
		t.Rows = append(t.Rows, []string{c.Name, held, c.Measured, c.Paper, string(c.Scale)})
	}
	return t
}
