package cli_test

import (
	"path/filepath"
	"strings"
	"testing"
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
		`threads = 0`, `l2 = nan`, `blocks = "4x"`, `counting = "bete"`, `step = "fixed:-1"`, `max-time = "-3s"`, `eval = ["dev=none"]`,
		`early-stop = "accuracy@dev"`, `class-weights = "zebra=2"`, `states = ["3"]`, `features = "none"`, `init = "none"`, `methd = "bbpl"`,
		`force = true`, `l2 = [1, 2]`, `l2.a = 1`, `l2 =`, `"rtol" = 2`,
	} {
		refused(line, "")
	}
	refused("blocks = [", "1,\n2]\n", "blocks")

	// The command line wins, and then it is at fault.
	file := writeFile(t, filepath.Join(t.TempDir(), "train.toml"), "l2 = -1\n")
	o := run(t, "train", gridData(t), "--config", file, "--l2", "-2")
	o.wantFailure(t, 2, "--l2 -2")
	if strings.Contains(o.stderr, file) {
		t.Errorf("the file is named for an option of the command line: %q", o.stderr)
	}
}
