package cli_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// claimed is the status of a run with a small gradient, by whether the objective is convex.
var claimed = map[bool]string{true: "converged", false: "stationary_point"}

// TestTrainingSaysWhatItConvergedTo: with an objective that is not known to be convex,
// whatever tells people of a training whose gradient is small says that it is at a
// stationary point, and not that it converged.
func TestTrainingSaysWhatItConvergedTo(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for counting, optimum := range map[string]string{"convex": "global", "bethe": "stationary"} {
		run := filepath.Join(folder, counting)
		trained := mustRun(t, "train", gridData(t), "-o", run, "--counting", counting, "--l2", "2")
		if object := mustRun(t, "train", gridData(t), noReport, "-o", run+"-json", "--counting", counting, "--l2", "2", "--json", "-q").object(t); object["optimum"] != optimum || object["status"] != claimed[counting == "convex"] || object["converged"] != true {
			t.Errorf("%s: optimum %v, status %v, want %s, %s", counting, object["optimum"], object["status"], optimum, claimed[counting == "convex"])
		}
		for where, text := range map[string]string{
			"summary": trained.stdout + trained.stderr,
			"info":    mustRun(t, "info", filepath.Join(run, "model.safetensors")).stdout,
			"compare": mustRun(t, "compare", run, run).stdout,
			"report":  regexp.MustCompile(`<[^>]*>`).ReplaceAllString(readFile(t, run, "report.html"), " "),
		} {
			if stationary := strings.Contains(text, "stationary point"); stationary != (counting == "bethe") {
				t.Errorf("%s of %s: does it speak of a stationary point? %v", where, counting, stationary)
			}
			if counting == "bethe" && regexp.MustCompile(`\bconverged\b`).MatchString(text) {
				t.Errorf("%s of %s says just converged:\n%s", where, counting, text)
			}
		}
	}
	stopped := mustRun(t, "train", gridData(t), noReport, "-o", filepath.Join(folder, "stopped"), "--counting", "bethe", "--max-iter", "4", "--json", "-q").object(t)
	if stopped["optimum"] != "none" {
		t.Errorf("a run that a limit ended has optimum %v", stopped["optimum"])
	}
}
