package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/internal/nearest"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/lab/study"
)

// reproduceFlags are the options of reproduce.
type reproduceFlags struct {
	out      string
	scale    string
	scaled   bool // a scale was asked for
	data     string
	features string
	seeds    int
	threads  int
	suite    string
	only     []int
	kept     bool
	json     bool
}

// reproduceFolder is the output folder where none is named.
const reproduceFolder = "blockbp-study"

func (a *app) reproduceCommand() *cobra.Command {
	var f reproduceFlags
	cmd := &cobra.Command{
		Use:   "reproduce STUDY... [--scale small|paper] [-o DIR]",
		Short: "Run the paper's empirical study again and hold its claims against the results",
		Long: fmt.Sprintf(`Runs studies of the paper (Lu, Liu and Huang, AAAI 2019, Empirical Study) and
writes their figures (svg, png), numbers (csv, json) and the page study.html, which
shows each figure beside the paper's claim and says whether it held. lab/README.md
tells how everything is measured, and what the paper leaves open.

%s  all         every one of them but steps and steps-hard

Parts that are measured are kept in the output folder: an interrupted run goes on
where it stopped, when it is started again, and its page tells of all that was asked
for so far. Options that are left out are as in the runs that made the folder. Times
are processor time where the system tells it: other programs hardly change them, but
two studies at a time would slow each other's memory down.`, studyList()),
		Example: "  go run -C lab ./cmd/lab reproduce all -o study\n" +
			"  go run -C lab ./cmd/lab reproduce fig4 theorem1 --seeds 2 --json\n" +
			"  go run -C lab ./cmd/lab reproduce fig4 --scale paper -o paper",
		RunE: func(cmd *cobra.Command, args []string) error {
			asked := f
			asked.scaled = cmd.Flags().Changed("scale")
			return a.reproduce(&asked, args)
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "out", "o", reproduceFolder, "folder to make, or to go on with")
	fl.StringVar(&f.scale, "scale", string(study.Small), "small: minutes, or paper: the paper's sizes, hours")
	fl.StringVar(&f.data, "data", "", "folder of the Stanford Background data set, for fig5, table1 and fig6")
	fl.StringVar(&f.features, "features", "", "folder with the features of its images (default: features in --data)")
	fl.IntVar(&f.seeds, "seeds", 0,
		"problems drawn for each size (0: as the folder was made, else 5 at small scale, 1 at the paper's)")
	fl.IntVar(&f.threads, "threads", runtime.GOMAXPROCS(0), "searches for steps at a time; timed runs are alone")
	fl.StringVar(&f.suite, "suite", suites[0], "of steps: rivals, or hard, random small problems")
	fl.IntSliceVar(&f.only, "only", nil, "problems of --suite hard to run alone, by number; writes nothing")
	fl.BoolVar(&f.kept, "kept", false, "measure nothing: figures and page of what the folder has")
	fl.BoolVar(&f.json, "json", false, "print the result as one JSON object")
	return cmd
}

// studyList lists the studies for the help.
func studyList() string {
	var b strings.Builder
	for _, s := range study.All() {
		fmt.Fprintf(&b, "  %-11s %s\n", s.Name, s.Title)
	}
	return b.String()
}

// settings are those of the options, with what they leave open as it was in the runs
// that made the output folder.
func (f *reproduceFlags) settings() (study.Settings, error) {
	s := study.Settings{
		Scale: study.Scale(f.scale), Seeds: f.seeds, Threads: f.threads, Data: f.data, Features: f.features,
	}
	switch {
	case s.Scale != study.Small && s.Scale != study.Paper && (s.Scale != testScale || testScale == ""):
		return s, usagef("--scale %q: want %s or %s", f.scale, study.Small, study.Paper)
	case f.threads < 1:
		return s, usagef("--threads %d: want at least 1", f.threads)
	case f.seeds < 0:
		return s, usagef("--seeds %d: want 0 for the default, or more", f.seeds)
	case f.data == "" && f.features != "":
		return s, usagef("--features %s: it goes with --data, which is not given", f.features)
	case f.out == "":
		return s, usagef("--out: want a folder")
	}
	if !f.scaled {
		s.Scale = ""
	}
	s, err := study.Resume(f.out, s)
	var other *study.ScaleError
	if errors.As(err, &other) {
		return s, usagef("--scale %s: %v", f.scale, other)
	}
	return s, err
}

// tellTaken says what was taken from an earlier run.
func (a *app) tellTaken(f *reproduceFlags, s study.Settings) {
	if !f.scaled && string(s.Scale) != f.scale {
		a.say("lab: note: --scale %s, as %s was made", s.Scale, f.out)
	}
	if f.seeds == 0 && s.Seeds != 0 {
		a.say("lab: note: --seeds %d, as %s was made", s.Seeds, f.out)
	}
	if f.data == "" && s.Data != "" {
		a.say("lab: note: --data %s, as %s was made", s.Data, f.out)
	}
}

// suites are the problems that study steps has: its own, and those of study steps-hard.
var suites = []string{"rivals", "hard"}

// named returns the names of the studies asked for, with what --suite makes of steps.
func (f *reproduceFlags) named(args []string) ([]string, error) {
	names, asked := study.Names(), slices.Clone(args)
	if len(args) == 0 {
		return nil, usagef("reproduce: want one study or more: %s", strings.Join(names, ", "))
	}
	for i, name := range args {
		if !slices.Contains(names, name) {
			return nil, usagef("reproduce: no study %q; %s", name, nearest.Suggestion(name, names, ""))
		}
		if name == "steps" && f.suite == "hard" {
			asked[i] = "steps-hard"
		}
	}
	switch {
	case !slices.Contains(suites, f.suite):
		return nil, usagef("--suite %q: want one of %s", f.suite, strings.Join(suites, ", "))
	case f.suite == "hard" && !slices.Contains(asked, "steps-hard"):
		return nil, usagef("--suite hard: it is one of steps, which is not asked for")
	case len(f.only) > 0 && !slices.Equal(asked, []string{"steps-hard"}):
		return nil, usagef("--only: it goes with steps --suite hard and no other study")
	}
	return asked, nil
}

// only measures single problems of the hard suite and prints what was found.
func (a *app) only(f *reproduceFlags) error {
	all, tables, err := study.HardProblems(a.ctx, f.only, f.threads)
	if err != nil {
		if a.ctx.Err() != nil {
			return a.ctx.Err()
		}
		return usagef("--only: %v", err)
	}
	var text strings.Builder
	for _, t := range tables {
		text.WriteString(t.Table.Text())
	}
	return a.print(f.json, all, text.String())
}

// testScale is a scale that only tests may ask for.
var testScale study.Scale

func (a *app) reproduce(f *reproduceFlags, args []string) error {
	args, err := f.named(args)
	if err != nil {
		return err
	}
	if len(f.only) > 0 {
		return a.only(f)
	}
	studies := study.Named(args)
	settings, err := f.settings()
	if err != nil {
		return err
	}
	if err := settings.Validate(); err != nil {
		return err
	}
	a.tellTaken(f, settings)
	if f.kept {
		return a.showKept(f, studies, settings)
	}
	if err := study.Possible(studies, settings); err != nil {
		return usagef("reproduce %s: %v", strings.Join(args, " "), err)
	}
	folder, err := study.OpenFolder(f.out)
	var taken *runfolder.NotEmptyError
	if errors.As(err, &taken) {
		return usagef("--out %s: the folder holds other things, such as %s; name a new one, or one that reproduce made",
			taken.Dir, taken.Holds)
	}
	if err != nil {
		return err
	}
	defer folder.Close()
	plan, err := study.PlanOf(studies, settings, folder)
	if err != nil {
		return err
	}
	takes := time.Duration(plan.Seconds * float64(time.Second)).Round(time.Second)
	a.say("%d parts, %d of them kept from before; about %s on two idle cores", plan.Parts, plan.Kept, takes)
	o, err := study.Run(a.ctx, studies, settings, folder, func(p study.Progress) {
		if p.Part != "" {
			a.say("[%d/%d] %s; about %s left", p.Done+1, plan.Parts, p.Part, p.Left.Round(time.Second))
		}
	})
	if err != nil {
		if a.ctx.Err() != nil {
			return fmt.Errorf("interrupted; the same command goes on with what is kept in %s", f.out)
		}
		return err
	}
	return a.printStudy(f, o)
}

// showKept tells of what an earlier run measured.
func (a *app) showKept(f *reproduceFlags, studies []*study.Study, settings study.Settings) error {
	folder, err := study.OpenKept(f.out)
	if err != nil {
		return usagef("--kept: --out %s is no folder that reproduce made: %v", f.out, err)
	}
	o, err := study.Show(studies, settings, folder)
	if err != nil {
		return err
	}
	if len(o.Studies) == 0 {
		return usagef("--kept: nothing of it was measured in %s yet: %s", f.out, strings.Join(o.NotRun, "; "))
	}
	return a.printStudy(f, o)
}

// printStudy prints what was found.
func (a *app) printStudy(f *reproduceFlags, o *study.Outcome) error {
	for _, reason := range o.NotRun {
		a.say("lab: note: not run: %s", reason)
	}
	page, err := filepath.Abs(o.Page)
	if err != nil {
		return err
	}
	var tables strings.Builder
	for _, t := range o.Printed() {
		fmt.Fprintf(&tables, "%s\n%s\n", t.Caption, t.Table.Text())
	}
	fmt.Fprintf(&tables, "%s\n%.0f s; page: %s", study.ClaimsTable(o.Claims).Text(), o.Seconds, page)
	return a.print(f.json, o, tables.String())
}
