//go:build linux

package torture

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"slices"
	"strings"
)

// briefly is how a model is learned whose weights do not matter.
const briefly = " -o r -q --force --report=false --max-passes 1"

// usesOf are what reads a run, and its model, beside the data that it is of.
func usesOf(data string) []string {
	return []string{
		"info r", "check r/model.safetensors", "eval " + data + " -m r", "predict " + data + " -m r -o p --force -q",
		"train r --resume -q --max-passes 3",
	}
}

// learnedCounts are of data that are learned from, and so of models and checkpoints.
func learnedCounts() []count {
	of := func(name string, from int, arrays func(n int) []byte, more ...string) count {
		return count{name, from, func(t *trial, n int) { t.write("a.npz", arrays(n)) },
			slices.Concat(linesOf("a.npz"), []string{"train a.npz" + briefly}, more)}
	}
	table := func(name, cell string) count {
		return count{name, 500, func(t *trial, n int) {
			t.files("d/nodes.csv", threeNodes(numbered(n, "", ",x#"), numbered(n, "", cell)), "d/edges.csv", twoEdges)
		}, append([]string{"train d" + briefly}, usesOf("d")...)}
	}
	return []count{
		of("columns of features", 1000, func(n int) []byte {
			return chain([]int{0, 1, 1}, floats("node_features", []int{3, n}, make([]float64, 3*n)))
		}, usesOf("a.npz")...),
		of("columns of features of edges", 1000, func(n int) []byte {
			return chain([]int{0, 1, 1}, floats("edge_features", []int{2, n}, make([]float64, 2*n)))
		}),
		of("bins of edges", 1000, func(n int) []byte { return longChain(n+1, ints("edge_bins", []int{n}, upTo(n))) }),
		of("samples", 1000, func(n int) []byte {
			return npz(ints("edges", []int{2, 2}, []int{0, 1, 1, 2}), ints("labels", []int{n, 3}, alternating(3*n)))
		}, "train a.npz -o m -q --force --report=false --model potts"),
		of("nodes with weights of their own", 1000, func(n int) []byte {
			return longChain(n, ints("states", []int{n}, slices.Repeat([]int{2}, n)))
		}, append([]string{"train a.npz --untied" + briefly}, usesOf("a.npz")[:4]...)...),
		table("columns of numbers in a model", ",#"),
		table("columns of words in a model", ",v#"),
		{"sentences in a checkpoint", 500, func(t *trial, n int) {
			sentence := func(i int) string { return fmt.Sprintf("w%d X%d\nv X%d\n\n", i%97, i%2, i%3%2) }
			t.files("d.conll", listed(n, "", sentence))
		}, append([]string{"train d.conll" + briefly}, usesOf("d.conll")[:4]...)},
		{"instances of a folder", 200, func(t *trial, n int) {
			for _, a := range []array{
				ints("edges", []int{2 * n, 2}, slices.Repeat([]int{0, 1, 1, 2}, n)),
				ints("sizes", []int{n, 2}, slices.Repeat([]int{3, 2}, n)), ints("labels", []int{3 * n}, alternating(3*n)),
			} {
				t.write("d/"+a.name+".npy", a.npy())
			}
		}, append(folderLines[:3:3], "train d"+briefly, "predict d -m r -o p --arrays --force -q")},
	}
}

// potentialCounts are of networks in .npz files.
func potentialCounts() []count {
	of := func(name string, end func(i int) int) count {
		return count{name, 500, func(t *trial, n int) {
			edges, theta := make([]int, 2*n-2), make([]float64, 2*n)
			for i := range n - 1 {
				edges[2*i], edges[2*i+1], theta[i] = end(i), i+1, float64(i%5)/10
			}
			t.write("a.npz", npz(ints("edges", []int{n - 1, 2}, edges), floats("theta", []int{n, 2}, theta),
				floats("theta_uv", []int{2, 2}, []float64{0.1, 0, 0, 0.1})))
		}, []string{
			"infer a.npz", "infer a.npz --task MPE", "infer a.npz --task MAR --method exact",
			"sample a.npz -o s.npz --force",
		}}
	}
	return []count{
		of("potentials of a chain", func(i int) int { return i }), of("potentials of a star", func(int) int { return 0 }),
	}
}

// runCounts are of the files of a run, which commands need or refuse, and of those beside a model.
func runCounts() []count {
	learn := func(t *trial) {
		t.write("a.npz", chain([]int{0, 1, 1}))
		t.must(os.RemoveAll(t.path("r")))
		t.works(strings.Fields("train a.npz" + briefly)...)
	}
	of := func(name, file, behind string, pattern string, lines ...string) count {
		return count{name, 1000, func(t *trial, n int) {
			learn(t)
			text := string(t.read(file))
			at := strings.Index(text, behind) + len(behind)
			t.files(file, text[:at]+numbered(n, "", pattern)+text[at:])
		}, lines}
	}
	beside := func(name, file string, text func(n int) string, line string) count {
		return count{name, 1000, func(t *trial, n int) {
			learn(t)
			t.files(file, text(n))
		}, []string{line}}
	}
	const record = `{"iter":1#,"pass":1#,"wall_s":1,"objective":1.5,"grad_norm":1.5,"step":1,"bp_sweeps":1}` + "\n"
	return []count{
		of("records of a run", "r/metrics.jsonl", "\n", record, "info r"),
		of("keys of result.json", "r/result.json", "{", `"k#": 1, `, "info r", "eval a.npz -m r"),
		of("keys of config.json", "r/config.json", "{", `"k#": 1, `, "info r", "!train r --resume"),
		of("files of data.json", "r/data.json", "[", `{"path": "a#", "sha256": "0", "bytes": 1}, `,
			"info r", "!train r --resume"),
		beside("tensors of a checkpoint", "r/checkpoint/state.safetensors", func(n int) string {
			tensors := numbered(n, "", `,"t#":{"dtype":"F64","shape":[0],"data_offsets":[0,0]}`)
			text := `{"__metadata__":{"progress":"{}"}` + tensors + "}"
			return string(binary.LittleEndian.AppendUint64(nil, uint64(len(text)))) + text
		}, "!train r --resume"),
	}
}

// pictureCounts are of image folders.
func pictureCounts() []count {
	of := func(name string, from int, write func(t *trial, n int), lines ...string) count {
		return count{name, from, write, lines}
	}
	return []count{
		of("pictures", 20, func(t *trial, n int) {
			for i := range n {
				t.picture(fmt.Sprint(i), 4, 3)
			}
		}, append([]string{"train d" + briefly}, usesOf("d")[:4]...)...),
		of("rows of a picture", 100, func(t *trial, n int) { t.picture("a", 50, n) },
			folderLines[:3:3]...),
		of("columns of a picture", 100, func(t *trial, n int) { t.picture("a", n, 50) }, folderLines...),
		of("chunks of a picture", 1000, func(t *trial, n int) {
			t.picture("a", 4, 3)
			const head = 8 + 25 // the signature, and the chunk IHDR
			text, chunk := string(t.read("d/images/a.png")), "\x00\x00\x00\x03tEXta\x00b"
			chunk += string(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(chunk[4:]))))
			t.files("d/images/a.png", text[:head]+strings.Repeat(chunk, n)+text[head:])
		}, folderLines...),
		of("states of pixels", 100, func(t *trial, n int) {
			t.picture("a", n, 1)
			t.files("d/labels/a.regions.txt", numbered(n, " ", "#")+"\n")
		}, "info d"),
		of("columns of a feature map", 500, func(t *trial, n int) {
			t.picture("a", 4, 3)
			a := floats("", []int{3, 4, n}, make([]float64, 12*n))
			t.write("d/features/a.npy", a.npy())
		}, append(folderLines[:3:3], "train d"+briefly)...),
		of("ids of a list", 500, func(t *trial, n int) {
			t.picture("a", 4, 3)
			t.files("ids.txt", "a\n"+numbered(n, "", "b#\n"))
		}, "!check d --list ids.txt", "!train d --dry-run --list ids.txt"),
	}
}

// picture writes one of an image folder, and its labels.
func (t *trial) picture(id string, width, height int) {
	t.write("d/images/"+id+".png", grey(width, height))
	row := strings.TrimSpace(strings.Repeat("0 1 ", width/2)) + "\n"
	t.files("d/labels/"+id+".regions.txt", strings.Repeat(row, height))
}

// chain is a small network of nodes 0 – 1 – 2 with labels.
func chain(labels []int, more ...array) []byte {
	return npz(append([]array{ints("edges", []int{2, 2}, []int{0, 1, 1, 2}), ints("labels", []int{3}, labels)},
		more...)...)
}
