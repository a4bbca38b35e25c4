package study

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/blockbp/blockbp/record"
)

const (
	// partFolder is where measured parts are kept in the output folder.
	partFolder = "parts"
	// settingsFile marks a folder as one of ours.
	settingsFile = "study-settings.json"
)

// OpenFolder makes an output folder, or goes on with one that an earlier run made.
// A folder that holds anything else is refused with a *record.NotEmptyError.
func OpenFolder(dir string) (*record.Run, error) {
	folder, err := record.Create(dir)
	var taken *record.NotEmptyError
	if !errors.As(err, &taken) {
		return folder, err
	}
	kept, missing := OpenKept(dir)
	if missing != nil {
		return nil, err
	}
	return kept, nil
}

// OpenKept opens an output folder that an earlier run made.
func OpenKept(dir string) (*record.Run, error) {
	if _, err := os.Stat(filepath.Join(dir, settingsFile)); err != nil {
		return nil, err
	}
	return record.Open(dir)
}

// Progress is where a run stands.
type Progress struct {
	Part        string        // that begins now; empty at the end
	Done, Total int           // parts
	Left        time.Duration // estimated
}

// Plan is the work of a run.
type Plan struct {
	Parts, Kept int
	// Seconds is about how long the parts that are not kept take on two cores.
	Seconds float64
}

// Outcome is what a run found.
type Outcome struct {
	Scale   Scale    `json:"scale"`
	Claims  []Claim  `json:"claims"`
	Studies []string `json:"studies"`
	// NotRun names studies that were asked for and could not be run, with the reason.
	NotRun  []string `json:"not_run"`
	Seconds float64  `json:"seconds"`
	Page    string   `json:"page"` // path of study.html

	findings []*Findings
	studies  []*Study
}

// Possible returns an error that says what is missing where none of the studies can be
// run.
func Possible(studies []*Study, s Settings) error {
	for _, study := range studies {
		if study.possible(s) {
			return nil
		}
	}
	return errors.New(howToGetData)
}

// possible reports whether a study has what it needs.
func (study *Study) possible(s Settings) bool { return !study.needsData || s.Data != "" }

// distinct lists the parts of several studies, each once.
func distinct(studies []*Study, s Settings) []part {
	var all []part
	seen := map[string]bool{}
	for _, study := range studies {
		if !study.possible(s) {
			continue
		}
		for _, p := range study.parts(s) {
			if id := p.id(); !seen[id] {
				seen[id] = true
				all = append(all, p)
			}
		}
	}
	return all
}

// PlanOf says what running studies in a folder takes.
func PlanOf(studies []*Study, s Settings, folder *record.Run) (Plan, error) {
	var plan Plan
	for _, p := range distinct(studies, s) {
		kept, err := readPart(folder, &p)
		if err != nil {
			return plan, err
		}
		plan.Parts++
		if kept != nil {
			plan.Kept++
		} else {
			plan.Seconds += p.seconds
		}
	}
	return plan, nil
}

// partPath is where a part is kept in the folder.
func partPath(p *part) string { return path.Join(partFolder, p.id()+".json") }

// readPart returns nil where a part was not measured yet.
func readPart(folder *record.Run, p *part) (json.RawMessage, error) {
	text, err := os.ReadFile(folder.Path(partPath(p)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var v json.RawMessage
	if json.Unmarshal(text, &v) != nil {
		return nil, nil // damaged: measured again
	}
	return v, nil
}

// Run measures what studies need and is not kept in the folder, and writes figures,
// tables, numbers and the page study.html. progress may be nil. Where ctx ends, the
// parts measured so far are kept, files and page tell of them, and the error is that
// of ctx.
func Run(ctx context.Context, studies []*Study, s Settings, folder *record.Run, progress func(Progress)) (*Outcome, error) {
	started := time.Now()
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if err := folder.WriteJSON(settingsFile, s); err != nil {
		return nil, err
	}
	r, stopped := measureAll(ctx, distinct(studies, s), s, folder, progress)
	if stopped != nil && ctx.Err() == nil {
		return nil, stopped
	}
	o, err := conclude(studies, s, r, folder)
	if err != nil {
		return nil, err
	}
	o.Seconds = time.Since(started).Seconds()
	if err := o.write(folder); err != nil {
		return nil, err
	}
	return o, stopped
}

// Show does what Run does after measuring, with what is kept in the folder.
func Show(studies []*Study, s Settings, folder *record.Run) (*Outcome, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	r := results{}
	for _, p := range distinct(studies, s) {
		kept, err := readPart(folder, &p)
		if err != nil {
			return nil, err
		}
		if kept != nil {
			r[p.id()] = kept
		}
	}
	o, err := conclude(studies, s, r, folder)
	if err != nil {
		return nil, err
	}
	return o, o.write(folder)
}

// conclude draws conclusions from what was measured.
func conclude(studies []*Study, s Settings, r results, folder *record.Run) (*Outcome, error) {
	o := &Outcome{Scale: s.Scale, NotRun: []string{}, Studies: []string{}, Claims: []Claim{}, Page: folder.Path(pageFile)}
	for _, study := range studies {
		if !study.possible(s) {
			o.NotRun = append(o.NotRun, study.Name+": "+howToGetData)
			continue
		}
		parts := study.parts(s)
		if missing := r.missing(parts); missing > 0 {
			o.NotRun = append(o.NotRun, fmt.Sprintf("%s: %d of %d parts are not measured yet; the same command goes on", study.Name, missing, len(parts)))
		}
		f, err := study.conclude(s, r)
		if errors.Is(err, errMissing) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", study.Name, err)
		}
		o.Studies, o.studies = append(o.Studies, study.Name), append(o.studies, study)
		o.Claims = append(o.Claims, f.Claims...)
		o.findings = append(o.findings, f)
	}
	return o, nil
}

// measureAll returns the results of parts, measuring those that are not kept; beside
// an error, those that there are.
func measureAll(ctx context.Context, parts []part, s Settings, folder *record.Run, progress func(Progress)) (results, error) {
	r := results{}
	var todo []part
	left := 0.0
	for _, p := range parts {
		kept, err := readPart(folder, &p)
		if err != nil {
			return nil, err
		}
		if kept != nil {
			r[p.id()] = kept
			continue
		}
		todo = append(todo, p)
		left += p.seconds
	}
	started, expected := time.Now(), left
	tell := func(name string) {
		if progress != nil {
			// The pace so far corrects the estimate for the rest.
			pace := 1.0
			if done := expected - left; done > 0 {
				pace = time.Since(started).Seconds() / done
			}
			progress(Progress{Part: name, Done: len(r), Total: len(parts), Left: time.Duration(pace * left * float64(time.Second))})
		}
	}
	l := &lab{folder: folder, threads: max(1, s.Threads)}
	for _, p := range todo {
		tell(p.name)
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
		v, err := p.measure(ctx, l)
		if err != nil {
			return r, fmt.Errorf("%s: %w", p.name, err)
		}
		if err := folder.WriteJSON(partPath(&p), v); err != nil {
			return r, err
		}
		kept, err := readPart(folder, &p)
		if err != nil {
			return r, err
		}
		r[p.id()] = kept
		left -= p.seconds
	}
	tell("")
	return r, nil
}
