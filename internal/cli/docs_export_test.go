package cli

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Root returns the whole command, to read its verbs and options.
func Root() *cobra.Command {
	a := &app{ctx: context.Background(), stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard}
	return a.command()
}

// DataOptions returns the options that say how data are read.
func DataOptions() *pflag.FlagSet {
	f := pflag.NewFlagSet("data", pflag.ContinueOnError)
	new(dataFlags).register(f)
	return f
}

// Group is a group of options in the help of a verb.
type Group struct {
	Title   string
	Options []string
}

// TrainGroups returns the groups of the options of train.
func TrainGroups() []Group {
	var groups []Group
	for _, g := range trainGroups {
		groups = append(groups, Group{g.title, g.names})
	}
	return groups
}
