package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestTortureAsksForOptions: attacks of package torture ask for no option that no command has.
func TestTortureAsksForOptions(t *testing.T) {
	known, option := map[string]bool{}, regexp.MustCompile(`--[a-z][a-z0-9-]*`)
	verbs := []string{
		"train", "predict", "infer", "sample", "eval", "compare", "version", "partition", "generate", "bench",
	}
	for _, command := range verbs {
		for _, name := range option.FindAllString(mustRun(t, command, "--help").stdout, -1) {
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
