//go:build linux

package torture

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/safetensors"
)

// FuzzFormats: whatever is in a file of any format, no command crashes, takes a gigabyte or five
// seconds, or prints what a terminal obeys. A file is a good one, mutated as the seed says.
func FuzzFormats(f *testing.F) {
	c := built(f)
	good := f.TempDir()
	if err := goodFiles(c, good); err != nil {
		f.Fatal(err)
	}
	all := formats()
	for n := range 90 {
		f.Add(uint8(n), uint64(n))
	}
	f.Fuzz(func(t *testing.T, format uint8, seed uint64) {
		attempt(t, c, "formats", int(seed), func(one *trial) { feed(one, good, all[int(format)%len(all)]) })
	})
}

// format is a kind of file: a good one, how it is mutated, and who reads it. In the
// commands every trial's folder is the working folder, and GOOD the one of good files.
type format struct {
	name   string // of the file in the folder
	mutate func(rng *rand.Rand, good []byte) []byte
	verbs  []string
}

// fromArrays mutates an archive made from arrays, now and then as bytes.
func fromArrays(arrays []array) func(rng *rand.Rand, good []byte) []byte {
	return func(rng *rand.Rand, good []byte) []byte {
		if rng.IntN(4) == 0 {
			return mutateBytes(rng, good)
		}
		return npz(mutateArrays(rng, arrays)...)
	}
}

const trainBriefly = "train %s -o new -q --report=false --max-passes 1"

// dataVerbs are the commands that read data to learn from.
func dataVerbs(data string) []string {
	return []string{"check " + data, "info " + data, "train " + data + " --dry-run", fmt.Sprintf(trainBriefly, data)}
}

// formats are all kinds of files.
func formats() []format {
	fixed := func() *rand.Rand { return rand.New(rand.NewPCG(1, 1)) }
	network := []string{
		"infer FILE --max-sweeps 100", "infer FILE --task MAR --method exact --memory 100000000", "infer FILE --task MPE",
		"sample FILE -o out.npz --samples 20 --burn-in 10 -q", "info FILE", "check FILE",
	}
	of := func(file string) (lines []string) {
		for _, line := range network {
			lines = append(lines, strings.ReplaceAll(line, "FILE", file))
		}
		return lines
	}
	return []format{
		{"grid/0.npz", fromArrays(gridInstance(fixed())), append(dataVerbs("grid"),
			"predict grid -m GOOD/run -o out -q", "eval grid -m GOOD/run -q",
			"sample grid -m GOOD/run --samples 5 --burn-in 5 -q -o out")},
		{"ba/1.npz", fromArrays(scaleFreeInstance(fixed())), dataVerbs("ba")},
		{"typed/0.npz", fromArrays(typedInstance(fixed())), dataVerbs("typed")},
		{"typed/dataset.json", mutateText, dataVerbs("typed")},
		{"images/features/0.npy", fromFeatures, dataVerbs("images")},
		{"images/images/0.jpg", mutateBytes, append(dataVerbs("images"), "predict images -m GOOD/images-run -o out -q")},
		{"images/labels/0.regions.txt", mutateText, dataVerbs("images")},
		{"images/labels/0.png", mutateBytes, dataVerbs("images")},
		{"images/train.txt", mutateText, []string{"train images --list images/train.txt --dry-run",
			"check images --list images/train.txt"}},
		{"graph/papers.nodes.tsv", mutateText, dataVerbs("graph")},
		{"graph/papers.edges.tsv", mutateText, dataVerbs("graph")},
		{"net.uai", mutateText, of("net.uai")},
		{"potentials.npz", fromArrays(potentials()), of("potentials.npz")},
		{"net.uai.evid", mutateText, []string{
			"infer net.uai --evidence net.uai.evid",
			"sample net.uai --evidence net.uai.evid --samples 5 --burn-in 5 -q -o out.npz",
		}},
		{"run/model.safetensors", fromModel, []string{"info run/model.safetensors", "predict grid -m run -o out -q",
			"check run/model.safetensors", "train grid -o new -q --max-passes 1 --report=false --init run/model.safetensors",
			"eval grid -m run -q", "train grid -o new -q --max-passes 1 --report=false --reference run/model.safetensors"}},
		{"run/metrics.jsonl", mutateText, runVerbs},
		{"run/config.json", mutateText, runVerbs},
		{"run/result.json", mutateText, runVerbs},
		{"run/data.json", mutateText, runVerbs},
		{"run/checkpoint/state.safetensors", fromModel, []string{"train run --resume -q --max-passes 3"}},
	}
}

var runVerbs = []string{"info run", "train run --resume -q --max-passes 3"}

// potentials is a network as arrays.
func potentials() []array {
	return []array{
		ints("edges", []int{3, 2}, []int{0, 1, 1, 2, 2, 0}), ints("states", []int{3}, []int{2, 3, 2}),
		floats("theta", []int{3, 3}, []float64{.1, .2, 0, .3, .4, .5, -1, 1, 0}),
		floats("theta_uv", []int{3, 3, 3}, make([]float64, 27)),
	}
}

// fromFeatures mutates a feature map of an image.
func fromFeatures(rng *rand.Rand, good []byte) []byte {
	if rng.IntN(2) == 0 {
		return mutateBytes(rng, good)
	}
	a := array{name: "x", descr: "<f4", shape: []int{4, 4, 3}, data: make([]float64, 48)}
	return mutateArrays(rng, []array{a})[0].npy()
}

// fromModel mutates a safetensors file, as bytes or what it says of itself with a right
// checksum, so that the mutation is not seen before it is believed.
func fromModel(rng *rand.Rand, good []byte) []byte {
	if rng.IntN(3) == 0 {
		return mutateBytes(rng, good)
	}
	mutated, err := mutateTensors(rng, good)
	if err != nil {
		return mutateBytes(rng, good)
	}
	return mutated
}

// mutateTensors writes a safetensors file again, with metadata or a shape changed.
func mutateTensors(rng *rand.Rand, good []byte) ([]byte, error) {
	f, err := safetensors.NewFile(strings.NewReader(string(good)), int64(len(good)))
	if err != nil {
		return nil, err
	}
	metadata := map[string]string{}
	for key, value := range f.Metadata() {
		if rng.IntN(len(f.Metadata())) == 0 {
			value = string(mutateText(rng, []byte(value)))
		}
		metadata[key] = value
	}
	metadata[safetensors.ChecksumKey] = ""
	var tensors []safetensors.Tensor
	for _, info := range f.Tensors() {
		name, shape := info.Name, info.Shape
		switch rng.IntN(12) {
		case 0:
			name = "x"
		case 1:
			shape = append([]int{1}, shape...)
		case 2:
			continue
		}
		values, err := safetensors.Read(f, info.Name)
		if err != nil {
			return nil, err
		}
		tensors = append(tensors, safetensors.New(name, shape, values))
	}
	var out strings.Builder
	err = safetensors.Write(&out, metadata, tensors)
	return []byte(out.String()), err
}

// goodFiles makes a folder with a good file of every format.
func goodFiles(c *campaign, dir string) error {
	for _, set := range []string{"grid", "ba", "typed", "images", "graph", "one", "net.uai"} {
		if err := copyPath(c.data(set), filepath.Join(dir, set)); err != nil {
			return err
		}
	}
	for name, text := range map[string][]byte{
		"net.uai.evid": []byte("2 0 1 5 2\n"),
		"tree.uai":     []byte(treeNetwork), "potentials.npz": npz(potentials()...),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	for _, line := range []string{
		"train grid -o run --max-passes 2 -q",
		"train images -o images-run --list images/train.txt --max-passes 1 -q --report=false",
	} {
		if _, err := c.must(dir, strings.Fields(line)...); err != nil {
			return err
		}
	}
	// Beside 0.regions.txt, of which two feed takes one.
	return os.WriteFile(filepath.Join(dir, "images/labels/0.png"), grey(64, 48), 0o644)
}

const treeNetwork = "MARKOV\n3\n2 2 2\n2\n2 0 1\n2 1 2\n4\n 1 2 3 4\n4\n 4 3 2 1\n"

// feed gives a mutated file to one of its readers.
func feed(t *trial, good string, f format) {
	// What a reader reads beside the file itself is what its first folder holds.
	for _, name := range []string{strings.Split(f.name, "/")[0], "grid", "one", "net.uai", "tree.uai"} {
		if !t.exists(name) {
			t.copy(filepath.Join(good, name), name)
		}
	}
	if f.name == "images/labels/0.png" {
		t.must(os.Remove(t.path("images/labels/0.regions.txt")))
	} else if t.exists("images") {
		t.must(os.Remove(t.path("images/labels/0.png")))
	}
	text := f.mutate(t.rng, t.read(f.name))
	t.write(f.name, text)
	t.notef("# %s was mutated", f.name)
	line := f.verbs[t.rng.IntN(len(f.verbs))]
	r := t.run(strings.Fields(strings.ReplaceAll(line, "GOOD", good))...)
	if i := strings.IndexFunc(r.stderr, raw); i >= 0 {
		t.failf("%s prints the control character %q", r.line, r.stderr[i])
	}
}

// raw reports characters that terminals obey.
func raw(c rune) bool { return c < ' ' && c != '\n' && c != '\t' || c == 0x7f }
