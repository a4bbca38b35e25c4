package cli_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// verbs are all commands, with the flags that the documentation promises.
var verbs = map[string][]string{
	"demo":     {"out", "side", "l2", "seed", "threads", "json"},
	"train":    {"out", "model", "errors", "write-model", "method", "blocks", "partition", "together", "counting", "l2", "step", "order", "inner-sweeps", "inner-tol", "seed", "threads", "memory", "spill", "no-edges", "tol", "rtol", "gap", "max-iter", "max-passes", "max-time", "checkpoint-every", "eval", "eval-every", "calibrate", "early-stop", "resume", "config", "init", "json", "dry-run", "report", "plots", "reference", "require-convergence", "quiet", "features", "list", "states", "bins", "neighbours", "observed", "no-bias", "untied", "directed", "kind"},
	"predict":  {"model", "out", "counting", "threads", "tol", "max-sweeps", "decode", "cost", "clamp", "pictures", "arrays", "json", "quiet", "features", "list"},
	"eval":     {"model", "against", "out", "counting", "decode", "cost", "split", "observed", "threads", "json", "quiet", "features", "list"},
	"infer":    {"task", "counting", "method", "evidence", "out", "tol", "max-sweeps", "memory", "seed", "chains", "max-rhat", "min-ess", "threads", "json", "require-convergence"},
	"sample":   {"out", "model", "instance", "clamp", "evidence", "sampler", "samples", "chains", "burn-in", "thin", "max-rhat", "min-ess", "require-convergence", "seed", "threads", "quiet", "json", "features", "list"},
	"convert":  {"out", "model", "instance", "clamp", "evidence", "json", "features", "list"},
	"example":  {"out", "seed", "json"},
	"generate": {"out", "graph", "states", "node-features", "edge-features", "samples", "instances", "weight-scale", "sweeps", "seed", "threads", "json"},
	"info":     {"blocks", "partition", "weights", "json"},
	"check":    {"model", "features", "list", "json"},
	"watch":    {"port"},
	"plot":     {"tensorboard"},
	"compare":  {"out", "json"},
	"version":  {"json", "licences"},
}

// TestHelp: every verb explains itself, with --help its usual options, and with --help-all all.
func TestHelp(t *testing.T) {
	t.Parallel()
	for verb, flags := range verbs {
		o := mustRun(t, verb, "--help")
		if o.stderr != "" {
			t.Errorf("%s: stderr is %q", o.command(), o.stderr)
		}
		if other := mustRun(t, "help", verb); other.stdout != o.stdout {
			t.Errorf("blockbp help %s prints something else than blockbp %s --help", verb, verb)
		}
		for _, part := range []string{"Usage:", "blockbp " + verb, "Examples:"} {
			if !strings.Contains(o.stdout, part) {
				t.Errorf("%s does not contain %q", o.command(), part)
			}
		}
		all := mustRun(t, verb, "--help-all")
		for _, flag := range flags {
			if !regexp.MustCompile(`(?m)^ +(-\w, )?--` + flag + `\b.*  \S`).MatchString(all.stdout) {
				t.Errorf("%s does not explain --%s", all.command(), flag)
			}
		}
		usual, every := optionsIn(o.stdout), optionsIn(all.stdout)
		if usual > 14 {
			t.Errorf("%s shows %d options, want at most 14", o.command(), usual)
		}
		if named := strings.Contains(o.stdout, "blockbp "+verb+" --help-all"); named != (usual < every) {
			t.Errorf("%s shows %d of %d options, and says that there are more: %v", o.command(), usual, every, named)
		}
	}
}

// optionsIn counts the options that a help text explains, but for --help.
func optionsIn(help string) int {
	options := regexp.MustCompile(`(?m)^ +(-\w, )?--[a-z].*  \S`).FindAllString(help, -1)
	return len(options) - strings.Count(help, "  help for ")
}

func TestRoot(t *testing.T) {
	t.Parallel()
	bare, help := mustRun(t), mustRun(t, "--help")
	if bare.stdout != help.stdout || !strings.Contains(bare.stdout, "blockbp demo") {
		t.Errorf("blockbp alone prints\n%s", bare.stdout)
	}
	var listed []string
	for _, match := range regexp.MustCompile(`(?m)^  ([a-z]+) +[A-Z]`).FindAllStringSubmatch(bare.stdout, -1) {
		if match[1] != "help" {
			listed = append(listed, match[1])
		}
	}
	var want []string
	for verb := range verbs {
		want = append(want, verb)
	}
	slices.Sort(want)
	slices.Sort(listed)
	for _, verb := range want {
		if !slices.Contains(listed, verb) {
			t.Errorf("blockbp --help lists %q, not %s", listed, verb)
		}
	}
	if o := mustRun(t, "--version"); !strings.HasPrefix(o.stdout, "blockbp version ") {
		t.Errorf("blockbp --version prints %q", o.stdout)
	}
}

// TestSuggestions: what was probably meant.
func TestSuggestions(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"trian":                    "train",
		"prdict":                   "predict",
		"evl":                      "eval",
		"ifner":                    "infer",
		"generat":                  "generate",
		"train --max-itr 3":        "--max-iter",
		"train --methods full":     "--method",
		"predict --model-file x":   "--model",
		"infer --taks PR":          "--task",
		"infer --require":          "--require-convergence",
		"eval --splt x":            "--split",
		"generate --grap x":        "--graph",
		"info --block 3":           "--blocks",
		"check --feature x":        "--features",
		"compare --oot x":          "--out",
		"demo --sides 3":           "--side",
		"train --l1 3":             "--l2",
		"plot --jsn":               "--help", // plot has no other option
		"train --neighbors 8":      "--neighbours",
		"train --requireconvegenc": "--require-convergence",
	} {
		run(t, strings.Fields(line)...).wantFailure(t, 2, want)
	}
}
