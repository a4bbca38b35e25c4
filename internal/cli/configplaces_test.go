package cli_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/blockbp/blockbp/internal/cli"
)

// TestConfigPlaces: whatever is wrong with a value of a file of options, and whenever that
// is found, the message names the file.
func TestConfigPlaces(t *testing.T) {
	t.Parallel()
	refused := func(line, more string, parts ...string) {
		t.Helper()
		file := writeFile(t, filepath.Join(t.TempDir(), "train.toml"), "# options\nrtol = 1e-3\n"+line+"\n"+more)
		args := []string{"train", gridData(t), "--config", file}
		for key, arg := range map[string]string{"out": "--out=" + filepath.Join(t.TempDir(), "run"), "quiet": "--quiet", "report": noReport} {
			if !strings.HasPrefix(line, key) { // or the command line would win
				args = append(args, arg)
			}
		}
		o := run(t, args...)
		o.wantFailure(t, o.code, append(parts, file+":")...)
		if o.code != 1 && o.code != 2 {
			t.Errorf("%q: exit code %d, want 2, or 1 for a file: %q", line, o.code, o.stderr)
		}
	}
	for _, line := range []string{
		`threads = 0`, `threads = -1`, `threads = 10000000`, `l2 = -1`, `l2 = nan`, `l2 = "x"`, `blocks = "4x"`, `blocks = 0`, `partition = "metsi"`, `method = "nonsense"`,
		`counting = "bete"`, `step = "fixd:1"`, `step = "fixed:-1"`, `order = "any"`, `inner-sweeps = -2`, `inner-tol = 0`, `inner-tol = -1.0`, `tol = -1`,
		`max-iter = 0`, `max-iter = -3`, `max-passes = -1`, `max-time = "10"`, `max-time = "-3s"`, `checkpoint-every = "-1s"`, `eval = "dev"`,
		`eval = ["dev=none"]`, `eval-every = 3`, `early-stop = "accuracy"`, `early-stop = "accuracy@dev"`, `class-weights = "zebra=2"`, `class-weights = ""`, `method = ""`,
		`together = -1`, `kind = "npy"`, `states = ["3"]`, `observed = "train"`, `features = "none"`, `list = "none"`, `bins = 3`, `neighbours = 5`, `seed = -1`, `seed = 1.5`,
		`init = "none"`, `reference = "none"`, `model = "none/m.safetensors"`, `pairs = "x"`, `quiet = 3`, `methd = "bbpl"`, `resume = "run"`, `force = true`, `config = "x"`, `help = true`,
		`l2 = [1, 2]`, `l2.a = 1`, `"l2 " = 1`, `l2 =`, `= 1`, `l2 = 1 2`, `l2 = "`, `rtol = 2`, `"rtol" = 2`, "no-such = 1\nmethod = \"nonsense\"",
	} {
		refused(line, "")
	}
	refused(`[l2]`, "a = 1\n")
	refused(`l2 = {a = 1}`, "l2x = 1\n", "l2")
	refused("blocks = [", "1,\n2]\n", "blocks")

	// Every option, with a value that no option has.
	for _, cmd := range cli.Root().Commands() {
		if cmd.Name() == "train" {
			cmd.Flags().VisitAll(func(f *pflag.Flag) { refused(fmt.Sprintf("%s = {a = 1}", f.Name), "", f.Name) })
		}
	}

	// The command line wins, and then it is at fault.
	file := writeFile(t, filepath.Join(t.TempDir(), "train.toml"), "l2 = -1\n")
	o := run(t, "train", gridData(t), "--config", file, "--l2", "-2")
	o.wantFailure(t, 2, "--l2 -2")
	if strings.Contains(o.stderr, file) {
		t.Errorf("the file is named for an option of the command line: %q", o.stderr)
	}
}
