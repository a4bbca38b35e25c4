package cli_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// metricsPage says what results are made of.
var metricsPage = filepath.Join("..", "..", "docs", "reference", "metrics.md")

// TestDocumentedKeys holds the lists of docs/reference/metrics.md that explain keys against what runs write.
func TestDocumentedKeys(t *testing.T) {
	t.Parallel()
	data, folder := gridData(t), filepath.Join(t.TempDir(), "run")
	result := mustRun(t, "train", data, "-o", folder, "--l2", "1", "--max-passes", "60",
		"--eval", "same="+data, "--reference", gridRun(t), noReport, "-q", "--json").object(t)
	result["choice"] = nil // where labels are hidden
	records := map[string]any{}
	for line := range strings.Lines(readFile(t, folder, "metrics.jsonl")) {
		var record map[string]any
		oracle.OK(t, json.Unmarshal([]byte(line), &record))
		for key := range record {
			if strings.HasPrefix(key, "eval.") {
				key = "eval.SET.MEASURE"
			}
			records[key] = nil
		}
	}
	evaluation := mustRun(t, "eval", data, "-m", gridRun(t), "-q", "--json").object(t)["models"].([]any)[0].(map[string]any)
	delete(evaluation, "model")
	delete(evaluation, "decode")
	delete(evaluation, "nodes")
	page := readFile(t, metricsPage)
	for title, keys := range map[string]map[string]any{"Records of a run": records, "Results of training": result, "Measures of an evaluation": evaluation} {
		_, section, _ := strings.Cut(page, "\n## "+title+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		if difference := cmp.Diff(slices.Sorted(maps.Keys(keys)), keysIn(section)); difference != "" {
			t.Errorf("%s: keys under %q (-program +page):\n%s", metricsPage, title, difference)
		}
	}
}

// keysIn lists what is in backticks at the beginning of items, up to a colon.
func keysIn(text string) []string {
	var keys []string
	for line := range strings.Lines(text) {
		if names, _, ok := strings.Cut(line, "`: "); ok && strings.HasPrefix(line, "* `") {
			for _, match := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(names+"`", -1) {
				keys = append(keys, match[1])
			}
		}
	}
	slices.Sort(keys)
	return keys
}

// TestKeysOfVerbs holds the keys of --json against testdata/golden/keys.txt, as small runs print them. Write it anew
// with go test ./internal/cli -run KeysOfVerbs -update, and say in CHANGELOG.md what has changed.
func TestKeysOfVerbs(t *testing.T) {
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	data, trained := gridData(t), gridRun(t)
	mustRun(t, "example", "network", "-o", in("net.uai"))
	list := ""
	for _, row := range []struct {
		name string
		runs [][]string
	}{
		{"train --dry-run", [][]string{{"train", data, "--dry-run"}}},
		{"predict", [][]string{{"predict", data, "-m", trained, "-o", in("predicted"), "--decode", "map", "-q"}}},
		{"infer", [][]string{{"infer", in("net.uai"), "--task", "MAR", "--memory", "30KiB"}, {"infer", in("net.uai"), "--counting", "bethe"}}},
		{"infer --method exact", [][]string{{"infer", in("net.uai"), "--method", "exact"}}},
		{"infer --task MPE", [][]string{{"infer", in("net.uai"), "--task", "MPE"}}},
		{"sample", [][]string{{"sample", in("net.uai"), "-o", in("samples.npz"), "--samples", "40", "--sampler", "gibbs", "-q"}}},
		{"info MODEL", [][]string{{"info", trained}}},
		{"info DATA", [][]string{{"info", data}}},
		{"info NETWORK", [][]string{{"info", in("net.uai")}}},
		{"check", [][]string{{"check", data}}},
	} {
		var keys []string
		for _, args := range row.runs {
			keys = mergeKeys(keys, mustRun(t, append(args, "--json")...).object(t))
		}
		if strings.HasPrefix(row.name, "infer --method") {
			keys = slices.DeleteFunc(keys, func(key string) bool { return strings.Contains(lineOf(list, "infer"), key) })
		}
		list += fmt.Sprintf("* `%s`: %s\n", row.name, strings.Join(keys, ", "))
	}
	file := filepath.Join("testdata", "golden", "keys.txt")
	if *update {
		oracle.OK(t, os.WriteFile(file, []byte(list), 0o644))
	}
	if difference := cmp.Diff(readFile(t, file), list); difference != "" {
		t.Errorf("the keys in %s are not those of the program; run this test with -update (-file +program):\n%s", file,
			difference)
	}
}

// lineOf returns the item of a list that begins with a name.
func lineOf(list, name string) string {
	_, row, _ := strings.Cut(list, "* `"+name+"`:")
	row, _, _ = strings.Cut(row, "\n")
	return row
}

// mergeKeys appends the keys of an object that are not there yet, with those of objects in its lists in brackets.
func mergeKeys(keys []string, object map[string]any) []string {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		text, nested := "`"+name+"`", map[string]any{}
		if list, ok := object[name].([]any); ok {
			for _, item := range list {
				if fields, ok := item.(map[string]any); ok {
					maps.Copy(nested, fields)
				}
			}
		}
		if len(nested) > 0 {
			text += " (`" + strings.Join(slices.Sorted(maps.Keys(nested)), "`, `") + "`)"
		}
		if !slices.Contains(keys, text) {
			keys = append(keys, text)
		}
	}
	return keys
}
