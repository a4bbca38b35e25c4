package cli

import (
	_ "embed" // of help
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpText says, behind the names of verbs, what they do.
//
//go:embed help.txt
var helpText string

// Help lists verbs in the order in which they are used.
func init() { cobra.EnableCommandSorting = false }

// verbGroup is a group of verbs in blockbp --help.
type verbGroup struct {
	title string
	verbs []*cobra.Command
}

// addVerbs gives root its verbs, in groups.
func (a *app) addVerbs(root *cobra.Command, groups []verbGroup) {
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, verb := range g.verbs {
			verb.GroupID = g.title
			if _, text, there := strings.Cut(helpText, "\n== "+verb.Name()+"\n"); there {
				text, _, _ = strings.Cut(text, "\n== ")
				verb.Long, verb.Example, _ = strings.Cut(strings.TrimRight(text, "\n"), "\n\nExamples:\n")
			}
			readDecimal(verb.Flags())
			a.explainOptions(verb)
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
	{"Data", []string{"kind", "states", "columns", "observed", "hops", "no-bias", "untied", "directed",
		"min-count", "sample-weights", "lattice"}},
	{"Images", []string{"list", "features", "labels", "neighbours", "superpixels", "edge-features", "bins"}},
	{"Model and objective", []string{"model", "select-edges", "statistics", "errors", "prior", "l2", "standardise",
		"scale", "counting", "no-edges", "edges", "class-weights", "loss", "epsilon", "init"}},
	{"Method and steps", []string{"method", "step", "order", "inner-sweeps", "inner-tol", "seed", "memory",
		"spill"}},
	{"Threads and processes", []string{"threads", "mpi", "stall"}},
	{"Blocks", []string{"blocks", "partition", "together"}},
	{"When to stop", []string{"rtol", "tol", "gap", "max-passes", "max-iter", "max-time", "early-stop",
		"require-convergence"}},
	{"Evaluation while training", []string{"eval", "eval-every", "reference"}},
	{"Output", []string{"out", "force", "report", "plots", "proof", "dry-run", "json", "quiet", "help"}},
	{"Resume", []string{"resume", "checkpoint", "checkpoint-every"}},
}

// usualOptions are those that --help shows of a verb, in the order in which one needs them; --help-all shows all.
// A verb that is not here has few, and shows them all.
var usualOptions = map[string][]string{
	"train": {"out", "list", "observed", "no-edges", "counting", "prior", "l2", "method", "eval", "max-time", "max-passes",
		"resume", "threads", "dry-run"},
	"predict": {"model", "out", "list", "observed", "clamp", "decode", "cost", "threads"},
	"eval":    {"model", "out", "list", "observed", "split", "cost"},
	"infer":   {"task", "method", "counting", "evidence", "intervals", "out", "seed", "json"},
	"sample":  {"out", "model", "evidence", "sampler", "samples", "seed"},
	"check":   {"model", "list", "json"},
	"info":    {"weights", "list", "json"},
}

// helpAll asks for the help of a verb with all of its options.
const helpAll = "--help-all"

// of returns the options of a group as the help of a verb explains them.
func (g flagGroup) of(c *cobra.Command) string {
	flags := pflag.NewFlagSet(g.title, pflag.ContinueOnError)
	flags.SortFlags = false
	for _, name := range g.names {
		flags.AddFlag(c.Flags().Lookup(name))
	}
	return "\n" + g.title + ":\n" + flags.FlagUsages()
}

// explainOptions makes the help of a verb list its usual options, or all.
func (a *app) explainOptions(verb *cobra.Command) {
	verb.SetUsageFunc(func(c *cobra.Command) error {
		c.InitDefaultHelpFlag()
		out, usual := c.OutOrStderr(), usualOptions[c.Name()]
		fmt.Fprintf(out, "Usage:\n  %s\n", c.UseLine())
		if c.Example != "" {
			fmt.Fprintf(out, "\nExamples:\n%s\n", c.Example)
		}
		switch {
		case usual != nil && !a.allOptions:
			fmt.Fprintf(out, "%s\n%s %s lists all options.\n", flagGroup{"Usual options", usual}.of(c), c.CommandPath(), helpAll)
		case c.Name() == "train":
			for _, g := range trainGroups {
				fmt.Fprint(out, g.of(c))
			}
		default:
			fmt.Fprintf(out, "\nOptions:\n%s", c.Flags().FlagUsages())
		}
		return nil
	})
}
