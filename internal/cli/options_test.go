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
	"github.com/blockbp/blockbp/internal/oracle"
)

// TestEveryOptionHasWords: the table of options has all those of the command.
func TestEveryOptionHasWords(t *testing.T) {
	for _, verb := range (&app{}).command().Commands() {
		verb.InitDefaultHelpFlag()
		verb.Flags().VisitAll(func(f *pflag.Flag) {
			oracle.Equal(t, option.Command("{"+f.Name+"}"), "--"+f.Name,
				"package option does not have --%s of %s", f.Name, verb.Name())
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
				name := "{" + strings.Trim(found, "{}=!") + "}"
				if option.Command(name) == name && !strings.Contains("{place} {instance} {note}", name) {
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

// TestTrainGroups: the help of train has every option in exactly one group.
func TestTrainGroups(t *testing.T) {
	groupOf := map[string]string{}
	for _, g := range trainGroups {
		for _, name := range g.names {
			if other, twice := groupOf[name]; twice {
				t.Errorf("--%s is in the groups %q and %q", name, other, g.title)
			}
			groupOf[name] = g.title
		}
	}
	cmd := (&app{}).trainCommand()
	cmd.InitDefaultHelpFlag()
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if groupOf[f.Name] == "" {
			t.Errorf("--%s of train is in no group of helpgroups.go", f.Name)
		}
		delete(groupOf, f.Name)
	})
	for name, title := range groupOf {
		t.Errorf("train has no option --%s, which group %q lists", name, title)
	}
}

// TestNumbersAreDecimal: pflag alone reads 010 as 8, and knows 0x10 and 1_0.
func TestNumbersAreDecimal(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"int", "010", "10"}, {"int", "-007", "-7"}, {"int", "+5", "5"}, {"int", "0", "0"}, {"int", "000", "0"}, {"int", "9", "9"},
		{"int", "0x10", ""}, {"int", "1_0", ""}, {"int", "0b1", ""}, {"int", "0o7", ""}, {"int", "", ""}, {"int", "-", ""}, {"int", "1e3", ""}, {"int", "1.5", ""},
		{"positive", "010", "10"}, {"positive", "0x10", ""}, {"positive", "00", ""},
		{"uint64", "0018446744073709551615", "18446744073709551615"}, {"uint64", "-1", ""}, {"uint64", "0x1", ""},
		{"float64", "010", "10"}, {"float64", "1e-3", "0.001"}, {"float64", ".5", "0.5"},
		{"float64", "0x1p-3", ""}, {"float64", "1_0", ""}, {"float64", "inf", ""}, {"float64", "nan", ""}, {"float64", "", ""},
	} {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		flags.Int("int", 1, "")
		flags.Int("positive", 1, "")
		flags.Uint64("uint64", 1, "")
		flags.Float64("float64", 1, "")
		refuseZero(flags, "positive")
		readDecimal(flags)
		err := flags.Set(c.name, c.text)
		if got := flags.Lookup(c.name).Value.String(); c.want == "" && err == nil || c.want != "" && (err != nil || got != c.want) {
			t.Errorf("--%s %q: %s, %v, want %q", c.name, c.text, got, err, c.want)
		}
	}
}

func TestParseSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"1": 1, "4096": 4096, "1KiB": 1024, "1kb": 1000, "2GiB": 2 << 30, "1.5 GiB": 3 << 29, "40gib": 40 << 30, "3MB": 3e6, "7B": 7, "1e3": 1000,
		"": 0, "0": 0, "-1": 0, "x": 0, "GiB": 0, "1 parsec": 0, "1G": 0, "NaN": 0, "Inf": 0, "0x10": 0, "1_0": 0, "1e30": 0, "0.5": 0, "9e6TiB": 0, "1 2": 0,
	} {
		got, err := parseSize(text)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("parseSize(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
}
