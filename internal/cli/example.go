package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/blockbp/blockbp/internal/example"
	"github.com/blockbp/blockbp/internal/nearest"
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
	for _, k := range example.Kinds {
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
		ValidArgs: example.Names(),
		RunE:      func(cmd *cobra.Command, args []string) error { return a.example(&f, args) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.out, "out", "o", "", "folder to make, or file of a network")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of everything drawn")
	fl.BoolVar(&f.json, "json", false, "print the result as one JSON object")
	return cmd
}

func (a *app) example(f *exampleFlags, args []string) error {
	if f.out == "" || len(args) != 1 {
		return usagef("example: want blockbp example KIND -o OUT, where KIND is %s", strings.Join(example.Names(), ", "))
	}
	i := slices.Index(example.Names(), args[0])
	if i < 0 {
		return usagef("example: unknown kind %q; %s", args[0], nearest.Suggestion(args[0], example.Names(), ""))
	}
	kind := &example.Kinds[i]
	if err := checkExampleOutput(kind, f.out); err != nil {
		return err
	}
	if err := kind.Write(f.out, f.seed); err != nil {
		return err
	}
	next := kind.Next(f.out)
	return a.print(f.json, struct {
		Kind string   `json:"kind"`
		Out  string   `json:"out"`
		Seed uint64   `json:"seed"`
		Next []string `json:"next"`
	}{kind.Name, f.out, f.seed, next}, "%s: %s.\nRun next:\n  %s\n", f.out, kind.About, strings.Join(next, "\n  "))
}

// checkExampleOutput refuses to write over what is there.
func checkExampleOutput(kind *example.Kind, out string) error {
	if !kind.File {
		return checkOutput(out)
	}
	if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
		return usagef("%s is there already: choose another name for -o, or remove it", out)
	}
	return checkWritable(out)
}
