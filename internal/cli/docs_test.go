package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/blockbp/blockbp/internal/cli"
	"github.com/blockbp/blockbp/internal/oracle"
)

// generatedMark is above what TestOptionTables writes of docs/reference/cli.md.
const generatedMark = "<!-- From here on the page is what the help says: go test ./internal/cli -run OptionTables " +
	"-update -->\n"

// TestOptionTables holds docs/reference/cli.md against the help of the program. Write the page anew with
// go test ./internal/cli -run OptionTables -update.
func TestOptionTables(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "reference", "cli.md")
	before := readFile(t, file)
	head, _, ok := strings.Cut(before, generatedMark)
	if !ok {
		t.Fatalf("%s has no line %s", file, generatedMark)
	}
	var page strings.Builder
	page.WriteString(head + generatedMark)
	explained := map[string]bool{} // items, which stand under the first verb that has them
	for _, verb := range cli.Root().Commands() {
		if !verb.IsAvailableCommand() || verb.Name() == "help" {
			continue
		}
		fmt.Fprintf(&page, "\n## %s\n\n%s: `blockbp %s`.\n", verb.Name(), verb.Short, strings.TrimSuffix(verb.Use, " [flags]"))
		var items strings.Builder
		for _, f := range cli.UsualOptions(verb.Name()) {
			if item := itemOf(verb.Flags().Lookup(f)); !everywhere[f] && !explained[item] {
				items.WriteString(item)
				explained[item] = true
			}
		}
		if items.Len() > 0 {
			page.WriteString("\n" + items.String())
		}
	}
	after := page.String()
	if *update {
		oracle.OK(t, os.WriteFile(file, []byte(after), 0o644))
	} else if difference := cmp.Diff(before, after); difference != "" {
		t.Errorf("%s is not what the help says; run this test with -update (-page +program):\n%s", file, difference)
	}
}

// everywhere are the options that the page explains once for all verbs.
var everywhere = map[string]bool{"out": true, "model": true, "seed": true, "json": true, "threads": true}

// itemOf writes an option as an item of a list.
func itemOf(f *pflag.Flag) string {
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	_, usage := pflag.UnquoteUsage(f)
	switch f.DefValue {
	case "", "0", "false", "[]", "0s":
	default:
		usage += fmt.Sprintf(" (default %s)", f.DefValue)
	}
	return fmt.Sprintf("* `%s`: %s\n", name, strings.NewReplacer("|", `\|`, "<", `\<`, "*", `\*`).Replace(usage))
}
