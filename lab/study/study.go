package study

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/blockbp/blockbp/internal/report"
)

// Study is one figure or table of the paper.
type Study struct {
	// Name is that of the command line: fig1, table1, theorem1.
	Name string
	// Title says what is measured and Paper what the paper claims of it.
	Title, Paper string
	// needsData: it is about images, which Settings.Data has to name.
	needsData bool
	// parts are what has to be measured, and conclude draws figures and claims from the results, of
	// which there is one at least.
	parts    func(Settings) []part
	conclude func(Settings, results) (*Findings, error)
}

// All returns every study, in the order of the paper; the last two are this project's own.
func All() []*Study {
	return []*Study{fig1(), fig2(), fig3(), fig4(), fig5(), table1(), fig6(), theorem1(), steps(), family()}
}

// everything is the name of all studies but those apart.
const everything = "all"

// Names are what Named understands.
func Names() []string {
	names := []string{everything}
	for _, s := range All() {
		names = append(names, s.Name)
	}
	return names
}

// Named returns the studies of some names, each once, in the order of the paper.
func Named(names []string) []*Study {
	return slices.DeleteFunc(All(), func(s *Study) bool {
		return !slices.Contains(names, s.Name) && (s.Apart() || !slices.Contains(names, everything))
	})
}

// Apart reports whether the study is asked for by its name only: it is about this project's own
// rules, not about the paper, and takes as long as half of the others.
func (study *Study) Apart() bool { return study.Name == "steps" || study.Name == "family" }

// possible reports whether a study has what it needs.
func (study *Study) possible(s Settings) bool { return !study.needsData || s.Data != "" }

// Settings are the choices of a run.
type Settings struct {
	Scale Scale
	// Seeds is the number of problems drawn for each size; 0 means that of the scale.
	Seeds int
	// Threads is how many searches for steps run at a time; runs that are timed have the machine for
	// themselves. 0 means 1.
	Threads int
	// Data is the folder of the Stanford Background data set and Features that of the images'
	// features; see lab/README.md. Without Data the studies on images are not run.
	Data, Features string

	imageKey string // tells data from others: see identified
}

// Findings are what a study concludes.
type Findings struct {
	Claims  []Claim
	Figures []Figure
	Tables  []Table
	// Pictures are for the page and a png file.
	Pictures []Picture
	// Notes are paragraphs for the page.
	Notes []string
	// Data are the numbers behind it all, for a JSON file.
	Data any
}

// Figure is a figure with its file name, without ending, and caption.
type Figure struct {
	File, Caption string
	Drawing       report.Curves
}

// Picture is a panel of images with its file name, without ending, and caption.
type Picture struct {
	File, Caption string
	Panel         report.Panel
}

// Table is a table with its file name, without ending, and caption.
type Table struct {
	File, Caption string
	Table         report.Table
}

// Claim is a statement of the paper, or of this project, held against what was measured.
type Claim struct {
	Name string `json:"name"` // begins with that of the study
	// Paper is the statement and Measured what was found instead, in numbers.
	Paper string `json:"paper"`
	// Ours: the statement is a promise of this project, of which the paper says nothing.
	Ours     bool   `json:"ours,omitempty"`
	Measured string `json:"measured"`
	Held     bool   `json:"held"`
}

// part is a measurement that is made once and kept.
type part struct {
	name string // for people, and the beginning of the file name
	// plan is everything that the result depends on; its hash is in the file name.
	plan    any
	measure func(ctx context.Context, threads int) (any, error)
}

// partFormat is part of every hash: raise it where results of before must not be used any more.
const partFormat = 4

// id is the name of the part's file, without ending.
func (p *part) id() string { return p.name + "-" + hashOf([]any{partFormat, p.plan}) }

// hashOf returns twelve hexadecimal digits of a hash of plain data.
func hashOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic("study: " + err.Error()) // numbers and strings always have a JSON form
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// results are the measured parts, by id.
type results map[string]json.RawMessage

// resultsOf reads the results of those of the parts that were measured.
func resultsOf[T any](r results, parts []part) ([]*T, error) {
	var all []*T
	for _, p := range parts {
		text, ok := r[p.id()]
		if !ok {
			continue
		}
		v := new(T)
		if err := json.Unmarshal(text, v); err != nil {
			return nil, fmt.Errorf("study: part %s: %w; delete its file, and it is measured again", p.id(), err)
		}
		all = append(all, v)
	}
	return all, nil
}
