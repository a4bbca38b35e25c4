package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/runfolder"
	"github.com/blockbp/blockbp/lab/study"
)

// reproduceFlags are the options of reproduce.
type reproduceFlags struct {
	out      string
	scale    string
	settings study.Settings
	only     []string
}

// hard is the name of the suite of package hard, which is a test.
const hard = "steps-hard"

func (a *app) reproduceCommand() *cobra.Command {
	var f reproduceFlags
	cmd := &cobra.Command{
		Use:   "reproduce STUDY... [--scale small|paper] [-o DIR]",
		Short: "Run the paper's empirical study again and hold its claims against the results",
		Long: fmt.Sprintf(`Runs studies of the paper (Lu, Liu and Huang, AAAI 2019, Empirical Study) and
writes their figures (svg, png), numbers (csv, json) and the page study.html, which
shows each figure beside the paper's claim and says whether it held. lab/README.md
tells how everything is measured, and what the paper leaves open.

%s  %-11s Automatic steps on random small problems of all kinds: a test, go test ./hard
  all         every one of them but steps and %[2]s

Parts that are measured are kept in the output folder: an interrupted run goes on
where it stopped, when it is started again. Times are processor time where the system
tells it: other programs hardly change them, but two studies at a time would slow each
other's memory down.`, studyList(), hard),
		Example: "  go run -C lab ./cmd/lab reproduce all -o study\n" +
			"  go run -C lab ./cmd/lab reproduce fig4 theorem1 --seeds 2\n" +
			"  go run -C lab ./cmd/lab reproduce fig4 --scale paper -o paper\n" +
			"  go run -C lab ./cmd/lab reproduce " + hard + " --only 12,40",
		RunE: func(_ *cobra.Command, args []string) error { return a.reproduce(&f, args) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "out", "o", "blockbp-study", "folder to make, or to go on with")
	fl.StringVar(&f.scale, "scale", string(study.Small), "small: minutes, or paper: the paper's sizes, hours")
	fl.StringVar(&f.settings.Data, "data", "", "folder of the Stanford Background data set, for fig5, table1 and fig6")
	fl.StringVar(&f.settings.Features, "features", "",
		"folder with the features of its images (default: features in --data)")
	fl.IntVar(&f.settings.Seeds, "seeds", 0,
		"problems drawn for each size (default: 5 at small scale, 1 at the paper's)")
	fl.IntVar(&f.settings.Threads, "threads", runtime.GOMAXPROCS(0), "searches for steps at a time; timed runs are alone")
	fl.StringSliceVar(&f.only, "only", nil, "problems of "+hard+" to run alone, by number")
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

// testScale is a scale that only tests may ask for.
var testScale study.Scale

// validate quotes the first mistake in the options.
func (f *reproduceFlags) validate(args []string) error {
	s := &f.settings
	s.Scale = study.Scale(f.scale)
	names := append(study.Names(), hard)
	for _, name := range args {
		if !slices.Contains(names, name) {
			return usagef("reproduce: no study %q; %s", name, option.Suggestion(name, names, ""))
		}
	}
	switch {
	case len(args) == 0:
		return usagef("reproduce: want one study or more: %s", strings.Join(names, ", "))
	case slices.Contains(args, hard) != slices.Equal(args, []string{hard}):
		return usagef("reproduce: %s goes alone", hard)
	case len(f.only) > 0 && args[0] != hard:
		return usagef("--only: it goes with %s and no other study", hard)
	case s.Scale != study.Small && s.Scale != study.Paper && (s.Scale != testScale || testScale == ""):
		return usagef("--scale %q: want %s or %s", f.scale, study.Small, study.Paper)
	case s.Threads < 1:
		return usagef("--threads %d: want at least 1", s.Threads)
	case s.Seeds < 0:
		return usagef("--seeds %d: want 0 for the default, or more", s.Seeds)
	case s.Data == "" && s.Features != "":
		return usagef("--features %s: it goes with --data, which is not given", s.Features)
	case f.out == "":
		return usagef("--out: want a folder")
	}
	return s.Validate()
}

func (a *app) reproduce(f *reproduceFlags, args []string) error {
	if err := f.validate(args); err != nil {
		return err
	}
	if args[0] == hard {
		return a.hard(f.only)
	}
	studies := study.Named(args)
	if err := study.Possible(studies, f.settings); err != nil {
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
	o, err := study.Run(a.ctx, studies, f.settings, folder, func(text string) { a.say("%s", text) })
	if err != nil {
		if a.ctx.Err() != nil {
			return fmt.Errorf("interrupted; the same command goes on with what is kept in %s", f.out)
		}
		return err
	}
	for _, reason := range o.NotRun {
		a.say("lab: note: not run: %s", reason)
	}
	page, err := filepath.Abs(o.Page)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s\n%.0f s; page: %s\n", study.ClaimsTable(o.Claims).Text(), o.Seconds, page)
	return err
}

// hard runs the suite of package hard, or single problems of it.
func (a *app) hard(only []string) error {
	problems := "all"
	if len(only) > 0 {
		problems = strings.Join(only, ",")
	}
	if moduleFolder == "" {
		return fmt.Errorf("%s is a test: in a clone, go test -C lab ./hard -run Suite -v -problems %s", hard, problems)
	}
	return goTest(a.ctx, a.stdout, a.stderr, "./hard", "-count", "1", "-timeout", "0", "-run", "^TestSuite$", "-v",
		"-problems", problems)
}

// goTest runs a test of the laboratory's module; tests replace it.
var goTest = func(ctx context.Context, stdout, stderr io.Writer, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test"}, args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = moduleFolder, stdout, stderr
	return cmd.Run()
}
