// Package cli is the blockbp command: one file per verb, and no arithmetic.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// app is what every verb needs of the world.
type app struct {
	ctx            context.Context
	stdin          io.Reader
	stdout, stderr io.Writer
}

// Run executes the command line args (without the program's name) and returns
// the exit code. Results go to stdout, progress and errors to stderr. When ctx
// ends, long work is saved and the code is 130.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	a := &app{ctx: ctx, stdin: stdin, stdout: stdout, stderr: stderr}
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(stderr, "blockbp: internal error: %v\n\n%s\nThis is a bug in blockbp, not in your data: please report it with the lines above.\n", r, debug.Stack())
			code = exitBug
		}
	}()
	root := a.command()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetIn(stdin)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	if errors.Is(err, context.Canceled) {
		err = &exitError{exitInterrupted, errors.New("interrupted")}
	}
	if message := err.Error(); message != "" {
		fmt.Fprintf(stderr, "blockbp: %s\n", message)
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

Start with: blockbp demo`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q; %s (blockbp --help lists all)", args[0], nearestCommand(cmd, args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	root.AddCommand(a.demoCommand(), a.trainCommand(), a.predictCommand(), a.evalCommand(), a.inferCommand(),
		a.generateCommand(), a.infoCommand(), a.checkCommand(), a.plotCommand(), a.compareCommand())
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.HiddenDefaultCmd = true
	return root
}

// flagError names the flag nearest to one that does not exist.
func flagError(cmd *cobra.Command, err error) error {
	message := err.Error()
	const unknown = "unknown flag: --"
	if name, ok := strings.CutPrefix(message, unknown); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		message = fmt.Sprintf("unknown option --%s; %s", name, nearestName(name, names, "--"))
	}
	return usagef("%s: %s (blockbp %s --help lists all options)", cmd.Name(), message, cmd.Name())
}

func nearestCommand(cmd *cobra.Command, name string) string {
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return nearestName(name, names, "")
}

// version returns the module version, or the commit, the binary was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return info.Main.Version + " " + s.Value
		}
	}
	return info.Main.Version
}

// isTerminal reports whether w shows its output to a person at once.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
