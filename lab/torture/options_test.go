//go:build linux

package torture

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/cli"
	"github.com/blockbp/blockbp/internal/oracle"
)

// printed is what the command prints.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := cli.Run(t.Context(), args, strings.NewReader(""), &stdout, &stderr); code != 0 {
		t.Fatalf("%v: exit code %d: %s", args, code, &stderr)
	}
	return stdout.String()
}

// verbs are those that blockbp --help lists.
func verbs(t *testing.T) (all []string) {
	t.Helper()
	for _, line := range regexp.MustCompile(`(?m)^  ([a-z]+) {2,}`).FindAllStringSubmatch(printed(t, "--help"), -1) {
		all = append(all, line[1])
	}
	if len(all) < 12 {
		t.Fatalf("blockbp --help lists %q: the expression is out of date", all)
	}
	return all
}

// TestAsksForOptions: attacks ask for no option that no command has. Three are of mpirun.
func TestAsksForOptions(t *testing.T) {
	known := map[string]bool{"--help-all": true, "--bind-to": true, "--oversubscribe": true, "--mca": true}
	option := regexp.MustCompile(`--[a-z][a-z0-9-]*`)
	for _, verb := range verbs(t) {
		for _, name := range option.FindAllString(printed(t, verb, "--help-all"), -1) {
			known[name] = true
		}
	}
	files := oracle.Must(filepath.Glob("*.go"))(t)
	asked := 0
	for _, file := range files {
		text := oracle.Must(os.ReadFile(file))(t)
		for _, name := range option.FindAllString(string(text), -1) {
			if asked++; !known[name] {
				t.Errorf("%s: no command has an option %s", file, name)
			}
		}
	}
	if asked < 50 {
		t.Errorf("%d options found in %d files: the expression is out of date", asked, len(files))
	}
}

// TestInterruptsVerbs: the attack with Ctrl-C has a command of every verb that works.
func TestInterruptsVerbs(t *testing.T) {
	attack := oracle.Must(os.ReadFile("cancels_test.go"))(t)
	for _, verb := range verbs(t) {
		if !slices.Contains([]string{"completion", "help", "version"}, verb) && !strings.Contains(string(attack), `"`+verb+" ") {
			t.Errorf("cancels_test.go has no command of %s: add one", verb)
		}
	}
}
