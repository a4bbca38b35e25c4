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
	"slices"
	"time"

	"github.com/blockbp/blockbp/internal/infile"
	"github.com/blockbp/blockbp/internal/runfolder"
)

const (
	// partFolder is where measured parts are kept in the output folder.
	partFolder = "parts"
	// settingsFile marks a folder as one of ours.
	settingsFile = "study-settings.json"
)

// OpenFolder makes an output folder, or goes on with one that an earlier run made, and
// keeps other processes out of it until it is closed. A folder that holds anything else
// is refused with a *runfolder.NotEmptyError.
func OpenFolder(dir string) (*runfolder.Run, error) {
	folder, err := runfolder.Create(dir)
	var taken *runfolder.NotEmptyError
	if !errors.As(err, &taken) {
		return folder, err
	}
	if _, missing := OpenKept(dir); missing != nil {
		return nil, err
	}
	if folder, err = runfolder.Open(dir); err != nil {
		return nil, err
	}
	return folder, folder.RemoveLeftovers()
}

// OpenKept opens an output folder that an earlier run made, to show what is in it: also
// while that run goes on.
func OpenKept(dir string) (*runfolder.Run, error) {
	if _, err := os.Stat(filepath.Join(dir, settingsFile)); err != nil {
		return nil, err
	}
	return runfolder.At(dir)
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

// Outcome is what was found.
type Outcome struct {
	Scale   Scale    `json:"scale"`
	Claims  []Claim  `json:"claims"`
	Studies []string `json:"studies"`
	// Asked are the studies that the last run was asked for. Run and Show return what
	// was found in these; the page and claims.json tell of those of earlier runs too.
	Asked []string `json:"asked"`
	// NotRun names studies that were asked for and could not be run, with the reason.
	NotRun  []string `json:"not_run"`
	Seconds float64  `json:"seconds"`
	Page    string   `json:"page"` // path of study.html

	findings     []*Findings
	studies      []*Study
	environments []measuredIn
}

// Printed are the tables of the studies asked for that are for the terminal too.
func (o *Outcome) Printed() (all []Table) {
	for i, f := range o.findings {
		if o.studies[i].printed {
			all = append(all, f.Tables...)
		}
	}
	return all
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

// distinct lists the parts of several studies that can be run, each once.
func distinct(studies []*Study, s Settings) []part {
	var all []part
	for _, study := range studies {
		if study.possible(s) {
			all = append(all, study.parts(s)...)
		}
	}
	return distinctParts(all)
}

// distinctParts leaves out what is there already.
func distinctParts(parts []part) []part {
	seen := map[string]bool{}
	return slices.DeleteFunc(parts, func(p part) bool {
		id := p.id()
		again := seen[id]
		seen[id] = true
		return again
	})
}

// PlanOf says what running studies in a folder takes.
func PlanOf(studies []*Study, s Settings, folder *runfolder.Run) (plan Plan, err error) {
	if s, err = s.identified(); err != nil {
		return plan, err
	}
	parts := distinct(studies, s)
	todo, seconds, err := unmeasured(parts, folder)
	return Plan{Parts: len(parts), Kept: len(parts) - len(todo), Seconds: seconds}, err
}

// unmeasured returns those of the parts that are not kept, and about how long they take.
func unmeasured(parts []part, folder *runfolder.Run) (todo []part, seconds float64, err error) {
	for _, p := range parts {
		kept, err := readPart(folder, &p)
		if err != nil {
			return nil, 0, err
		}
		if kept == nil {
			todo, seconds = append(todo, p), seconds+p.seconds
		}
	}
	return todo, seconds, nil
}

// partPath is where a part is kept in the folder.
func partPath(p *part) string { return path.Join(partFolder, p.id()+".json") }

// readKept reads a JSON file of the folder; it returns nil where there is none, or it is
// damaged and has to be made again.
func readKept[T any](folder *runfolder.Run, name string) (*T, error) {
	text, err := infile.Read(folder.Path(name), "a result of a study", infile.Text)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v := new(T)
	if json.Unmarshal(text, v) != nil {
		return nil, nil
	}
	return v, nil
}

// readPart returns nil where a part was not measured yet.
func readPart(folder *runfolder.Run, p *part) (*keptPart, error) {
	kept, err := readKept[keptPart](folder, partPath(p))
	if kept != nil && len(kept.Result) == 0 {
		return nil, nil
	}
	return kept, err
}

// Run measures what studies need and is not kept in the folder, and writes figures,
// tables, numbers and the page study.html, of these studies and of those that earlier
// runs in the folder were asked for. progress may be nil. Where ctx ends, the parts
// measured so far are kept, files and page tell of them, and the error is that of ctx.
func Run(ctx context.Context, studies []*Study, s Settings, folder *runfolder.Run, progress func(Progress)) (*Outcome, error) {
	started := time.Now()
	s, err := s.identified()
	if err != nil {
		return nil, err
	}
	all, err := withEarlier(studies, folder)
	if err != nil {
		return nil, err
	}
	remembered := s
	if h, err := readHistory(folder.Dir()); s.Data == "" && err == nil && h != nil {
		remembered.Data, remembered.Features, remembered.ImageKey = h.Data, h.Features, h.ImageKey // not there today
	}
	if err := folder.WriteJSON(settingsFile, history{remembered, namesOf(all)}); err != nil {
		return nil, err
	}
	stopped := measureAll(ctx, distinct(studies, s), s, folder, progress)
	if stopped != nil && ctx.Err() == nil {
		return nil, stopped
	}
	o, err := present(studies, s, folder, started)
	if err != nil {
		return nil, err
	}
	return o, stopped
}

// Show does what Run does after measuring, with what is kept in the folder. Where
// nothing of the studies is, nothing is written, and the outcome has no Studies.
func Show(studies []*Study, s Settings, folder *runfolder.Run) (*Outcome, error) {
	started := time.Now()
	s, err := s.identified()
	if err != nil {
		return nil, err
	}
	return present(studies, s, folder, started)
}

// present writes what is known of the studies asked for and of those of earlier runs,
// and returns that of the former. It writes nothing where nothing is known of these.
func present(asked []*Study, s Settings, folder *runfolder.Run, started time.Time) (*Outcome, error) {
	all, err := withEarlier(asked, folder)
	if err != nil {
		return nil, err
	}
	r, err := readAll(all, s, folder)
	if err != nil {
		return nil, err
	}
	o, err := conclude(asked, s, r, folder)
	if err != nil || len(o.Studies) == 0 {
		return o, err
	}
	whole, err := conclude(all, s, r, folder)
	if err != nil {
		return nil, err
	}
	o.Seconds = time.Since(started).Seconds()
	whole.Seconds, whole.Asked = o.Seconds, o.Asked
	return o, whole.write(folder)
}

// readAll reads the parts of studies that are kept.
func readAll(studies []*Study, s Settings, folder *runfolder.Run) (results, error) {
	r := results{}
	for _, study := range studies {
		for _, p := range study.parts(s) {
			if r[p.id()] != nil {
				continue
			}
			kept, err := readPart(folder, &p)
			if err != nil {
				return nil, err
			}
			if kept != nil {
				r[p.id()] = kept
			}
		}
	}
	return r, nil
}

// conclude draws conclusions from what was measured.
func conclude(studies []*Study, s Settings, r results, folder *runfolder.Run) (*Outcome, error) {
	o := &Outcome{Scale: s.Scale, NotRun: []string{}, Studies: []string{}, Asked: namesOf(studies), Claims: []Claim{}, Page: folder.Path(pageFile)}
	var shown []part
	for _, study := range studies {
		parts := study.parts(s)
		measured := len(r.measured(parts))
		missing := len(parts) - measured
		switch {
		case missing > 0 && !study.possible(s):
			o.NotRun = append(o.NotRun, study.Name+": "+howToGetData)
			continue
		case missing > 0:
			o.NotRun = append(o.NotRun, fmt.Sprintf("%s: %d of %d parts are not measured yet; the same command goes on", study.Name, missing, len(parts)))
		}
		if measured == 0 {
			continue
		}
		f, err := study.conclude(s, r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", study.Name, err)
		}
		for i := range f.Claims {
			c := &f.Claims[i]
			c.Name, c.Study, c.Scale = study.Name+": "+c.Name, study.Name, s.Scale
		}
		o.Studies, o.studies, o.Claims = append(o.Studies, study.Name), append(o.studies, study), append(o.Claims, f.Claims...)
		o.findings, shown = append(o.findings, f), append(shown, parts...)
	}
	o.environments = r.environments(distinctParts(shown))
	return o, nil
}

// measureAll measures those of the parts that are not kept.
func measureAll(ctx context.Context, parts []part, s Settings, folder *runfolder.Run, progress func(Progress)) error {
	todo, left, err := unmeasured(parts, folder)
	if err != nil {
		return err
	}
	started, expected := time.Now(), left
	tell := func(name string, done int) {
		if progress != nil {
			// The pace so far corrects the estimate for the rest.
			pace := 1.0
			if done := expected - left; done > 0 {
				pace = time.Since(started).Seconds() / done
			}
			progress(Progress{Part: name, Done: len(parts) - len(todo) + done, Total: len(parts), Left: time.Duration(pace * left * float64(time.Second))})
		}
	}
	l := &lab{folder: folder, threads: max(1, s.Threads)}
	for i, p := range todo {
		tell(p.name, i)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := l.keep(ctx, &p); err != nil {
			return err
		}
		left -= p.seconds
	}
	tell("", len(todo))
	return nil
}

// keep measures a part and keeps it, with where that was.
func (l *lab) keep(ctx context.Context, p *part) error {
	v, err := p.measure(ctx, l)
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return l.folder.WriteJSON(partPath(p), keptPart{hereAndNow(), text})
}
