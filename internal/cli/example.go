package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/synthetic"
)

// exampleFlags are the options of example.
type exampleFlags struct {
	out  string
	seed uint64
	json bool
}

func (a *app) exampleCommand() *cobra.Command {
	var f exampleFlags
	about := ""
	for _, k := range synthetic.Kinds {
		about += fmt.Sprintf("  %-10s %s\n", k.Name, k.About)
	}
	cmd := &cobra.Command{
		Use:   "example KIND -o OUT [flags]",
		Short: "Make a small data set of any kind to try blockbp on",
		Long: `Makes a small data set from a seed, and prints the commands to run on it next.
OUT is the folder to make; for a network it is a file.

Kinds:
` + strings.TrimSuffix(about, "\n"),
		Example:   "  blockbp example images -o landscapes\n  blockbp example network -o net.uai",
		ValidArgs: synthetic.Names(),
		RunE:      func(cmd *cobra.Command, args []string) error { return a.example(&f, args) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "out", "o", "", "folder to make, or file of a network")
	a.writes(cmd, func(_ string, args []string) outputKind {
		if i := kindNamed(args); i >= 0 && synthetic.Kinds[i].File {
			return outputFile
		}
		return outputFolder
	})
	forceable(cmd, forceHelp)
	fl.Uint64Var(&f.seed, "seed", 1, "seed of everything drawn")
	fl.BoolVar(&f.json, "json", false, "print the result as one JSON object")
	return cmd
}

func (a *app) example(f *exampleFlags, args []string) error {
	if f.out == "" || len(args) != 1 {
		return usagef("example: want blockbp example KIND -o OUT, where KIND is %s", strings.Join(synthetic.Names(), ", "))
	}
	i := kindNamed(args)
	if i < 0 {
		return usagef("example: unknown kind %q; %s", args[0], option.Suggestion(args[0], synthetic.Names(), ""))
	}
	kind := &synthetic.Kinds[i]
	var replace func(string) error
	if a.files.force {
		replace = a.files.mayReplace
	}
	if err := kind.Write(f.out, f.seed, replace); err != nil {
		return err
	}
	next := kind.Next(f.out)
	text := strings.ReplaceAll("\n"+string(linesOf(next)), "\n", "\n  ")
	return a.print(f.json, struct {
		Kind string   `json:"kind"`
		Out  string   `json:"out"`
		Seed uint64   `json:"seed"`
		Next []string `json:"next"`
	}{kind.Name, f.out, f.seed, next}, "%s: %s.\nRun next:%s\n", f.out, kind.About, lines(strings.TrimRight(text, "\n ")))
}

// kindNamed is the number of the kind that the one argument names, or −1.
func kindNamed(args []string) int {
	if len(args) != 1 {
		return -1
	}
	return slices.Index(synthetic.Names(), args[0])
}
