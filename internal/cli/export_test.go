package cli

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// LineEvery is the time between lines of progress, for tests that do not wait as long as people do.
var LineEvery = &lineEvery

// Root returns the whole command, to read its verbs and options.
func Root() *cobra.Command {
	a := &app{ctx: context.Background(), stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard}
	return a.command()
}

// UsualOptions returns the names of the options that --help shows of a verb that has many.
func UsualOptions(verb string) []string { return usualOptions[verb] }

// The annotation of what is read, and the help of --force.
const (
	ReadsAnnotation = readsAnnotation
	ForceHelp       = forceHelp
)
