package study

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/blockbp/blockbp/internal/runfolder"
)

// partFolder is where measured parts are kept in the output folder; it marks a folder as one of ours.
const partFolder = "parts"

// OpenFolder makes an output folder, or goes on with one that an earlier run made, and keeps other processes out of it
// until it is closed. A folder that holds anything else is refused with a *runfolder.NotEmptyError.
func OpenFolder(dir string) (*runfolder.Run, error) {
	folder, err := runfolder.Create(dir)
	var taken *runfolder.NotEmptyError
	if !errors.As(err, &taken) {
		return folder, err
	}
	if _, missing := os.Stat(filepath.Join(dir, partFolder)); missing != nil {
		return nil, err
	}
	if folder, err = runfolder.Open(dir); err != nil {
		return nil, err
	}
	return folder, folder.RemoveLeftovers()
}

// Outcome is what was found.
type Outcome struct {
	Scale   Scale    `json:"scale"`
	Claims  []Claim  `json:"claims"`
	Studies []string `json:"studies"`
	// NotRun names studies that were asked for and are not, or not wholly, measured, with the reason.
	NotRun  []string `json:"not_run"`
	Seconds float64  `json:"seconds"`
	Page    string   `json:"page"` // path of study.html

	findings []*Findings
	studies  []*Study
}

// Possible returns an error that says what is missing where none of the studies can be run.
func Possible(studies []*Study, s Settings) error {
	for _, study := range studies {
		if study.possible(s) {
			return nil
		}
	}
	return errors.New(howToGetData)
}

// distinct lists the parts of several studies that can be run, each once.
func distinct(studies []*Study, s Settings) (all []part) {
	seen := map[string]bool{}
	for _, study := range studies {
		if !study.possible(s) {
			continue
		}
		for _, p := range study.parts(s) {
			if !seen[p.id()] {
				all = append(all, p)
			}
			seen[p.id()] = true
		}
	}
	return all
}

// Run measures what studies need and is not kept in the folder, and writes figures, tables, numbers
// and the page study.html. say is told of every part that begins. Where ctx ends, the parts measured
// so far are kept, files and page tell of them, and the error is that of ctx.
func Run(
	ctx context.Context, studies []*Study, s Settings, folder *runfolder.Run, say func(text string),
) (*Outcome, error) {
	started := time.Now()
	s, err := s.identified()
	if err != nil {
		return nil, err
	}
	r := results{}
	stopped := r.measure(ctx, distinct(studies, s), max(1, s.Threads), folder, say)
	if stopped != nil && ctx.Err() == nil {
		return nil, stopped
	}
	o, err := conclude(studies, s, r)
	if err != nil {
		return nil, err
	}
	o.Seconds, o.Page = time.Since(started).Seconds(), folder.Path(pageFile)
	return o, cmp.Or(stopped, o.write(folder))
}

// partPath is where a part is kept in the folder.
func partPath(p *part) string { return path.Join(partFolder, p.id()+".json") }

// measure reads the parts that are kept in the folder, and measures and keeps the others.
func (r results) measure(
	ctx context.Context, parts []part, threads int, folder *runfolder.Run, say func(text string),
) error {
	var todo []part
	for _, p := range parts {
		text, err := os.ReadFile(folder.Path(partPath(&p)))
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		case err != nil || !json.Valid(text): // a damaged one is measured again
			todo = append(todo, p)
		default:
			r[p.id()] = text
		}
	}
	say(fmt.Sprintf("%d parts, %d of them kept from before", len(parts), len(parts)-len(todo)))
	for i, p := range todo {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		say(fmt.Sprintf("[%d/%d] %s", len(parts)-len(todo)+i+1, len(parts), p.name))
		v, err := p.measure(ctx, threads)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if err := folder.WriteJSON(partPath(&p), v); err != nil {
			return err
		}
		if r[p.id()], err = json.Marshal(v); err != nil {
			return err
		}
	}
	return nil
}

// conclude draws conclusions from what was measured.
func conclude(studies []*Study, s Settings, r results) (*Outcome, error) {
	o := &Outcome{Scale: s.Scale, NotRun: []string{}, Studies: []string{}, Claims: []Claim{}}
	for _, study := range studies {
		if !study.possible(s) {
			o.NotRun = append(o.NotRun, study.Name+": "+howToGetData)
			continue
		}
		missing, parts := 0, study.parts(s)
		for _, p := range parts {
			if r[p.id()] == nil {
				missing++
			}
		}
		if missing > 0 {
			o.NotRun = append(o.NotRun, fmt.Sprintf("%s: %d of %d parts are not measured yet; the same command goes on",
				study.Name, missing, len(parts)))
		}
		if missing == len(parts) {
			continue
		}
		f, err := study.conclude(s, r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", study.Name, err)
		}
		for i := range f.Claims {
			f.Claims[i].Name = study.Name + ": " + f.Claims[i].Name
		}
		o.Studies, o.Claims = append(o.Studies, study.Name), append(o.Claims, f.Claims...)
		o.studies, o.findings = append(o.studies, study), append(o.findings, f)
	}
	return o, nil
}
