//go:build linux

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
)

var bounds = attack{
	name: "bounds", about: "small files and options that ask for much: refused within 1 GB, 5 s", full: len(greedy()), short: 12, share: 1,
	setup: func(c *campaign, _ string) (func(t *trial), error) {
		_, err := c.data("grid")
		all := greedy()
		return func(t *trial) { all[(t.n*5)%len(all)].try(t) }, err
	},
}

// appetite is a small file that asks for much, and commands that read it.
type appetite struct {
	name string
	make func(t *trial)
	// lines are commands; those that begin with ! have to be refused, and the others may
	// do as they like within bounds.
	lines []string
	says  string // a word of the refusal, "": any
}

func (a appetite) try(t *trial) {
	t.notef("# %s", a.name)
	a.make(t)
	for _, line := range a.lines {
		line, refuse := strings.CutPrefix(line, "!")
		r := t.run(strings.Fields(line)...)
		if refuse && (r.code == 0 || !strings.Contains(r.text(), a.says)) {
			t.failf("%s (%s): exit code %d, want a refusal that speaks of %q: %s", r.line, a.name, r.code, a.says, cut(r.text(), 300))
		}
	}
}

// dataLines are the commands that read data.npz.
func dataLines(data string, more ...string) []string {
	return append([]string{"!train " + data + " --dry-run", "!train " + data + " -o r -q --max-iter 1 --report=false", "check " + data, "info " + data}, more...)
}

// with is a grid whose arrays a function has changed.
func with(change func(a map[string]*array)) func(t *trial) {
	return func(t *trial) {
		arrays := gridInstance(rand.New(rand.NewPCG(1, 1)))
		byName := map[string]*array{}
		for i := range arrays {
			byName[arrays[i].name] = &arrays[i]
		}
		change(byName)
		t.write("data.npz", npz(arrays...))
	}
}

func text(name, content string) func(t *trial) {
	return func(t *trial) { t.write(name, []byte(content)) }
}

// chain is a small network of nodes 0 – 1 – 2 with labels.
func chain(labels []int, more ...array) []byte {
	return npz(append([]array{ints("edges", []int{2, 2}, []int{0, 1, 1, 2}), ints("labels", []int{3}, labels)}, more...)...)
}

// greedy are all of them.
func greedy() (all []appetite) {
	for _, label := range []int{3000, 10000, 100000, 1 << 30, 1<<31 - 1} {
		all = append(all, appetite{fmt.Sprintf("a label %d among 0 to 2", label), with(func(a map[string]*array) { a["labels"].data[17] = float64(label) }), dataLines("data.npz"), "label"})
		all = append(all, appetite{fmt.Sprintf("a label %d in a chain", label), func(t *trial) { t.write("data.npz", chain([]int{0, label, 1})) }, dataLines("data.npz"), ""})
		all = append(all, appetite{fmt.Sprintf("a label %d in a table", label), func(t *trial) {
			t.write("nodes.tsv", fmt.Appendf(nil, "a\t0\ttrain\t0\nb\t%d\ttrain\t1\nc\t1\ttrain\t2\n", label))
			t.write("edges.tsv", []byte("a\tb\nb\tc\n"))
		}, dataLines("."), ""})
		all = append(all, appetite{fmt.Sprintf("states = %d", label), func(t *trial) {
			t.write("data.npz", chain([]int{0, 1, 1}, ints("states", nil, []int{label})))
		}, dataLines("data.npz"), ""})
	}
	for _, bin := range []int{1_000_000, 1 << 30, 1<<31 - 1} {
		bins := ints("edge_bins", []int{2}, []int{0, bin})
		all = append(all, appetite{fmt.Sprintf("an edge bin %d, with 30 states", bin), func(t *trial) { t.write("data.npz", chain([]int{0, 29, 1}, bins)) }, dataLines("data.npz"), "bin"})
	}
	for _, names := range []string{
		`{"edge_bins": 1000000000}`, `{"node_types": ["a", {"name": "b", "states": ["x"]}], "edge_bins": 100000000}`,
		`{"edge_types": [{"name": "e", "u": "node", "v": "node", "bins": 2147483647}]}`,
	} {
		all = append(all, appetite{"dataset.json " + names, func(t *trial) {
			t.write("d/dataset.json", []byte(names))
			t.write("d/0.npz", chain([]int{0, 2, 1}))
		}, dataLines("d"), ""})
	}
	for _, node := range []string{"10000000", "70000000", "2147483647", "1e300"} {
		all = append(all, appetite{"a feature of index " + node, func(t *trial) {
			t.write("nodes.tsv", fmt.Appendf(nil, "a\t0\ttrain\t0 %s\nb\t1\ttrain\t1\n", node))
			t.write("edges.tsv", []byte("a\tb\n"))
		}, dataLines("."), ""})
	}
	for _, label := range []int{5000, 1 << 30} {
		all = append(all, appetite{fmt.Sprintf("a picture with a label %d", label), func(t *trial) {
			from, err := t.c.data("images")
			t.must(err)
			t.copy(from, "images")
			t.write("images/labels/0.regions.txt", []byte(strings.Replace(string(t.read("images/labels/0.regions.txt")), "0", fmt.Sprint(label), 1)))
		}, dataLines("images"), "label"})
	}
	for _, network := range []string{
		"MARKOV\n2\n1000000 1000000\n0\n", "MARKOV\n2\n1000000 1000000\n1\n1 0\n1000000\n", "MARKOV\n1000000000\n2 2\n0\n", "MARKOV\n2\n2 2\n1000000000\n",
		"MARKOV\n2\n2147483647 2147483647\n1\n2 0 1\n4\n1 1 1 1\n", "MARKOV\n1\n9223372036854775807\n0\n", "MARKOV\n2\n2 2\n1\n1000000000 0 1\n", "MARKOV\n2\n2 2\n1\n2 0 1\n4000000000000\n1\n",
		"MARKOV\n3\n100000 100000 100000\n1\n3 0 1 2\n1000000000000000\n1\n",
	} {
		all = append(all, appetite{"network " + strings.ReplaceAll(network, "\n", " / "), text("net.uai", network), []string{
			"infer net.uai", "infer net.uai --task MAR --method exact", "infer net.uai --task MPE", "infer net.uai --method mean-field --max-sweeps 3", "sample net.uai -o s.npz --samples 3 -q", "convert net.uai -o n.npz", "info net.uai", "check net.uai",
		}, ""})
	}
	all = append(all, appetite{"states without tables as arrays", func(t *trial) {
		t.write("net.npz", npz(ints("states", nil, []int{1 << 30}), floats("theta", []int{2, 2}, make([]float64, 4))))
	}, []string{"!infer net.npz", "!sample net.npz -o s.npz -q", "!convert net.npz -o n.uai", "!info net.npz"}, ""})
	for _, size := range []uint32{65535, 1 << 31} {
		all = append(all, appetite{fmt.Sprintf("a PNG that says it has %d² pixels", size), func(t *trial) {
			from, err := t.c.data("images")
			t.must(err)
			t.copy(from, "images")
			t.write("images/images/0.png", pngHeader(size))
			t.must(os.Remove(t.path("images/images/0.jpg")))
		}, dataLines("images"), ""})
	}
	grid := func(t *trial) {
		from, err := t.c.data("grid")
		t.must(err)
		t.copy(from, "grid")
	}
	for _, options := range []string{"--threads 1000000", "--threads 2147483647", "--blocks 2147483647", "--blocks 1000000x1000000", "--together 2147483647", "--blocks 9223372036854775807x9223372036854775807"} {
		all = append(all, appetite{options, grid, []string{"train grid -o r -q --max-iter 1 --report=false " + options, "train grid --dry-run " + options}, ""})
	}
	all = append(all,
		appetite{"options of infer", func(t *trial) { t.write("net.uai", []byte(treeNetwork)) }, []string{
			"infer net.uai --method gibbs --chains 1000000000 --max-sweeps 3", "infer net.uai --method gibbs --threads 1000000 --max-sweeps 200", "!sample net.uai -o s.npz -q --samples 1000000000000", "sample net.uai -o t.npz -q --sampler gibbs --chains 2000000000",
		}, ""},
		appetite{"an array that says it is large", func(t *trial) {
			a := ints("edges", []int{1 << 40, 2}, []int{0, 1})
			t.write("data.npz", npz(a, ints("labels", []int{2}, []int{0, 1})))
		}, dataLines("data.npz"), ""},
		appetite{"a safetensors header that says it is long", func(t *trial) {
			t.write("m.safetensors", append(binary.LittleEndian.AppendUint64(nil, 1<<40), "{}"...))
		}, []string{"!info m.safetensors", "!check m.safetensors"}, ""},
		appetite{"a model of a billion states", func(t *trial) {
			header := `{"__metadata__":{"format":"blockbp-model","format_version":"1","schema":"{\"node_types\":[{\"name\":\"node\",\"states\":1000000000}]}"}}`
			t.write("m.safetensors", append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...))
		}, []string{"!info m.safetensors", "!check m.safetensors"}, ""},
	)
	all = append(all, irregular()...)
	return all
}

// irregular are devices and pipes where files are wanted.
func irregular() (all []appetite) {
	lines := map[string][]string{
		"it.toml": {"!train grid -o r --config it.toml"}, "it.npz": append(dataLines("it.npz"), "!infer it.npz"), "it.txt": append(dataLines("it.txt"), "!train grid -o r --counting it.txt"),
		"it.nodes.tsv": dataLines("it.nodes.tsv"), "grid/dataset.json": dataLines("grid"), "it.uai": {"!infer it.uai", "!info it.uai", "!check it.uai"},
		"it.safetensors": {"!info it.safetensors", "!train grid -o r --init it.safetensors"},
	}
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		for _, kind := range []string{"device", "pipe"} {
			all = append(all, appetite{fmt.Sprintf("%s that is a %s", name, kind), func(t *trial) {
				from, err := t.c.data("grid")
				t.must(err)
				t.copy(from, "grid")
				if kind == "pipe" {
					t.must(syscall.Mkfifo(t.path(name), 0o600))
				} else {
					t.must(os.Symlink("/dev/zero", t.path(name)))
				}
			}, lines[name], "regular"})
		}
	}
	return all
}

// pngHeader is the beginning of a picture of some size.
func pngHeader(size uint32) []byte {
	var out bytes.Buffer
	out.WriteString("\x89PNG\r\n\x1a\n")
	chunk := []byte("IHDR")
	chunk = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(chunk, size), size)
	chunk = append(chunk, 8, 0, 0, 0, 0)
	_ = binary.Write(&out, binary.BigEndian, uint32(len(chunk)-4))
	out.Write(chunk)
	_ = binary.Write(&out, binary.BigEndian, crc32.ChecksumIEEE(chunk))
	return out.Bytes()
}
