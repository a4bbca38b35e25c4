package cli_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestNothingLearned: a run that a limit ends at weights of 0 fails when all is written, and
// goes on with a higher limit. Weights of a model that it began with are a note's matter.
func TestNothingLearned(t *testing.T) {
	t.Parallel()
	data, folder := gridData(t), t.TempDir()
	dir, second := filepath.Join(folder, "run"), filepath.Join(folder, "second")
	const note = "a limit ended the run before its first step, so that the model has the weights that the run began with; go on with a longer --max-time"
	limited := []string{"train", data, "--method", "full", "--max-time", "1ns", "--threads", "1", "-q"}
	o := run(t, append(limited, "-o", dir)...)
	o.wantFailure(t, 4, "nothing was learned", "model.safetensors", "time_limit", "blockbp train "+dir+" --resume")
	if !strings.Contains(o.stderr, note) || !strings.Contains(readFile(t, dir, "result.json"), note) || !strings.Contains(readFile(t, dir, "report.html"), note) {
		t.Errorf("the note is not on standard error, %q, in result.json and in the report", o.stderr)
	}
	mustRun(t, "train", dir, "--resume", "--max-time", "1h", "--rtol", "1e-2", "-q", noReport)
	if o := mustRun(t, append(limited, "-o", second, "--init", dir, noReport)...); !strings.Contains(o.stderr, note) {
		t.Errorf("of a run that began with a model there is no note: %q", o.stderr)
	}
}
