// Package cli is the blockbp command: one file per verb, and no arithmetic.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/distributed"
	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/printable"
	"github.com/blockbp/blockbp/internal/runfolder"
)

// app is what every verb needs of the world.
type app struct {
	ctx            context.Context
	stdin          io.Reader
	stdout, stderr io.Writer
	noted          map[string]bool // what note has said
	declared       map[*cobra.Command]func(args []string) *written
	files          *files           // of the command that runs
	opened         []*runfolder.Run // kept for this command until it ends
	sets           []*dataset.Set   // as well
	events         *events          // nil: standard error is for people
	loud           *streams         // of a process that is muted beside another; else nil
	saves          sync.Mutex       // held while an interruption has something to save
	ended          atomic.Bool      // how the command ended was said
	allOptions     bool             // --help-all was given
}

// note says something on standard error that is no failure, once: the same data may be read for several purposes.
func (a *app) note(format string, arguments ...any) {
	text := fmt.Sprintf(format, option.Literals(format, arguments)...)
	if a.noted[text] {
		return
	}
	if a.noted == nil {
		a.noted = map[string]bool{}
	}
	a.noted[text] = true
	if !a.events.send(noteEvent{option.Command(text), option.Parts(text)}) {
		a.say("blockbp: note: %v", option.Message(text, nil))
	}
}

// noArguments refuses arguments of a verb that takes none.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s: takes no arguments, got %q", cmd.Name(), args)
	}
	return nil
}

// noteAll notes each of some texts.
func (a *app) noteAll(texts []string) {
	for _, text := range texts {
		a.note("%s", text)
	}
}

// Run executes the command line args (without the program's name) and returns the exit code. Results go to stdout,
// progress and errors to stderr. When ctx ends, long work is saved and the code is 130.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	return RunPromptly(ctx, args, stdin, stdout, stderr, nil)
}

// grace is how long a command that was interrupted may take to end by itself.
const grace = 700 * time.Millisecond

// endPromptly calls exit if the command has not ended soon after ctx has, unless it is one that
// saves its work: no loop of any verb need ask for the sake of a command whose memory the
// system takes back. Files that are written are left as they were.
func (a *app) endPromptly(exit func(code int)) {
	<-a.ctx.Done()
	time.Sleep(grace)
	a.saves.Lock()
	fileio.Abandon()
	exit(a.end(a.ctx.Err()))
}

// RunPromptly is Run, but that exit is called for a command that goes on after ctx has ended.
func RunPromptly(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer,
	exit func(code int)) (code int) {
	results := &output{w: stdout}
	var told *events
	if os.Getenv(progressVariable) == "json" {
		var stop context.CancelFunc
		ctx, stop = whileParentLives(ctx)
		defer stop()
		told = &events{to: stderr}
	}
	a := &app{ctx: ctx, stdin: stdin, stdout: results, stderr: printable.Writer{To: stderr}, events: told}
	if exit != nil {
		go a.endPromptly(exit)
	}
	if launch, found := distributed.Detect(); found && launch.Rank > 0 {
		a.mute() // beside another process, until refuseTeam knows that each does something of its own
	}
	a.events.send(startEvent{readBuild().Version})
	if i := slices.Index(args, helpAll); i >= 0 {
		args, a.allOptions = slices.Replace(slices.Clone(args), i, i+1, "--help"), true
	}
	root := a.command()
	root.SetArgs(joined(args))
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetIn(stdin)
	defer func() { a.waitForFirst(code) }()
	return a.guard(func() (err error) {
		defer func() {
			for _, run := range a.opened {
				if closeErr := run.Close(); err == nil {
					err = closeErr
				}
			}
			for _, set := range a.sets {
				set.Close()
			}
		}()
		if verb, err := root.ExecuteContextC(ctx); err != nil {
			if verb.Flags().Lookup("memory") != nil {
				err = withMemoryRemedy(err)
			}
			return a.nameInput(err)
		}
		return results.err
	})
}

// guard calls f and reports how it ended. A panic is reported with what a developer needs to know.
func (a *app) guard(f func() error) (code int) {
	defer func() {
		if r := recover(); r != nil {
			a.unmute()
			text := fmt.Sprintf("internal error: %s\n\n%s\nThis is a bug in blockbp, not in your data: please report it with "+
				"the lines above.", printable.Line(fmt.Sprint(r)), debug.Stack())
			if code = exitBug; !a.events.send(errorEvent{text, []option.Part{{Text: text}}, code}) {
				a.say("blockbp: %s", lines(text))
			}
		}
	}()
	return a.end(f())
}

// helpCommand is "blockbp help VERB"; cobra's own succeeds for verbs that do not exist.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [VERB]",
		Short: "Explain a verb and its options",
		RunE: func(cmd *cobra.Command, args []string) error {
			verb, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usagef("unknown command %q; %s (blockbp --help lists all)", args[0], nearestCommand(cmd.Root(), args[0]))
			}
			verb.InitDefaultHelpFlag() // as --help lists it
			return verb.Help()
		},
	}
}

// goneVerb is a verb of before that says what there is now.
func goneVerb(name, now string) *cobra.Command {
	return &cobra.Command{Use: name, Hidden: true, DisableFlagParsing: true, RunE: func(*cobra.Command, []string) error {
		return usagef("%s is no verb any more; %s", name, now)
	}}
}

// output remembers that something could not be written: not all of what writes to it, such as help, looks.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

// end reports what ended the command, if not success, and returns the exit code.
func (a *app) end(err error) (code int) {
	if a.ended.Swap(true) {
		select {} // another goroutine ends the program
	}
	if errors.Is(err, context.Canceled) {
		text := errors.New("interrupted")
		if undone := (*job.Error)(nil); errors.As(err, &undone) { // it says what is kept
			text = undone.Err
		}
		err = &exitError{exitInterrupted, text}
	}
	if err == nil {
		return codeOf(err)
	}
	refers := option.References(err)
	if !a.events.send(errorEvent{option.Command(refers), option.Parts(refers), codeOf(err)}) {
		a.say("blockbp: %v", err)
	}
	return codeOf(err)
}

func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "blockbp",
		Short: "Learn and use pairwise Markov random fields and CRFs by block belief propagation",
		Long: `blockbp trains, predicts, evaluates and explains pairwise Markov random fields
and conditional random fields on any graph, by block belief propagation learning
(Lu, Liu and Huang, AAAI 2019).

Start with: blockbp demo, or blockbp example images -o landscapes
Completion by the tab key: blockbp completion bash --help (or zsh, fish, powershell)`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q; %s (blockbp --help lists all)", args[0], nearestCommand(cmd, args[0]))
			}
			return nil
		},
		RunE:              func(cmd *cobra.Command, args []string) error { return cmd.Help() },
		PersistentPreRunE: a.before,
	}
	help := helpCommand()
	a.addVerbs(root, []verbGroup{
		{"First steps", []*cobra.Command{a.demoCommand(), a.exampleCommand()}},
		{"Learn and predict", []*cobra.Command{a.trainCommand(), a.predictCommand(), a.evalCommand()}},
		{"Networks", []*cobra.Command{a.inferCommand(), a.sampleCommand()}},
		{"Look at data, models and runs", []*cobra.Command{a.checkCommand(), a.infoCommand(), a.watchCommand()}},
		{"About blockbp", []*cobra.Command{a.versionCommand(), help, a.serveCommand()}},
	})
	root.AddCommand(goneVerb("generate", "blockbp example grid makes the paper's grid, and programs others, as .npz"))
	root.AddCommand(goneVerb("compare",
		"blockbp eval DATA -m RUN -m RUN sets models side by side, and watch RUN RUN curves"))
	root.AddCommand(goneVerb("features", "it is part of the Python package: "+
		"pip install blockbp onnxruntime onnx pillow, and python -m blockbp.features PHOTOS --network NET.onnx -o DIR"))
	root.SetHelpCommand(help)
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.HiddenDefaultCmd = true
	return root
}

// before is called before any verb.
func (a *app) before(cmd *cobra.Command, args []string) error {
	if err := a.refuseTeam(cmd); err != nil {
		return err
	}
	return a.openFiles(cmd, args)
}

// flagError says what was wrong with an option, in words of the command: the
// nearest one to a name that does not exist, and what values one can have.
func flagError(cmd *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		invalid *pflag.InvalidValueError
		lacking *pflag.ValueRequiredError
	)
	message := option.Literal(err.Error())
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		name := unknown.GetSpecifiedName()
		message = fmt.Sprintf("unknown option --%s; %s", option.Literal(name),
			cmp.Or(answerTo(cmd, name), otherVerbs(cmd, name), option.Suggestion(name, names, "--")))
	case errors.As(err, &unknown):
		short := "-" + unknown.GetSpecifiedName()
		message = strings.TrimSuffix(fmt.Sprintf("unknown option %s; %s", short, elsewhere[short]), "; ")
	case errors.As(err, &invalid):
		message = fmt.Sprintf("{%s} %q: want %s", invalid.GetFlag().Name, option.Literal(invalid.GetValue()),
			wantedOf(invalid.GetFlag()))
	case errors.As(err, &lacking):
		message = fmt.Sprintf("{%s}: it needs a value", lacking.GetFlag().Name)
	}
	if cmd.HasParent() {
		message = "{!" + cmd.Name() + ": }" + message
	}
	return usagef("%s{! (%s %s lists all options)}", option.Text(message), cmd.CommandPath(), helpAll)
}

var mentioned = regexp.MustCompile(`--[a-z][a-z0-9-]+`)

// answerTo is what elsewhere has for an option, and of which verb where this one lacks what it mentions.
func answerTo(cmd *cobra.Command, name string) string {
	answer := elsewhere[strings.ReplaceAll(name, "_", "-")]
	lacks := func(c *cobra.Command) bool {
		return slices.ContainsFunc(mentioned.FindAllString(answer, -1),
			func(option string) bool { return c.Flags().Lookup(option[2:]) == nil })
	}
	for _, c := range cmd.Root().Commands() {
		if lacks(cmd) && !lacks(c) && c.GroupID != cmd.Root().Groups()[0].ID {
			return "of blockbp " + c.Name() + ": " + answer
		}
	}
	return answer
}

// otherVerbs says which verbs have an option that this one lacks; "": none has it.
func otherVerbs(cmd *cobra.Command, name string) (answer string) {
	for _, c := range cmd.Root().Commands() {
		if c.Flags().Lookup(name) != nil {
			answer += ", blockbp " + c.Name()
		}
	}
	return strings.Replace(answer, ",", "it is an option of", 1)
}

// wantedOf describes the values that a flag can have.
func wantedOf(f *pflag.Flag) string {
	value, above, remedy := f.Value, "", ""
	if v, ok := value.(numberValue); ok {
		if value = v.Value; v.positive {
			above, remedy = " above 0", "{!; leave the option out for the default}"
		}
	}
	if v, ok := value.(optionValue); ok {
		return v.wanted
	}
	switch value.Type() {
	case "bool":
		return "true or false"
	case "int", "int64":
		return "a whole number" + above + remedy
	case "uint64":
		return "a whole number from 0 to 18446744073709551615"
	case "float64":
		return "a number" + above + remedy
	case "duration":
		return "a time with its unit" + strings.Replace(above, " ", ", ", 1) + ", such as 90s, 10m or 2h" + remedy
	case "float64Slice":
		return "numbers separated by commas"
	case "stringSlice":
		return "texts separated by commas"
	}
	return "a text"
}

func nearestCommand(cmd *cobra.Command, name string) string {
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return option.Suggestion(name, names, "")
}

// isTerminal reports whether w shows its output to a person at once.
func isTerminal(w io.Writer) bool {
	f, ok := terminalOf(w).(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
