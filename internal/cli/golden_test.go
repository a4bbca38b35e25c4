package cli_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blockbp/blockbp/internal/cli"
	"github.com/blockbp/blockbp/internal/oracle"
)

var update = flag.Bool("update", false, "write the golden files anew from what the command prints now")

// threadsDefault is the one default that depends on the machine.
var threadsDefault = regexp.MustCompile(`(--threads int .*\(default) [0-9]+\)`)

// TestGolden holds what people read against testdata/golden: help, and the messages of common mistakes. After a change
// that is meant, look at the difference and run go test ./internal/cli -run Golden -update.
func TestGolden(t *testing.T) {
	cases := map[string][]string{
		"help":             {"--help"},
		"train-help-all":   {"train", "--help-all"},
		"unknown-verb":     {"trian"},
		"unknown-option":   {"train", "data", "--methd", "bbpl"},
		"no-data":          {"train"},
		"zero-tolerance":   {"train", "data", "--tol", "0"},
		"unknown-step":     {"train", "data", "--step", "fixd:1"},
		"unknown-method":   {"train", "data", "--method", "block"},
		"unknown-counting": {"train", "data", "--counting", "convx"},
		"unknown-sampler":  {"sample", "net.uai", "-o", "x.npz", "--sampler", "exat"},
		"unknown-task":     {"infer", "net.uai", "--task", "MMAP"},
	}
	for _, verb := range cli.Root().Commands() {
		if verb.IsAvailableCommand() {
			cases[verb.Name()+"-help"] = []string{verb.Name(), "--help"}
		}
	}
	for name, args := range cases {
		t.Run(name, func(t *testing.T) {
			o := run(t, args...)
			got := threadsDefault.ReplaceAllString(o.command()+"\n--- standard output\n"+o.stdout+"--- standard error\n"+o.stderr, "$1 N)")
			file := filepath.Join("testdata", "golden", name+".txt")
			if *update {
				oracle.OK(t, os.WriteFile(file, []byte(got), 0o644))
			}
			want := oracle.Must(os.ReadFile(file))(t)
			if difference := cmp.Diff(string(want), got); difference != "" {
				t.Errorf("not as in %s (-want +got):\n%s", file, difference)
			}
		})
	}
}
