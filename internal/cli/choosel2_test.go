package cli_test

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// chosenResult is what --l2 auto adds to the result.
type chosenResult struct {
	L2     float64 `json:"l2"`
	Choice struct {
		Chosen     l2Candidate   `json:"chosen"`
		Metric     string        `json:"metric"`
		Candidates []l2Candidate `json:"candidates"`
	} `json:"choice"`
	ThetaSHA256 string `json:"theta_sha256"`
}

type l2Candidate struct {
	L2      float64 `json:"l2"`
	LogLoss float64 `json:"log_loss"`
}

// TestChooseL2: the value with the smallest loss on held-out data is chosen, the run
// is the one that this value gives by itself, and it can be resumed.
func TestChooseL2(t *testing.T) {
	oracle.Long(t)
	t.Parallel()
	for _, source := range [][]string{{gridData(t), "--eval", "dev=" + gridData(t)}, {gridData(t)}} {
		dir := filepath.Join(t.TempDir(), "run")
		o := mustRun(t, slices.Concat([]string{"train", noReport}, source, []string{"-o", dir, "--l2", "auto", "--threads", "1", "--json"})...)
		var r chosenResult
		o.json(t, &r)
		points := r.Choice.Candidates
		if len(points) < 4 || r.L2 != r.Choice.Chosen.L2 || !strings.HasPrefix(r.Choice.Metric, "log_loss") ||
			!strings.Contains(o.stderr, "l2 36: log loss ") || !strings.Contains(o.stderr, " --standardise: log loss") {
			t.Fatalf("result %+v; stderr %s", r, o.stderr)
		}
		least := slices.MinFunc(points, func(a, b l2Candidate) int { return cmp.Compare(a.LogLoss, b.LogLoss) })
		if least.L2 != r.L2 || points[0].L2 != 36 || points[1].L2 >= points[0].L2 {
			t.Errorf("chosen %v of %+v", r.L2, points)
		}
		again := train(t, gridData(t), "-o", filepath.Join(t.TempDir(), "again"), "--l2", strconv.FormatFloat(r.L2, 'g', -1, 64), "--standardise", "--threads", "1")
		if again.ThetaSHA256 != r.ThetaSHA256 {
			t.Errorf("--l2 %v by itself gives other weights", r.L2)
		}
		var resumed chosenResult
		mustRun(t, "train", dir, "--resume", "--json", "-q").json(t, &resumed)
		if resumed.ThetaSHA256 != r.ThetaSHA256 || resumed.L2 != r.L2 || len(resumed.Choice.Candidates) != len(points) {
			t.Errorf("resumed: %+v", resumed)
		}
	}
	lone := filepath.Join(gridData(t), "0.npz")
	if o := run(t, "train", lone, "--l2", "some"); o.code != 2 || !strings.Contains(o.stderr, "l2") {
		t.Errorf("--l2 some: exit code %d, %s", o.code, o.stderr)
	}
}
