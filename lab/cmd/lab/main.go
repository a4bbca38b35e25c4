// Command lab runs the paper's study again:
//
//	go run -C lab ./cmd/lab reproduce all -o study
//
// What else the laboratory has are tests and benchmarks: go test -C lab ./...
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

	"github.com/blockbp/blockbp/internal/memory"
	"github.com/blockbp/blockbp/internal/printable"
)

func main() {
	memory.KeepHeapTight()
	leaveOwnFolder()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second Ctrl-C ends the program at once
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// moduleFolder is that of the laboratory's module; "": the program was not started there.
var moduleFolder string

// leaveOwnFolder goes back to the folder in which the command was typed: "go run -C lab"
// starts the program in the folder of its module, but leaves PWD as it was, and whoever
// writes "-o study" means a folder beside them.
func leaveOwnFolder() {
	if _, err := os.Stat("cmd/lab/main.go"); err != nil {
		return
	}
	moduleFolder, _ = os.Getwd()
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
		Use: "lab", Short: "Run the paper's study of block belief propagation again",
		SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.AddCommand(a.reproduceCommand())
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
