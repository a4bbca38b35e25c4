//go:build linux

package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/blockbp/blockbp/internal/safetensors"
)

var meanings = attack{
	name: "meanings", about: "what would change the meaning silently: refused, or the same bytes", full: len(changes()), short: len(changes()), share: 1,
	setup: setupMeanings,
}

// change is something that is no longer what it was, and a command that goes on as if.
type change struct {
	name string
	make func(t *trial) // nil: nothing changes but the command
	line string
	want verdict
	says string // a word of the refusal or, where the command may succeed, of what it says
}

// verdict is what has to come of a change.
type verdict int

const (
	refusal verdict = iota // and all files are as they were
	sameEnd                // the end of the run or prediction that was left alone
	either
)

// unchanged is what a stopped run comes to, and a model predicts.
type unchanged struct {
	dir       string
	ended     *ran
	predicted map[string]string
}

func setupMeanings(c *campaign, dir string) (func(t *trial), error) {
	for from, to := range map[string]string{"grid": "data", "typed": "typed", "net.uai": "net.uai"} {
		path, err := c.data(from)
		if err != nil {
			return nil, err
		}
		if err := copyPath(path, filepath.Join(dir, to)); err != nil {
			return nil, err
		}
	}
	for _, line := range []string{
		"train data -o r -q --report=false --max-passes 6", "train typed -o typed-run -q --report=false --max-passes 3",
	} {
		if _, err := c.must(dir, strings.Fields(line)...); err != nil {
			return nil, err
		}
	}
	u := unchanged{dir: dir, predicted: map[string]string{}}
	other := filepath.Join(c.work, "meanings", "ended")
	if err := os.CopyFS(other, os.DirFS(dir)); err != nil {
		return nil, err
	}
	for _, line := range []string{"train data --resume -o r -q --report=false --max-passes 12", "predict typed -m typed-run -o predicted -q"} {
		if _, err := c.must(other, strings.Fields(line)...); err != nil {
			return nil, err
		}
	}
	if err := readArrays(filepath.Join(other, "predicted"), u.predicted); err != nil {
		return nil, err
	}
	var err error
	u.ended, err = readRun(filepath.Join(other, "r"))
	all := changes()
	return func(t *trial) {
		t.copy(dir, ".")
		tryChange(t, u, all[t.n%len(all)])
	}, err
}

func tryChange(t *trial, u unchanged, ch change) {
	t.notef("# %s", ch.name)
	if ch.make != nil {
		ch.make(t)
	}
	before := contents(t)
	r := t.run(strings.Fields(ch.line)...)
	if ch.says != "" && !strings.Contains(r.stderr, ch.says) {
		t.failf("%s (%s): exit code %d, and nothing is said of %q: %s", r.line, ch.name, r.code, ch.says, cut(r.stderr, 300))
	}
	if r.code != 0 {
		if ch.want == sameEnd {
			t.failf("%s (%s): exit code %d, want 0: %s", r.line, ch.name, r.code, cut(r.stderr, 300))
		}
		for name, text := range before {
			if now, err := os.ReadFile(t.path(name)); err != nil || !bytes.Equal(now, text) {
				t.failf("%s (%s) is refused, and %s is another", r.line, ch.name, name)
			}
		}
		return
	}
	if ch.want == refusal {
		t.failf("%s (%s): exit code 0, want a refusal", r.line, ch.name)
	}
	switch {
	case strings.HasPrefix(ch.line, "predict"):
		got := map[string]string{}
		t.must(readArrays(t.path("predicted"), got))
		for name, answer := range u.predicted {
			if got[name] != answer {
				t.failf("%s (%s): exit code 0, and %s is another", r.line, ch.name, name)
			}
		}
	case strings.HasPrefix(ch.line, "train"):
		got, err := readRun(t.path("r"))
		t.must(err)
		if text := got.differs(u.ended); text != "" && ch.says == "" {
			t.failf("%s (%s): exit code 0, and %s", r.line, ch.name, text)
		}
	}
}

const (
	goOn    = "train data --resume -o r -q --report=false --max-passes 12"
	predict = "predict typed -m typed-run -o predicted -q"
)

// changes are all of them.
func changes() (all []change) {
	for _, option := range []string{
		"--seed 2", "--method full", "--method pseudo", "--step adagrad:0.1", "--order random", "--blocks 2x2", "--blocks 7", "--partition range", "--together 3", "--pairs",
		"--l2 0.3", "--counting convex", "--counting bethe", "--inner-sweeps 7", "--inner-tol 0.01", "--no-edges", "--init typed-run/model.safetensors", "--states a,b,c", "--untied", "--bins 4",
		"--observed train", "--no-bias", "--neighbours 8", "--list x.txt", "--kind images", "--eval dev=data/1.npz", "--class-weights balanced",
	} {
		all = append(all, change{"another option", nil, goOn + " " + option, either, ""})
	}
	for _, option := range []string{"--seed 2", "--l2 0.3", "--counting convex", "--blocks 2x2", "--order random"} {
		all = append(all, change{"another option", nil, "train r --resume -q " + option, refusal, ""})
	}
	files := func(name string, make func(t *trial), want verdict, says string) {
		all = append(all, change{name, make, goOn, want, says})
	}
	files("the same data again", func(t *trial) { t.write("data/0.npz", t.read("data/0.npz")) }, sameEnd, "")
	files("data files that changed places", func(t *trial) {
		first, second := t.read("data/0.npz"), t.read("data/1.npz")
		t.write("data/0.npz", second)
		t.write("data/1.npz", first)
	}, refusal, "")
	files("a file more", func(t *trial) { t.write("data/2.npz", t.read("data/1.npz")) }, refusal, "")
	files("a file less", func(t *trial) { t.must(os.Remove(t.path("data/1.npz"))) }, refusal, "")
	files("a dataset.json more", func(t *trial) { t.write("data/dataset.json", []byte(`{"states": ["a", "b", "c"]}`)) }, refusal, "")
	files("one label another", arraysChanged("data/0.npz", "labels", func(a *array) { a.data[3] = float64((int(a.data[3]) + 1) % 3) }), refusal, "")
	files("nodes in another order", arraysChanged("data/0.npz", "labels", func(a *array) { slices.Reverse(a.data) }), refusal, "")
	files("one feature another in the last digit", arraysChanged("data/0.npz", "node_features", func(a *array) { a.data[6] *= 1 + 1e-15 }), refusal, "")
	files("the ends of an edge changed", arraysChanged("data/0.npz", "edges", func(a *array) { a.data[0], a.data[1] = a.data[1], a.data[0] }), refusal, "")
	files("metrics are missing", func(t *trial) { t.must(os.Remove(t.path("r/metrics.jsonl"))) }, either, "metrics")
	files("metrics are cut short", func(t *trial) { text := t.read("r/metrics.jsonl"); t.write("r/metrics.jsonl", text[:len(text)/2]) }, either, "metrics")
	files("the checkpoint is a link to nothing", func(t *trial) {
		t.must(os.Remove(t.path("r/checkpoint/state.safetensors")))
		t.must(os.Symlink("nothing", t.path("r/checkpoint/state.safetensors")))
	}, refusal, "")
	files("the checkpoint is missing", func(t *trial) { t.must(os.Remove(t.path("r/checkpoint/state.safetensors"))) }, either, "checkpoint")
	files("the checkpoint is of another run", func(t *trial) {
		t.copy(t.path("typed-run/checkpoint/state.safetensors"), "r/checkpoint/state.safetensors")
	}, refusal, "")
	files("the checkpoint is a model", func(t *trial) { t.copy(t.path("r/model.safetensors"), "r/checkpoint/state.safetensors") }, refusal, "")
	all = append(all,
		change{"anew over a run", nil, "train data -o r -q --report=false --max-passes 12", refusal, ""},
		change{"a model for a checkpoint", nil, "predict data -m r/checkpoint/state.safetensors -o predicted", refusal, ""},
		change{"a dataset.json that is gone", func(t *trial) { t.must(os.Remove(t.path("typed/dataset.json"))) }, "train typed --resume -o typed-run -q --report=false --max-passes 30", refusal, "dataset.json"},
	)
	for _, r := range []struct {
		from, to string
		want     verdict
		says     string
	}{
		{`"sky", "tree"`, `"tree", "sky"`, refusal, ""},
		{`"height", "bias"`, `"bias", "height"`, refusal, ""},
		{`"in", "out"`, `"out", "in"`, refusal, ""},
		{`"next",`, `"nxet",`, refusal, ""},
		{`"pixel", "states"`, `"pixels", "states"`, refusal, ""},
		{`"size"`, `"sizes"`, refusal, ""},
		{`{"node_types"`, `{"node_types": [], "node_types"`, refusal, ""},
		{`{"node_`, `{"unknown": 1, "node_`, refusal, ""},
		{`"states": ["in"`, `"states": ["x"], "states": ["in"`, refusal, ""},
		// The model says what is forbidden, and it is said that the data say otherwise.
		{`[["sky", "out"]]`, `[["sea", "out"]]`, sameEnd, "forbid"},
		{`"forbidden": []`, `"forbidden": ["out"]`, sameEnd, "forbid"},
	} {
		all = append(all, change{"dataset.json: " + r.to + " for " + r.from, func(t *trial) {
			text := bytes.Replace(t.read("typed/dataset.json"), []byte(r.from), []byte(r.to), 1)
			t.write("typed/dataset.json", text)
		}, predict, r.want, r.says})
	}
	for _, option := range []string{"--states x,y,z", "--bins 4", "--neighbours 8", "--no-bias", "--untied", "--observed train", "--kind images"} {
		all = append(all, change{"another option", nil, predict + " " + option, either, ""})
	}
	for _, text := range []string{"MARKOV\n1\n1_0\n0\n", "MARKOV\n0x1\n2\n0\n", "MARKOV\n1\n2\n1\n1 0\n2\n0x1p3 1\n", "MARKOV\n1\n2\n1\n1 0\n2\n1_0 1\n", "MARKOV\n1\n2\n1\n1 0\n2\n1 2\nrest\n", "MARKOV\n1\n2\n1\n1 0\n2\n-1 2\n", "MARKOV\n1\n2\n1\n1 0\n2\nnan 2\n"} {
		all = append(all, change{"a network " + strings.ReplaceAll(text, "\n", " / "), func(t *trial) { t.write("n.uai", []byte(text)) }, "infer n.uai", refusal, ""})
	}
	for _, text := range []string{"2 0 1 0 2\n", "1 0 9\n", "1 99 0\n", "2 0 1\n", "1 0 1 5 5\n", "1 0x0 1\n", "1 0 1_0\n", "1 -1 0\n"} {
		all = append(all, change{"evidence " + strings.TrimSpace(text), func(t *trial) { t.write("e", []byte(text)) }, "infer net.uai --evidence e", refusal, ""})
	}
	for _, text := range []string{"l2 = 1\nl2 = 2\n", "l3 = 1\n", "[train]\nl2 = 1\n", "l2 = [1]\n", "rtol = \"x\"\n", "config = \"other\"\n"} {
		all = append(all, change{"a configuration " + strings.ReplaceAll(text, "\n", " / "), func(t *trial) { t.write("c.toml", []byte(text)) }, "train data -o new -q --max-passes 1 --config c.toml", refusal, "c.toml"})
	}
	for _, key := range []string{"counting", "recipe"} {
		all = append(all, change{"a model whose " + key + " is a path", nameAPipe(key), "predict typed -m typed-run -o predicted -q", either, ""})
	}
	return all
}

// arraysChanged changes an array of the first grid.
func arraysChanged(file, name string, change func(a *array)) func(t *trial) {
	return func(t *trial) {
		arrays := gridInstance(t.c.source())
		if !bytes.Equal(npz(arrays...), t.read(file)) {
			t.failf("the trial itself: %s is not the grid that was made", file)
		}
		for i := range arrays {
			if arrays[i].name == name {
				change(&arrays[i])
			}
		}
		t.write(file, npz(arrays...))
	}
}

// nameAPipe makes a pipe, names it in the metadata of a model under a right checksum, and
// fails the trial if it is opened.
func nameAPipe(key string) func(t *trial) {
	return func(t *trial) {
		const model = "typed-run/model.safetensors"
		t.must(syscall.Mkfifo(t.path("pipe"), 0o600))
		f, err := safetensors.Open(t.path(model))
		t.must(err)
		metadata := map[string]string{}
		for k, v := range f.Metadata() {
			metadata[k] = v
		}
		metadata[key], metadata[safetensors.ChecksumKey] = t.path("pipe"), ""
		var tensors []safetensors.Tensor
		for _, info := range f.Tensors() {
			values, err := safetensors.Read[float64](f, info.Name)
			t.must(err)
			tensors = append(tensors, safetensors.New(info.Name, info.Shape, values))
		}
		t.must(f.Close())
		t.must(safetensors.WriteFile(t.path(model), metadata, tensors))
		p := t.start(strings.Fields(predict)...)
		for waited(p, time.Millisecond) {
			pipe, err := os.OpenFile(t.path("pipe"), os.O_WRONLY|syscall.O_NONBLOCK, 0)
			if err == nil { // somebody reads it
				_ = pipe.Close()
				_ = p.Process.Kill()
				p.end()
				t.failf("%s opened the file that the model names as its %s", p.line, key)
			}
			if !errors.Is(err, syscall.ENXIO) {
				t.must(err)
			}
		}
		p.end()
		t.must(errors.Join(os.RemoveAll(t.path("predicted")), os.Remove(t.path("pipe"))))
	}
}
