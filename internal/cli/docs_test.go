package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/blockbp/blockbp/internal/cli"
)

var (
	// optionTable is a table of docs/reference/cli.md between its two marks.
	optionTable = regexp.MustCompile(`(?s)(<!-- options of ([a-z ]+) -->\n).*?(<!-- end -->\n)`)
	// likeEarlier are verbs some of whose options are also those of a verb above them on
	// the page, which explains them.
	likeEarlier = map[string]string{"eval": "predict", "convert": "sample", "info": "train"}
	// saidDefault is the end of a help text that gives the default in words.
	saidDefault = regexp.MustCompile(`^(.*?) *\(default:? ([^()]*)\)$`)
)

// TestOptionTables holds the tables of docs/reference/cli.md against the options of
// the program. Write them anew with go test ./internal/cli -run OptionTables -update.
func TestOptionTables(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "reference", "cli.md")
	before := readFile(t, file)
	tables := map[string]string{"data": tableOf(cli.DataOptions(), nil, "", nil, nil)}
	flags := map[string]*pflag.FlagSet{}
	for _, verb := range cli.Root().Commands() {
		flags[verb.Name()] = verb.Flags()
	}
	for _, verb := range cli.Root().Commands() {
		if verb.IsAvailableCommand() && verb.Name() != "help" {
			verb.InitDefaultHelpFlag()
			var groups []cli.Group
			if verb.Name() == "train" {
				groups = cli.TrainGroups()
			}
			tables[verb.Name()] = tableOf(verb.Flags(), cli.DataOptions(), likeEarlier[verb.Name()], flags[likeEarlier[verb.Name()]], groups)
		}
	}
	found := map[string]bool{}
	after := optionTable.ReplaceAllStringFunc(before, func(old string) string {
		parts := optionTable.FindStringSubmatch(old)
		table, ok := tables[parts[2]]
		if !ok {
			t.Errorf("%s has a table of options of %q, which is no verb", file, parts[2])
		}
		found[parts[2]] = true
		return parts[1] + table + parts[3]
	})
	for verb := range tables {
		if !found[verb] {
			t.Errorf("%s has no table of the options of %s: add a section with the two lines\n<!-- options of %s -->\n<!-- end -->\nand run this test with -update", file, verb, verb)
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if difference := cmp.Diff(before, after); difference != "" {
		t.Errorf("the tables of %s are not those of the program; run this test with -update (-page +program):\n%s", file, difference)
	}
}

// tableOf writes options as a table, in groups if there are any, without those of
// shared and without what is the same everywhere. Those of another verb come first, in
// one row that leads there.
func tableOf(flags, shared *pflag.FlagSet, other string, ofOther *pflag.FlagSet, groups []cli.Group) string {
	if groups == nil {
		groups = []cli.Group{{}}
		flags.VisitAll(func(f *pflag.Flag) { groups[0].Options = append(groups[0].Options, f.Name) })
	}
	var table strings.Builder
	var alike []string
	var only *pflag.Flag // the option of a table of one row
	for _, g := range groups {
		var rows strings.Builder
		for _, name := range g.Options {
			f := flags.Lookup(name)
			switch {
			case f.Hidden || isEverywhere(f) || (shared != nil && isSame(f, shared.Lookup(name))):
			case ofOther != nil && isSame(f, ofOther.Lookup(name)) && f.DefValue == ofOther.Lookup(name).DefValue:
				alike = append(alike, "`--"+name+"`")
			default:
				if only = f; rows.Len()+table.Len() > 0 {
					only = nil
				}
				rows.WriteString(rowOf(f))
			}
		}
		if g.Title != "" && rows.Len() > 0 {
			fmt.Fprintf(&table, "| **%s** | | |\n", g.Title)
		}
		table.WriteString(rows.String())
	}
	if table.Len() == 0 {
		return "No options.\n"
	}
	if only != nil && alike == nil {
		return sentenceOf(only)
	}
	first := ""
	if alike != nil {
		first = fmt.Sprintf("| %s | | as of [%s](#%[2]s) |\n", strings.Join(alike, ", "), other)
	}
	return "| option | default | meaning |\n|---|---|---|\n" + first + table.String()
}

// isEverywhere reports whether the page explains an option once for all verbs.
func isEverywhere(f *pflag.Flag) bool {
	return f.Name == "help" || f.Usage == cli.ForceHelp || f.Name == "json" || f.Name == "quiet" || strings.Contains(f.Usage, "number of threads") || strings.HasPrefix(f.Usage, "most memory to take, in bytes")
}

// rowOf writes an option as a row of a table.
func rowOf(f *pflag.Flag) string {
	name, standard, usage := columnsOf(f)
	return fmt.Sprintf("| `%s` | %s | %s |\n", name, escape(standard), escape(usage))
}

// sentenceOf writes an option that is the only one of its verb.
func sentenceOf(f *pflag.Flag) string {
	name, standard, usage := columnsOf(f)
	if standard != "" {
		usage += " (default: " + standard + ")"
	}
	return fmt.Sprintf("Option `%s`: %s.\n", name, escape(usage))
}

// columnsOf returns what is said of an option.
func columnsOf(f *pflag.Flag) (name, standard, usage string) {
	name = "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	_, usage = pflag.UnquoteUsage(f)
	usage, standard = withoutDefault(f, usage)
	return name, standard, usage
}

// isSame reports whether two options are one: others of the same name mean
// something else.
func isSame(f, g *pflag.Flag) bool { return g != nil && f.Usage == g.Usage }

// withoutDefault takes the default out of a help text, where the text has it.
func withoutDefault(f *pflag.Flag, usage string) (rest, standard string) {
	if parts := saidDefault.FindStringSubmatch(usage); parts != nil {
		return parts[1], parts[2]
	}
	switch {
	case f.Name == "threads":
		return usage, "number of cores" // the one default that depends on the machine
	case f.Value.Type() == "bool" && f.DefValue == "true":
		return usage, "on"
	case f.DefValue == "" || f.DefValue == "0" || f.DefValue == "false" || f.DefValue == "[]" || f.DefValue == "0s":
		return usage, ""
	case f.Value.Type() == "string":
		return usage, "`" + f.DefValue + "`"
	}
	return usage, f.DefValue
}

func escape(text string) string {
	return strings.NewReplacer("|", `\|`, "<", `\<`, "*", `\*`).Replace(text)
}
