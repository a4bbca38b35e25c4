// Command lab measures blockbp. It runs the paper's study again, and the speed of
// learning beside what the machine can do:
//
//	go run -C lab ./cmd/lab reproduce all -o study
//	go run -C lab ./cmd/lab bench --quick
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/internal/machine"
	"github.com/blockbp/blockbp/internal/printable"
)

func main() {
	machine.KeepHeapTight()
	leaveOwnFolder()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second Ctrl-C ends the program at once
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// leaveOwnFolder goes back to the folder in which the command was typed: "go run -C lab"
// starts the program in the folder of its module, but leaves PWD as it was, and whoever
// writes "-o study" means a folder beside them.
func leaveOwnFolder() {
	if _, err := os.Stat("cmd/lab/main.go"); err != nil {
		return
	}
	if typedIn := os.Getenv("PWD"); typedIn != "" {
		_ = os.Chdir(typedIn) // where that fails, names are those of the module's folder
	}
}

// Exit codes of the command, as blockbp has them.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// app is what every verb needs of the world.
type app struct {
	ctx            context.Context
	stdout, stderr io.Writer
}

// usageError is a mistake in the command line.
type usageError struct{ error }

// usagef reports a mistake in the command line.
func usagef(format string, a ...any) error { return usageError{fmt.Errorf(format, a...)} }

// run executes the command line, without the program's name, and returns the exit code.
// Results go to stdout, progress and errors to stderr.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (code int) {
	a := &app{ctx, stdout, printable.Writer{To: stderr}}
	root := &cobra.Command{
		Use: "lab", Short: "Run the paper's study again, and measure how fast blockbp learns",
		SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.AddCommand(a.reproduceCommand(), a.benchCommand())
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%s: %v (%s --help lists all options)", cmd.Name(), err, cmd.CommandPath())
	})
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var usage usageError
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		code = exitInterrupted
		if errors.Is(err, context.Canceled) {
			err = errors.New("interrupted")
		}
	case errors.As(err, &usage):
		code = exitUsage
	default:
		code = exitFailed
	}
	a.say("lab: %v", err)
	return code
}

// say writes a line for people on standard error.
func (a *app) say(format string, arguments ...any) {
	fmt.Fprintf(a.stderr, format+"\n", arguments...)
}

// print writes a result: as one JSON object on a line, or as a text for people.
func (a *app) print(asJSON bool, result any, text string) error {
	if asJSON {
		object, err := printable.EncodeResult(result, "")
		if err != nil {
			return err
		}
		text = string(object)
	}
	_, err := fmt.Fprintln(a.stdout, text)
	return err
}
