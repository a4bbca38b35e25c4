package cli

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// serveRequest is one command for a process that stays: its arguments, without the program's name, and the folder
// that it runs in.
type serveRequest struct {
	Arguments []string `json:"arguments"`
	Folder    string   `json:"folder"`
}

// servedEvent is the last event of a request: the exit code of its command.
type servedEvent struct {
	Ended int `json:"ended"`
}

// servedOutput is the file in the folder of a request that has what its command prints.
const servedOutput = "stdout"

// tidyAfter is how long no request comes before memory goes back to the system.
const tidyAfter = time.Second

// serveCommand is hidden: the Python package starts it, where the start of a process would take longer than the work.
func (a *app) serveCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "serve",
		Short:  "Run one command after the other for another program, which writes a line of JSON for each",
		Hidden: true,
		Args:   noArguments,
		RunE:   func(*cobra.Command, []string) error { return a.serve() },
	}
}

// serve runs requests, one after the other, until standard input ends. Events of each go to standard error, as those
// of a command of its own do.
func (a *app) serve() error {
	if a.events == nil {
		return usagef("serve: it is for programs, which set %s=json", progressVariable)
	}
	home, err := os.Getwd()
	if err != nil {
		return err
	}
	tidy := time.AfterFunc(tidyAfter, debug.FreeOSMemory)
	defer tidy.Stop()
	for requests := json.NewDecoder(a.stdin); ; {
		var request serveRequest
		if err := requests.Decode(&request); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return usagef("serve: a request is no object of arguments and folder: %v", err)
		}
		tidy.Stop()
		code, err := a.answer(request, home)
		if err != nil {
			return err
		}
		a.events.send(servedEvent{code})
		tidy.Reset(tidyAfter)
	}
}

// answer runs one command in its folder, and returns to that of this process, so that the other can be removed.
func (a *app) answer(request serveRequest, home string) (code int, err error) {
	if err := os.Chdir(request.Folder); err != nil {
		return 0, err
	}
	defer func() {
		if back := os.Chdir(home); err == nil {
			err = back
		}
	}()
	stdout, err := os.Create(servedOutput)
	if err != nil {
		return 0, err
	}
	code = Run(a.ctx, request.Arguments, strings.NewReader(""), stdout, a.events.to)
	return code, stdout.Close()
}
