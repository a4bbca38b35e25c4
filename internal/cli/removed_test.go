package cli_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRemovedOptions: who asks for what earlier versions had is told what to do, on the command
// line and in a file of options.
func TestRemovedOptions(t *testing.T) {
	t.Parallel()
	const advice = "all is in double precision: leave it out"
	run(t, "train", gridData(t), "--precision", "f32").wantFailure(t, 2, "--precision", advice)
	file := writeFile(t, filepath.Join(t.TempDir(), "train.toml"), "precision = \"f32\"\n")
	run(t, "train", gridData(t), "--config", file).wantFailure(t, 2, file+":1", "precision", advice)
}

// TestMovedVerbs: who asks for a verb that the laboratory has now is told the line that runs it.
func TestMovedVerbs(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"bench", "bench --quick", "reproduce all -o study", "reproduce --help", "help reproduce"} {
		verb := regexp.MustCompile(`bench|reproduce`).FindString(line)
		run(t, strings.Fields(line)...).wantFailure(t, 2, `unknown command "`+verb+`"`, " -C lab ./", verb)
	}
}
