package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestSoak: a command that is run again and again in one process leaves nothing in it, whether it works or
// ends with an error.
func TestSoak(t *testing.T) {
	oracle.Long(t)
	folder := t.TempDir()
	data, parted, net := gridData(t), filepath.Join(folder, "parted"), filepath.Join(folder, "net.uai")
	one := filepath.Join(folder, "one")
	mustRun(t, "generate", "-o", one, "--graph", "grid:6x6", "--states", "2", "--node-features", "2", "--edge-features", "2", "--samples", "2", "--sweeps", "5")
	mustRun(t, "partition", one, "-o", parted, "--blocks", "4")
	mustRun(t, "example", "network", "-o", net)
	damaged := writeFile(t, filepath.Join(folder, "damaged.npz"), "no archive")
	out := filepath.Join(folder, "out")
	run, model, answer := filepath.Join(out, "run"), filepath.Join(out, "run", "model.safetensors"), filepath.Join(out, "answer")
	for name, lines := range map[string][][]string{
		"a partitioned network, spilled": {
			{"train", parted, "-o", run, "--spill", folder, "--standardise", "--max-passes", "2", noReport, "-q"},
			{"predict", parted, "-m", model, "-o", answer, "-q"}, {"eval", parted, "-m", model}, {"info", parted}, {"check", parted},
		},
		"instances": {
			{"train", data, "-o", run, "--eval", "same=" + data, "--max-passes", "2", noReport, "-q"},
			{"predict", data, "-m", model, "-o", answer, "-q"}, {"eval", data, "-m", model}, {"info", model}, {"check", data},
		},
		"networks": {{"infer", net}, {"sample", net, "-o", filepath.Join(out, "samples.npz"), "--samples", "20"}},
		"errors":   {{"!train", damaged, "-o", run}, {"!train", data, "-o", run, "--spill", net}, {"!predict", data, "-m", net, "-o", answer}, {"!check", damaged}},
	} {
		t.Run(name, func(t *testing.T) {
			oracle.Soak(t, func() {
				if err := os.Mkdir(out, 0o755); err != nil {
					t.Fatal(err)
				}
				for _, args := range lines {
					if args[0][0] != '!' {
						mustRun(t, args...)
					} else if o := runContext(t.Context(), append([]string{args[0][1:]}, args[1:]...)...); o.code == 0 {
						t.Errorf("%s: it works", o.command())
					}
				}
				if err := os.RemoveAll(out); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}
