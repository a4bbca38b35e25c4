package cli_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestInferSaysHowManyStationaryPoints: where the starts end at several stationary points
// the note and the JSON say how many, and how far apart; what is convex has one optimum.
func TestInferSaysHowManyStationaryPoints(t *testing.T) {
	t.Parallel()
	// Four variables that want to agree, and all to be in state 0, but not much.
	path := writeFile(t, filepath.Join(t.TempDir(), "magnet.uai"),
		"MARKOV\n4\n2 2 2 2\n7\n1 0\n2 0 1\n2 0 2\n2 0 3\n2 1 2\n2 1 3\n2 2 3\n2 1.1 1"+strings.Repeat("\n4 9 1 1 9", 6)+"\n")
	answer := func(args ...string) map[string]any {
		return mustRun(t, append([]string{"infer", path, "--json"}, args...)...).object(t)
	}
	several := answer("--counting", "bethe", "--seed", "3")
	points, span := several["fixed_points"].([]any), several["log10_z_range"].([]any)
	if len(points) != 2 || len(span) != 2 || span[1] != several["log10_z"] || !(span[0].(float64) < span[1].(float64)) || several["optimum"] != "stationary" || several["converged"] != true || several["restarts"] != 5.0 {
		t.Errorf("%v", several)
	}
	for args, want := range map[string]any{
		"--counting convex": "global", "--counting trw": "global", "--method exact": "global", "--method mean-field": "stationary",
		"--counting bethe --restarts 0": "stationary", "--counting bethe --max-sweeps 1": "none", "--method gibbs --task MAR": "none",
	} {
		if got := answer(strings.Fields(args)...)["optimum"]; got != want {
			t.Errorf("%s: optimum %v, want %v", args, got, want)
		}
	}
}
