package cli_test

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// chosenResult is what --l2 auto adds to the result.
type chosenResult struct {
	L2     float64 `json:"l2"`
	L2Path struct {
		Chosen float64 `json:"chosen"`
		Metric string  `json:"metric"`
		Points []struct {
			L2      float64 `json:"l2"`
			LogLoss float64 `json:"log_loss"`
		} `json:"points"`
	} `json:"l2_path"`
	ThetaSHA256 string `json:"theta_sha256"`
}

// TestChooseL2: the value with the smallest loss on held-out data is chosen, the run
// is the one that this value gives by itself, and it can be resumed.
func TestChooseL2(t *testing.T) {
	t.Parallel()
	for _, source := range [][]string{{gridData(t), "--eval", "dev=" + gridData(t)}, {gridData(t)}} {
		dir := filepath.Join(t.TempDir(), "run")
		o := mustRun(t, slices.Concat([]string{"train", noReport}, source, []string{"-o", dir, "--l2", "auto", "--threads", "1", "--json"})...)
		var r chosenResult
		o.json(t, &r)
		points := r.L2Path.Points
		if len(points) < 4 || r.L2 != r.L2Path.Chosen || !strings.HasPrefix(r.L2Path.Metric, "log_loss") || !strings.Contains(o.stderr, "l2 36: objective ") {
			t.Fatalf("result %+v; stderr %s", r, o.stderr)
		}
		least := slices.MinFunc(points, func(a, b struct {
			L2      float64 `json:"l2"`
			LogLoss float64 `json:"log_loss"`
		}) int {
			if a.LogLoss < b.LogLoss {
				return -1
			}
			return 1
		})
		if least.L2 != r.L2 || points[0].L2 != 36 || points[1].L2 >= points[0].L2 {
			t.Errorf("chosen %v of %+v", r.L2, points)
		}
		again := train(t, gridData(t), "-o", filepath.Join(t.TempDir(), "again"), "--l2", strconv.FormatFloat(r.L2, 'g', -1, 64), "--threads", "1")
		if again.ThetaSHA256 != r.ThetaSHA256 {
			t.Errorf("--l2 %v by itself gives other weights", r.L2)
		}
		var resumed chosenResult
		mustRun(t, "train", dir, "--resume", "--json", "-q").json(t, &resumed)
		if resumed.ThetaSHA256 != r.ThetaSHA256 || resumed.L2 != r.L2 || len(resumed.L2Path.Points) != len(points) {
			t.Errorf("resumed: %+v", resumed)
		}
	}
	lone := filepath.Join(gridData(t), "0.npz")
	var alone chosenResult
	mustRun(t, "train", lone, noReport, "-o", filepath.Join(t.TempDir(), "lone"), "--l2", "auto", "--max-time", "2s", "--json", "-q").json(t, &alone)
	if !strings.Contains(alone.L2Path.Metric, "folds of ") {
		t.Errorf("one instance: the path is %+v", alone.L2Path)
	}
	if o := run(t, "train", lone, "--l2", "some"); o.code != 2 || !strings.Contains(o.stderr, "l2") {
		t.Errorf("--l2 some: exit code %d, %s", o.code, o.stderr)
	}
}
