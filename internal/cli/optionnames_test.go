package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/blockbp/blockbp/internal/option"
)

// TestEveryOptionHasWords: the table of options has all those of the command.
func TestEveryOptionHasWords(t *testing.T) {
	for _, verb := range (&app{}).command().Commands() {
		verb.InitDefaultHelpFlag()
		verb.Flags().VisitAll(func(f *pflag.Flag) {
			if option.Command("{"+f.Name+"}") != "--"+f.Name {
				t.Errorf("package option does not have --%s of %s", f.Name, verb.Name())
			}
		})
	}
}

// TestMessagesReferToOptions: what looks like a reference in any text of the program is one, and below the command
// none is named in the command's words, but in lines to copy and in what only its users are told.
func TestMessagesReferToOptions(t *testing.T) {
	literal, reference := regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"`), regexp.MustCompile(`\{(?:l2|[a-z][a-z-]+)[}=!]`)
	copied, named := regexp.MustCompile(`\{[a-z0-9%-]*![^{}]*\}|\bblockbp .*|"--%s=%v"|"--share:%.2f"|"/pictures/.*`), regexp.MustCompile(`(^|[^-a-z])--[a-z%]`)
	seen := 0
	walk := func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, text := range literal.FindAllString(string(source), -1) {
			for _, found := range reference.FindAllString(strings.ReplaceAll(text, "/{", ""), -1) {
				seen++
				if name := "{" + strings.Trim(found, "{}=!") + "}"; option.Command(name) == name {
					t.Errorf("%s: %s refers to %s, which is no option", path, text, found)
				}
			}
			if !strings.Contains(path, "cli") && named.MatchString(copied.ReplaceAllString(text, "")) {
				t.Errorf("%s: %s names an option in the command's words", path, text)
			}
		}
		return err
	}
	for _, room := range []string{"dataset", "learn", "infer", "crf", "counting", "internal"} {
		if err := filepath.WalkDir(filepath.Join("..", "..", room), walk); err != nil || seen == 0 {
			t.Fatal(err, seen)
		}
	}
}
