//go:build linux

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

var outputs = attack{
	name: "outputs", about: "inputs named as outputs: refused and unchanged", full: len(overwrites()), short: 40, share: 1,
	setup: setupOutputs,
}

// overwrite is a command that names an input as its output. Where OUT stands, the input
// stands in some way.
type overwrite struct {
	args  string
	input string
	way   string
}

// destructive are the commands, and the files that each would destroy. The folder of a
// trial has networks, evidence, data, lists, a model and a run. What is read has to be
// refused with --force too.
var destructive = []struct {
	args   string
	inputs []string
	read   bool
}{
	{"train data -o new --max-passes 1 -q -m OUT", []string{"data/0.npz"}, true},
	{"train data -o new --max-passes 1 -q -m OUT", []string{"list.txt"}, false},
	{"train list.txt -o new --max-passes 1 -q -m OUT", []string{"data/0.npz", "list.txt"}, true},
	{"train data -o new --max-passes 1 -q --counting numbers.txt -m OUT", []string{"numbers.txt"}, true},
	{"train data -o new --max-passes 1 -q --init run/model.safetensors -m OUT", []string{"run/model.safetensors"}, true},
	{"train data -o new --config train.toml -q -m OUT", []string{"train.toml"}, true},
	{"train data --max-passes 1 -q -o OUT", []string{"data"}, true},
	{"train data --max-passes 1 -q -o OUT", []string{"run"}, false},
	{"convert data -m run --instance 0 -o OUT", []string{"data/0.npz"}, true},
	{"convert net.uai -o OUT", []string{"net.uai"}, true},
	{"convert net.uai --evidence net.uai.evid -o OUT", []string{"net.uai.evid"}, true},
	{"sample data -m run --instance 0 --samples 10 -q -o OUT", []string{"data/0.npz"}, true},
	{"sample net.npz --samples 10 -q -o OUT", []string{"net.npz"}, true},
	{"infer net.uai -o OUT", []string{"net.uai"}, true},
	{"infer net.uai --evidence net.uai.evid -o OUT", []string{"net.uai.evid"}, true},
	{"infer tree.uai --counting tree.txt -o OUT", []string{"tree.txt"}, true},
	{"predict data -m run -q -o OUT", []string{"data", "run"}, true},
	{"eval data -m run -q -o OUT", []string{"data", "run"}, true},
	{"example network -o OUT", []string{"net.uai"}, false},
}

// waysToName are ways to name the same file.
var waysToName = []string{"same", "./", "absolute", "symlink", "hard link"}

// overwrites are all combinations.
func overwrites() (all []overwrite) {
	for _, d := range destructive {
		for _, input := range d.inputs {
			for _, way := range waysToName {
				if filepath.Ext(input) == "" && way == "hard link" {
					continue // folders have none
				}
				all = append(all, overwrite{d.args, input, way})
				if d.read {
					all = append(all, overwrite{d.args + " --force", input, way})
				}
			}
		}
	}
	return all
}

func setupOutputs(c *campaign, dir string) (func(t *trial), error) {
	for from, to := range map[string]string{"one": "data", "net.uai": "net.uai"} {
		path, err := c.data(from)
		if err != nil {
			return nil, err
		}
		if err := copyPath(path, filepath.Join(dir, to)); err != nil {
			return nil, err
		}
	}
	if err := os.Rename(filepath.Join(dir, "data/numbers.txt"), filepath.Join(dir, "numbers.txt")); err != nil {
		return nil, err
	}
	for name, text := range map[string]string{
		"list.txt": "data/0.npz\n", "net.uai.evid": "1 0 1\n", "train.toml": "max-passes = 1\n",
		"tree.uai": treeNetwork, "tree.txt": "node 0 1\nnode 1 1\nnode 2 1\nedge 0 1\nedge 1 1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	for _, args := range [][]string{{"train", "data", "-o", "run", "--max-passes", "1", "-q"}, {"convert", "net.uai", "-o", "net.npz"}} {
		if _, err := c.must(dir, args...); err != nil {
			return nil, err
		}
	}
	all := overwrites()
	return func(t *trial) {
		t.copy(dir, ".")
		tryOverwrite(t, all[(t.n*stride)%len(all)])
	}, nil
}

// stride makes the first trials go through all commands: it has no divisor with the
// number of combinations.
const stride = 37

const treeNetwork = "MARKOV\n3\n2 2 2\n2\n2 0 1\n2 1 2\n4\n 1 2 3 4\n4\n 4 3 2 1\n"

func tryOverwrite(t *trial, o overwrite) {
	out := o.input
	switch o.way {
	case "./":
		out = "./" + out
	case "absolute":
		out = t.path(out)
	case "symlink", "hard link":
		out = "link" + filepath.Ext(o.input)
		link := map[string]func(string, string) error{"symlink": os.Symlink, "hard link": os.Link}[o.way]
		t.must(link(t.path(o.input), t.path(out)))
	}
	t.notef("# %s is %s, named in another way: %s", out, o.input, o.way)
	before := contents(t)
	args := strings.Fields(o.args)
	args[slices.Index(args, "OUT")] = out
	r := t.run(args...)
	for name, text := range before {
		if now, err := os.ReadFile(t.path(name)); err != nil || !bytes.Equal(now, text) {
			t.failf("%s destroyed %s (%s)", r.line, name, o.way)
		}
	}
	if r.code == 0 && filepath.Ext(o.input) == "" && strings.HasSuffix(o.args, "--force") {
		return // files were added to a folder, and none of those in it is another
	}
	if r.code == 0 {
		t.failf("%s: exit code 0, want a refusal", r.line)
	}
	for name := range contents(t) {
		if _, ok := before[name]; !ok {
			t.failf("%s was refused, and made %s", r.line, name)
		}
	}
}

// contents are all files of the trial's folder.
func contents(t *trial) map[string][]byte {
	names, err := filesBelow(t.dir)
	t.must(err)
	all := map[string][]byte{}
	for _, name := range names {
		if all[name], err = os.ReadFile(t.path(name)); err != nil {
			delete(all, name) // a link to a folder
		}
	}
	return all
}
