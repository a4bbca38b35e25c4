package cli_test

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestMagnitudes: numbers within the range of the page on files are learned from, to a
// result that is JSON and a run that goes on; check and train refuse others alike.
func TestMagnitudes(t *testing.T) {
	oracle.Long(t)
	t.Parallel()
	const least, most = 1e-150, 1e150
	for name, of := range map[string]func(x float64) arrays{
		"node features": func(x float64) arrays {
			return arrays{"node_features": npy(t, []int{3, 2}, []float64{1, x, 1, -x / 2, 1, 0})}
		},
		"all node features": func(x float64) arrays { return arrays{"node_features": npy(t, []int{3, 1}, []float64{x, -x, x / 2})} },
		"edge features":     func(x float64) arrays { return arrays{"edge_features": npy(t, []int{3, 1}, []float64{x, x / 2, 0})} },
		"weight":            func(x float64) arrays { return arrays{"weight": npy(t, nil, []float64{x})} },
	} {
		for _, x := range []float64{math.SmallestNonzeroFloat64, 1e-160, math.Nextafter(least, 0), least, 1, most, math.Nextafter(most, math.Inf(1)), 1e160, math.MaxFloat64} {
			folder := t.TempDir()
			file, out := filepath.Join(folder, "x.npz"), filepath.Join(folder, "r")
			writeFile(t, file, with(t, of(x))["bad.npz"])
			checked := run(t, "check", file)
			trained := run(t, "train", file, "-o", out, "-q", "--report=false", "--max-passes", "3")
			if x < least || x > most {
				checked.wantFailure(t, 3)
				if trained.wantFailure(t, 3, "1e-150 to 1e150"); !strings.Contains(checked.stdout, "1e-150 to 1e150") {
					t.Errorf("%s of %v: check says %q", name, x, checked.stdout)
				}
				continue
			}
			resumed := run(t, "train", out, "--resume", "-q", "--max-passes", "5")
			for _, o := range []outcome{checked, trained, resumed} {
				if o.code != 0 && o.code != 4 { // nothing was learned, of so few passes
					t.Errorf("%s of %v: %s ended with code %d: %s", name, x, o.command(), o.code, o.stderr)
				}
			}
			if !json.Valid([]byte(readFile(t, out, "result.json"))) {
				t.Errorf("%s of %v: result.json is no JSON", name, x)
			}
		}
	}
}
