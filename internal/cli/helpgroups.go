package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// verbGroup is a group of verbs in blockbp --help.
type verbGroup struct {
	title string
	verbs []*cobra.Command
}

// addVerbs gives root its verbs, in groups.
func addVerbs(root *cobra.Command, groups []verbGroup) {
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, verb := range g.verbs {
			verb.GroupID = g.title
			readDecimal(verb.Flags())
			root.AddCommand(verb)
		}
	}
}

// flagGroup is a group of options in the help of a verb.
type flagGroup struct {
	title string
	names []string
}

// trainGroups has every option of train once, in the order of its help.
var trainGroups = []flagGroup{
	{"Data", []string{"kind", "states", "columns", "observed", "hops", "no-bias", "untied", "directed", "skip-edges"}},
	{"Images", []string{"list", "features", "layout", "neighbours", "superpixels", "offsets", "edge-maps", "edge-features", "bins"}},
	{"Model and objective", []string{"model", "errors", "prior", "l2", "standardise", "counting", "no-edges", "edges", "class-weights", "init"}},
	{"Method and steps", []string{"method", "step", "order", "pairs", "inner-sweeps", "inner-tol", "seed", "memory", "spill"}},
	{"Threads and processes", []string{"threads", "mpi", "stall"}},
	{"Blocks", []string{"blocks", "partition", "together"}},
	{"When to stop", []string{"rtol", "tol", "gap", "obj-tol", "max-passes", "max-iter", "max-time", "early-stop", "require-convergence"}},
	{"Evaluation while training", []string{"eval", "eval-every", "calibrate", "reference"}},
	{"Output", []string{"out", copyOption, "force", "report", "plots", "dry-run", "json", "quiet", "help"}},
	{"Resume and configure", []string{"resume", "checkpoint", "checkpoint-every", "config"}},
}

// groupFlags makes the help of a verb list its options in groups.
func groupFlags(cmd *cobra.Command, groups []flagGroup) {
	cmd.InitDefaultHelpFlag()
	cmd.SetUsageFunc(func(c *cobra.Command) error {
		out := c.OutOrStderr()
		fmt.Fprintf(out, "Usage:\n  %s\n\nExamples:\n%s\n", c.UseLine(), c.Example)
		for _, g := range groups {
			flags := pflag.NewFlagSet(g.title, pflag.ContinueOnError)
			flags.SortFlags = false
			for _, name := range g.names {
				flags.AddFlag(c.Flags().Lookup(name))
			}
			fmt.Fprintf(out, "\n%s:\n%s", g.title, flags.FlagUsages())
		}
		return nil
	})
}
