package cli

import (
	_ "embed"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// release is the version of this source, for programs that were not built from a
// module version, as go install PATH@VERSION does.
const release = "v0.1.0"

// notices are the licences of all that is linked into the program, as make licences writes them.
//
//go:embed notices.txt
var notices string

// build says what the program was built from.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`   // empty if it is not known
	Modified bool   `json:"modified"` // the source differed from the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// readBuild asks the program itself. What was built between releases counts as the release that its source prepares.
func readBuild() build {
	b := build{Version: release, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; strings.HasPrefix(v, "v") && !strings.HasPrefix(v, "v0.0.0-") {
		b.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// String is the version, with the commit where it is known.
func (b build) String() string {
	if b.Commit == "" {
		return b.Version
	}
	commit := b.Commit[:min(12, len(b.Commit))]
	if b.Modified {
		commit += ", modified"
	}
	return fmt.Sprintf("%s (%s)", b.Version, commit)
}

// version names the program in reports and messages.
func version() string { return readBuild().String() }

func (a *app) versionCommand() *cobra.Command {
	asJSON, licences := false, false
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of blockbp and what it was built with",
		Example: "  blockbp version --json\n  blockbp version --licences",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if licences && asJSON {
				return usagef("version: --licences prints texts as they are; leave --json out")
			}
			if licences {
				_, err := io.WriteString(a.stdout, notices)
				return err
			}
			b := readBuild()
			return a.print(asJSON, b, "blockbp %s, %s %s\n", b, b.Go, b.Platform)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as one JSON object")
	cmd.Flags().BoolVar(&licences, "licences", false, "print the licences of all that is linked into blockbp")
	return cmd
}
