package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/cli"
)

// TestTortureAsksForOptions: attacks of package torture ask for no option that no command has.
func TestTortureAsksForOptions(t *testing.T) {
	known, option := map[string]bool{}, regexp.MustCompile(`--[a-z][a-z0-9-]*`)
	for _, command := range cli.Root().Commands() {
		for _, name := range option.FindAllString(mustRun(t, command.Name(), "--help").stdout, -1) {
			known[name] = true
		}
	}
	files, err := filepath.Glob("../torture/*.go")
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range option.FindAllString(string(text), -1) {
			if asked++; !known[name] {
				t.Errorf("%s: no command has an option %s", file, name)
			}
		}
	}
	if asked < 100 {
		t.Errorf("%d options found in %d files: the expression is out of date", asked, len(files))
	}
}

// TestTortureInterruptsVerbs: the attack with Ctrl-C has a command of every verb that works.
func TestTortureInterruptsVerbs(t *testing.T) {
	attack := readFile(t, "../torture/cancels.go")
	for _, command := range cli.Root().Commands() {
		verb := command.Name()
		if !slices.Contains([]string{"completion", "help", "version"}, verb) && !strings.Contains(attack, `"`+verb+" ") {
			t.Errorf("internal/torture/cancels.go has no command of %s: add one", verb)
		}
	}
}
