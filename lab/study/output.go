package study

import (
	"encoding/csv"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"

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
	if err := folder.WriteJSON("env.json", runfolder.Environment()); err != nil {
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

// write writes figures as svg and csv, tables as csv, and the numbers as json.
func (f *Findings) write(folder *runfolder.Run, study string) error {
	table := func(name string, rows [][]string) error {
		return folder.WriteFile(name+".csv", func(w io.Writer) error { return csv.NewWriter(w).WriteAll(rows) })
	}
	for _, figure := range f.Figures {
		name := path.Join(study, figure.File)
		if err := folder.WriteFile(name+".svg", figure.Drawing.SVG); err != nil {
			return err
		}
		if err := table(name, curvePoints(figure.Drawing)); err != nil {
			return err
		}
	}
	for _, picture := range f.Pictures {
		if err := folder.WriteFile(path.Join(study, picture.File+".svg"), picture.Panel.SVG); err != nil {
			return err
		}
	}
	for _, t := range f.Tables {
		if err := table(path.Join(study, t.File), append([][]string{t.Table.Headers}, t.Table.Rows...)); err != nil {
			return err
		}
	}
	return folder.WriteJSON(path.Join(study, study+".json"), f.Data)
}

// curvePoints are what a figure draws, as a table.
func curvePoints(c report.Curves) [][]string {
	exactly := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	rows := [][]string{{"series", c.XLabel, c.YLabel}}
	for _, s := range c.Series {
		for i := range s.X {
			rows = append(rows, []string{s.Name, exactly(s.X[i]), exactly(s.Y[i])})
		}
	}
	return rows
}

// page shows each figure beside what the paper claims.
func (o *Outcome) page() (*report.Report, error) {
	held := 0
	for _, c := range o.Claims {
		if c.Held {
			held++
		}
	}
	r := &report.Report{
		Title:    "The paper's empirical study, run again",
		Subtitle: fmt.Sprintf("scale %s; %d of %d claims held", o.Scale, held, len(o.Claims)),
	}
	r.Paragraph(o.howMeasured())
	r.Section("Claims")
	r.Table(ClaimsTable(o.Claims))
	for _, reason := range o.NotRun {
		r.Callout(report.CalloutWarn, "Not run: "+reason)
	}
	for i, f := range o.findings {
		if err := f.show(r, o.studies[i]); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// show adds what a study found to the page.
func (f *Findings) show(r *report.Report, study *Study) error {
	r.Section(study.Name + ": " + study.Title)
	r.Paragraph("The paper: " + study.Paper)
	for _, c := range f.Claims {
		kind, word, source := report.CalloutOK, "held", "Paper"
		if !c.Held {
			kind, word = report.CalloutWarn, "not held"
		}
		if c.Ours {
			source = "Promised here"
		}
		r.Callout(kind, fmt.Sprintf("%s: %s. %s: %s. Here: %s.", c.Name, word, source, c.Paper, c.Measured))
	}
	for _, note := range f.Notes {
		r.Paragraph(note)
	}
	for _, t := range f.Tables {
		r.Paragraph(t.Caption)
		r.Table(t.Table)
	}
	for _, figure := range f.Figures {
		r.Figure(figure.Drawing, figure.Caption)
	}
	for _, picture := range f.Pictures {
		r.Figure(picture.Panel, picture.Caption)
	}
	return nil
}

// howMeasured says how the numbers of the page were measured.
func (o *Outcome) howMeasured() string {
	text := "Distances are ‖θ−θ*‖/‖θ*‖. A pass is the message work of one sweep over the whole network and depends " +
		"on no machine; gradients, each with the grounding of the potentials, are counted apart, in whole networks, " +
		"where an edge between two blocks counts in both. Times are processor time of the process, which other " +
		"programs hardly change, where the system tells it (those of steps, whose runs go side by side, are of a " +
		"clock on the wall); no garbage is collected meanwhile, and all methods run in the same process on one " +
		"thread, one after the other, round after round."
	if slices.ContainsFunc(o.studies, func(study *Study) bool { return study.needsData }) {
		text += " On images there is one round, and runs use several threads: the processor times of all are added " +
			"up, so that they are not the wall time that the paper speaks of."
	}
	return text
}

// ClaimsTable lists claims for a reader.
func ClaimsTable(claims []Claim) report.Table {
	t := report.Table{Headers: []string{"claim", "held", "measured", "paper, or promised here"}}
	for _, c := range claims {
		held := "no"
		if c.Held {
			held = "yes"
		}
		t.Rows = append(t.Rows, []string{c.Name, held, c.Measured, c.Paper})
	}
	return t
}
