package cli_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/synthetic"
)

// made is the object that example prints.
type made struct {
	Kind string   `json:"kind"`
	Out  string   `json:"out"`
	Seed uint64   `json:"seed"`
	Next []string `json:"next"`
}

// TestExampleCommands makes every example and runs the commands that it prints.
func TestExampleCommands(t *testing.T) {
	oracle.Long(t)
	// The least that edges must add to the accuracy of the features alone.
	gain := map[string]float64{"images": 0.1, "graph": 0.1, "sentences": 0.2}
	for _, kind := range synthetic.Names() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), kind)
			if kind == "network" {
				out += ".uai"
			}
			var m made
			mustRun(t, "example", kind, "-o", out, "--json").json(t, &m)
			if m.Kind != kind || m.Out != out || m.Seed != 1 {
				t.Errorf("example %s says %+v", kind, m)
			}
			run(t, "example", kind, "-o", out).wantFailure(t, 2, out, "choose another")
			var last outcome
			for _, command := range m.Next {
				words := strings.Fields(command)
				last = mustRun(t, words[1:]...)
			}
			if least, ok := gain[kind]; ok {
				wantGain(t, last, least)
			}
		})
	}
}

// wantGain runs an eval command again for its figures: the second model must be better.
func wantGain(t *testing.T, eval outcome, least float64) {
	t.Helper()
	var r struct {
		Models []struct {
			Accuracy float64 `json:"accuracy"`
			LogLoss  float64 `json:"log_loss"`
		} `json:"models"`
	}
	mustRun(t, append(eval.args, "--json")...).json(t, &r)
	oracle.MustEqual(t, len(r.Models), 2, "%s: models", eval.command())
	if alone, with := r.Models[0], r.Models[1]; with.Accuracy < alone.Accuracy+least || with.LogLoss >= alone.LogLoss {
		t.Errorf("accuracy %.3f with edges and %.3f without, log loss %.3f and %.3f: want %.2f more accuracy, and less loss",
			with.Accuracy, alone.Accuracy, with.LogLoss, alone.LogLoss, least)
	}
}
