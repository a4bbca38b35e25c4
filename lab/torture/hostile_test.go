//go:build linux

package torture

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/internal/oracle"
)

// hostile is input that asks for much in few bytes.
type hostile struct {
	files map[string]string // of the folder in of a trial
	// commands, in which $DIR is the folder, $RUN a run on sound data of the same form,
	// and $MEMORY the option --memory.
	commands string
	// parts of which each error has at least one.
	parts []string
}

// TestHostile: whatever a small file or an option asks for, commands keep to their bounds, and errors name
// their place.
func TestHostile(t *testing.T) {
	c, dir := built(t), t.TempDir()
	oracle.OK(t, os.WriteFile(filepath.Join(dir, "sound.npz"), []byte(with(nil)["bad.npz"]), 0o644))
	oracle.Must(c.must(dir, "train", "sound.npz", "-o", "run", "--max-iter", "2", "-q", "--report=false"))(t)
	inputs := hostileInputs()
	for n, name := range slices.Sorted(maps.Keys(inputs)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			attempt(t, c, "hostile", n, func(t *trial) { inputs[name].try(t, dir) })
		})
	}
}

func (h hostile) try(t *trial, sound string) {
	for file, text := range h.files {
		t.write(filepath.Join("in", file), []byte(text))
	}
	words := strings.NewReplacer("$DIR", "in", "$RUN", filepath.Join(sound, "run"), "$SOUND", filepath.Join(sound, "sound.npz"),
		"$MEMORY", "--memory 800MB")
	for i, line := range strings.Split(strings.TrimSpace(h.commands), "\n") {
		line = strings.ReplaceAll(words.Replace(strings.TrimSpace(line)), "$OUT", fmt.Sprint("out", i))
		r := t.run(strings.Fields(line)...)
		if r.code != 0 && !slices.ContainsFunc(h.parts, func(part string) bool { return strings.Contains(r.text(), part) }) {
			t.failf("%s: the error has none of %q: %s", line, h.parts, cut(r.text(), 500))
		}
	}
}

// TestDoubtfulNumbers: a number that is probably a mistake takes little however large the machine is, and is
// refused until somebody says that it is meant.
func TestDoubtfulNumbers(t *testing.T) {
	c := built(t)
	const side, mostOfDoubts = 20, 512 << 20 // bytes: what is counted begins with what the test itself takes
	labels, bins, few := make([]int, side*side), make([]int, 2*side*(side-1)), make([]int, side*side)
	for i := range labels {
		labels[i] = 17 * (i % 2)
	}
	labels[5], bins[7], few[0] = 5000, 9_000_000, 1
	write := func(labels, bins []int) []byte {
		all := gridOf(side)
		all = append(all, ints("labels", []int{len(labels)}, labels))
		if bins != nil {
			all = append(all, ints("edge_bins", []int{len(bins)}, bins))
		}
		return npz(all...)
	}
	for n, verb := range []string{"train -o run", "train --dry-run", "train --dry-run --max-passes 2", "check"} {
		attempt(t, c, "doubts", n, func(t *trial) {
			t.write("x.npz", write(few, bins))
			r := t.run(append(strings.Fields(verb), "x.npz")...)
			if r.code != 3 || !strings.Contains(r.text(), "9000000, and the next below it is 0: it looks like a mistake; correct it, or give") {
				t.failf("%s: exit code %d: %s", r.line, r.code, r.text())
			}
			if r.peak > mostOfDoubts || r.seconds > 1 {
				t.failf("%s: %d MiB and %.1f s", r.line, r.peak>>20, r.seconds)
			}
			t.write("x.npz", write(labels, nil)) // with gaps
			if r := t.works("check", "x.npz"); !strings.Contains(r.stderr, "are the names of 3 states: 0, 17, 5000") {
				t.failf("5000 is a note: %s", r.text())
			}
		})
	}
}

// gridOf has the edges of a grid and two features of 0.
func gridOf(side int) []array {
	var edges []int
	for s := range side * side {
		if s%side+1 < side {
			edges = append(edges, s, s+1)
		}
		if s+side < side*side {
			edges = append(edges, s, s+side)
		}
	}
	return []array{
		ints("edges", []int{len(edges) / 2, 2}, edges), floats("node_features", []int{side * side, 2}, make([]float64, 2*side*side)),
	}
}

// The verbs for each kind of data.
const (
	hostileVerbs = `check $DIR $MEMORY
		info $DIR $MEMORY
		train $DIR -o $OUT --dry-run $MEMORY
		train $DIR -o $OUT --max-iter 2 --report=false -q $MEMORY
		train $DIR -o $OUT --max-iter 2 --method pseudo --report=false -q $MEMORY
	`
	npzVerbs = hostileVerbs + `train $DIR -o $OUT --dry-run --untied $MEMORY
		check $DIR -m $RUN $MEMORY
		predict $DIR -m $RUN -o $OUT -q $MEMORY
		predict $DIR -m $RUN -o $OUT -q --clamp --decode map $MEMORY
		eval $DIR -m $RUN -q $MEMORY
		sample $DIR -m $RUN -o $OUT -q $MEMORY
	`
	networkVerbs = `check $DIR/x.uai $MEMORY
		info $DIR/x.uai $MEMORY
		infer $DIR/x.uai --task PR $MEMORY
		infer $DIR/x.uai --task PR --counting bethe $MEMORY
		infer $DIR/x.uai --task PR --method exact $MEMORY
		infer $DIR/x.uai --task MAR $MEMORY -o $OUT.MAR
		infer $DIR/x.uai --task MAR --method exact $MEMORY -o $OUT.MAR
		infer $DIR/x.uai --task MPE $MEMORY -o $OUT.MPE
		infer $DIR/x.uai --task MPE --method exact $MEMORY -o $OUT.MPE
		infer $DIR/x.uai --task MPE --method trws $MEMORY -o $OUT.MPE
		sample $DIR/x.uai -o $OUT.npz --samples 10 -q $MEMORY
	`
)

// hostileInputs are files, and options, that ask for much.
func hostileInputs() map[string]hostile {
	instance := func(parts []string, change arrays, more map[string]string) hostile {
		files := with(change)
		for name, text := range more {
			files[name] = text
		}
		return hostile{files, npzVerbs, append(parts, "the model", "model has", "--memory")}
	}
	labels := func(last int) arrays {
		return arrays{"labels": ints("labels", []int{3}, []int{0, 2, last}), "states": {}}
	}
	bins := func(last int) arrays {
		return arrays{"edge_features": {}, "edge_bins": ints("edge_bins", []int{3}, []int{0, 1, last})}
	}
	network := func(text string, parts ...string) hostile {
		return hostile{map[string]string{"x.uai": text}, networkVerbs, append(parts, "x.uai", "--memory")}
	}
	manifest := func(text string) map[string]string { return map[string]string{"dataset.json": text} }
	types := &strings.Builder{}
	for i := range 1000 {
		fmt.Fprintf(types, `%s{"name": "t%d", "states": 65536}`, []string{", ", ""}[min(1, max(0, 1-i))], i)
	}
	return map[string]hostile{
		"a label of 10000":            instance([]string{"is 10000 a mistake?", "bad.npz:labels[2]: is 10000, want"}, labels(10000), nil),
		"a label of 65535":            instance([]string{"is 65535 a mistake?", "bad.npz:labels[2]: is 65535, want"}, labels(65535), nil),
		"a label of 2^31-1":           instance([]string{"labels[2]"}, labels(1<<31-1), nil),
		"a bin of a million":          instance([]string{"looks like a mistake"}, bins(1_000_000), nil),
		"a bin of 2^24-1":             instance([]string{"looks like a mistake"}, bins(1<<24-1), nil),
		"a bin of 2^31-1":             instance([]string{"edge_bins[2]"}, bins(1<<31-1), nil),
		"states of 65536":             instance([]string{"states"}, arrays{"states": ints("states", []int{3}, []int{65536, 65536, 65536})}, nil),
		"states of 2^31-1":            instance([]string{"bad.npz:states"}, arrays{"states": ints("states", nil, []int{1<<31 - 1})}, nil),
		"different states":            instance([]string{"states"}, arrays{"states": ints("states", []int{3}, []int{65536, 3, 60000})}, nil),
		"node types of 1023":          instance([]string{"node_types", "joins", "labels", "states"}, arrays{"node_types": ints("node_types", []int{3}, []int{0, 1023, 7}), "states": {}}, nil),
		"node types of 2^31-1":        instance([]string{"node_types[1]"}, arrays{"node_types": ints("node_types", []int{3}, []int{0, 1<<31 - 1, 7})}, nil),
		"edge types of 1023":          instance([]string{"edge_types", "edge type"}, arrays{"edge_types": ints("edge_types", []int{3}, []int{0, 1023, 7})}, nil),
		"a node of 2^31-1":            instance([]string{"edges"}, arrays{"edges": ints("edges", []int{1, 2}, []int{0, 1<<31 - 1}), "node_features": {}, "edge_features": {}, "labels": {}, "states": {}}, nil),
		"a grid of 2^31-1":            instance([]string{"grid_shape"}, arrays{"grid_shape": ints("grid_shape", []int{2}, []int{1<<31 - 1, 1<<31 - 1}), "node_features": {}, "labels": {}}, nil),
		"a shape that promises much":  instance([]string{"bad.npz:labels"}, arrays{"labels": {name: "labels", descr: "<i8", shape: []int{3, 1 << 40}}}, nil),
		"a shape of no rows":          instance([]string{"bad.npz"}, arrays{"edge_features": {name: "edge_features", descr: "<f8", shape: []int{0, 1 << 60}}, "edges": ints("edges", []int{0, 2}, []int{})}, nil),
		"an array that expands":       {map[string]string{"bad.npz": bomb("labels", 300<<20)}, npzVerbs, []string{"bad.npz:labels"}},
		"a million states by name":    instance([]string{"dataset.json"}, nil, manifest(`{"states": 1000000}`)),
		"states of a thousand types":  instance([]string{"dataset.json"}, nil, manifest(`{"node_types": [`+types.String()+`]}`)),
		"65536 states in a manifest":  instance([]string{"states"}, arrays{"states": {}}, manifest(`{"states": 65536}`)),
		"16777216 bins in a manifest": instance([]string{"16777216 features"}, bins(2), manifest(`{"edge_bins": 16777216}`)),
		"more bins in a manifest":     instance([]string{"dataset.json"}, bins(2), manifest(`{"edge_bins": 9000000000000000000}`)),

		"a table with a label of 65535": {
			map[string]string{"x.nodes.tsv": "a\t0\t\t0\nb\t65535\t\t1\nc\t1\t\t1\n", "x.edges.tsv": "a b\nb c\n"}, hostileVerbs, []string{"is 65535 a mistake?"},
		},
		"a table with a feature of 2^24-1": {
			map[string]string{"x.nodes.tsv": "a\t0\t\t0\nb\t1\t\t16777215\nc\t1\t\t1\n", "x.edges.tsv": "a b\nb c\n"}, hostileVerbs, []string{"looks like a mistake"},
		},
		"a table with a feature of 2^31": {
			map[string]string{"x.nodes.tsv": "a\t0\t\t0\nb\t1\t\t2147483648\n", "x.edges.tsv": "a b\n"}, hostileVerbs, []string{"x.nodes.tsv:2"},
		},

		"a picture's header of 65535²": images(pictureHeader(65535, 65535), featureMap([]int{2, 2, 3}...), "0 1\n1 0\n", "a.png"),
		"a picture of 8000²":           images(blank(8000, 8000), featureMap([]int{2, 2, 3}...), "0 1\n1 0\n", "a.png", "a.regions.txt", "a.npy"),
		"a small map on a picture":     images(blank(240, 240), featureMap([]int{1, 1, 5000}...), strings.Repeat(strings.Repeat("0 1 ", 120)+"\n", 240)), // 1.2 GB, pixel by pixel
		"labels with a header of 65535²": {
			map[string]string{"images/a.png": blank(4, 4), "features/a.npy": featureMap([]int{2, 2, 3}...), "labels/a.png": pictureHeader(65535, 65535)}, hostileVerbs, []string{"labels/a.png"},
		},
		"5000 states of a picture": images(blank(4, 4), featureMap([]int{2, 2, 3}...), "0 1 2 3\n1 2 3 0\n0 0 0 5000\n1 1 1 1\n", "is 5000 a mistake?"),

		"a million states without a factor": network("MARKOV\n2\n1000000 1000000\n0\n"),
		"5 million states":                  network("MARKOV\n5\n" + strings.Repeat("1048576 ", 5) + "\n0\n"),
		"more states than are read":         network("MARKOV\n65\n" + strings.Repeat("1048576 ", 65) + "\n0\n"),
		"a table that is not there":         network("MARKOV\n2\n1000000 1000000\n1\n2 0 1\n\n1000000000000\n 1 2 3\n"),
		"a scope that is not there":         network("MARKOV\n2\n2 2\n1\n2000000000 0 1\n"),
		"factors that are not there":        network("MARKOV\n2\n2 2\n2000000000\n1 0\n"),
		"variables that are not there":      network("MARKOV\n2000000000\n2 2\n"),
		"a wide variable beside many":       network(wideBesideMany(), "write a .uai file"),
		"factors of three variables":        network(wideFactor(60), "factor", "memory"),

		"evidence of much": {
			map[string]string{"x.uai": "MARKOV\n2\n2 2\n0\n", "x.uai.evid": "2000000000 0 1 2 3\n", "y.evid": "1 2000000000 1\n"},
			"infer $DIR/x.uai --evidence $DIR/x.uai.evid\ninfer $DIR/x.uai --evidence $DIR/y.evid\n" +
				"sample $DIR/x.uai --evidence $DIR/y.evid -o $OUT.npz",
			[]string{".evid:1"},
		},
		"one table for many edges": {
			map[string]string{"x.npz": string(npz(manyEdges()...))}, "info $DIR/x.npz $MEMORY\ninfer $DIR/x.npz $MEMORY\n" +
				"sample $DIR/x.npz -o $OUT.npz $MEMORY", []string{"x.npz:theta_uv", "x.npz"},
		},
		"a model without weights of edges": {
			map[string]string{"m.safetensors": modelOf(60000), "d/bad.npz": with(arrays{"labels": {}, "states": {}, "edge_features": {}})["bad.npz"]},
			"info $DIR/m.safetensors\ncheck $DIR/m.safetensors\npredict $DIR/d -m $DIR/m.safetensors -o $OUT $MEMORY\n" +
				"sample $DIR/d -m $DIR/m.safetensors -o $OUT $MEMORY\ncheck $DIR/d -m $DIR/m.safetensors $MEMORY",
			[]string{"--memory"},
		},

		"options": {
			map[string]string{"x.uai": loopUAI},
			`train $SOUND -o $OUT --threads 1000000
			predict $SOUND -m $RUN -o $OUT --threads 1000000
			sample $DIR/x.uai -o $OUT.npz --samples 2000000000 --thin 1 --burn-in 1 $MEMORY
			sample $DIR/x.uai -o $OUT.npz --samples 600000000 --chains 600000000 --thin 1 --burn-in 1 $MEMORY
			sample $DIR/x.uai -o $OUT.npz --samples 100000 --chains 1000000000 --thin 1 --burn-in 1 $MEMORY
			train $SOUND -o $OUT --blocks 100000x100000
			train $SOUND -o $OUT --blocks 9000000000000 --partition tiles
			train $SOUND -o $OUT --blocks 9000000000000
			train $SOUND -o $OUT --together 1000000000 --max-iter 2 --report=false -q
			info $RUN --weights 9000000000000000000
			demo --side 10000 -o $OUT`,
			[]string{"--threads", "--memory", "--blocks", "tiles", "--samples", "--side", "memory"},
		},
	}
}

// loopUAI is a triangle of variables with 2, 3 and 2 states.
const loopUAI = `MARKOV
3
2 3 2
5
1 0
1 1
2 0 1
2 1 2
2 2 0

2 1.5 0.5
3 0.2 1 2
6 1 2 0.5 3 1 0.7
6 2 1 1 0.3 0.9 4
4 1 0.4 0.6 2
`

// arrays replace good ones by their names; one without a name leaves the good one out.
type arrays map[string]array

// with is an instance, a triangle with 3 states, with some arrays replaced.
func with(changes arrays) map[string]string {
	all := goodArrays()
	maps.Copy(all, changes)
	var left []array
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if a := all[name]; a.name != "" {
			left = append(left, a)
		}
	}
	return map[string]string{"bad.npz": string(npz(left...))}
}

func goodArrays() arrays {
	return arrays{
		"edges": ints("edges", []int{3, 2}, []int{0, 1, 1, 2, 0, 2}), "node_features": floats("node_features", []int{3, 2}, []float64{1, 2, 3, 4, 5, 6}),
		"edge_features": floats("edge_features", []int{3, 1}, []float64{1, 0, 1}), "labels": ints("labels", []int{3}, []int{0, 2, 1}),
		"states": ints("states", nil, []int{3}),
	}
}

// featureMap is a map of zeros.
func featureMap(shape ...int) string {
	size := 1
	for _, n := range shape {
		size *= n
	}
	a := array{descr: "<f4", shape: shape, data: make([]float64, size)}
	return string(a.npy())
}

// bomb is an archive with so many zeros in the place of an array, deflated.
func bomb(of string, bytesOfIt int) string {
	var b bytes.Buffer
	archive := zip.NewWriter(&b) // a buffer takes all that is written to it
	for name, a := range goodArrays() {
		w, _ := archive.Create(name + ".npy")
		if name == of {
			a = array{descr: "|i1", shape: []int{bytesOfIt / 3, 3}}
		}
		_, _ = w.Write(a.npy())
		for chunk := make([]byte, 3<<20); name == of && bytesOfIt > 0; bytesOfIt -= len(chunk) {
			_, _ = w.Write(chunk[:min(len(chunk), bytesOfIt)])
		}
	}
	_ = archive.Close()
	return b.String()
}

// pictureHeader is a png of any size that ends behind its header.
func pictureHeader(width, height uint32) string {
	chunk := []byte("IHDR")
	chunk = binary.BigEndian.AppendUint32(chunk, width)
	chunk = binary.BigEndian.AppendUint32(chunk, height)
	chunk = append(chunk, 8, 0, 0, 0, 0) // grey
	return "\x89PNG\r\n\x1a\n\x00\x00\x00\x0d" + string(chunk) + string(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(chunk)))
}

// blank is a whole picture of one colour.
func blank(width, height int) string {
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.Black, color.White}))
	return b.String()
}

// images is a folder with one picture.
func images(picture, features, regions string, parts ...string) hostile {
	return hostile{map[string]string{"images/a.png": picture, "features/a.npy": features, "labels/a.regions.txt": regions}, hostileVerbs, parts}
}

// wideBesideMany is a network in which padding to the largest variable would take much.
func wideBesideMany() string {
	const small = 20_000
	return fmt.Sprintf("MARKOV\n%d\n1000000 %s\n%d\n%s\n%s", small+1, strings.Repeat("2 ", small), small-1, pairsFrom(1, small-1), strings.Repeat("4 1 2 3 4\n", small-1))
}

func pairsFrom(first, count int) string {
	var b strings.Builder
	for i := range count {
		fmt.Fprintf(&b, "2 %d %d\n", first+i, first+i+1)
	}
	return b.String()
}

// wideFactor is a network with one factor of three variables of so many states.
func wideFactor(states int) string {
	size := states * states * states
	return fmt.Sprintf("MARKOV\n3\n%d %d %d\n1\n3 0 1 2\n%d\n%s\n", states, states, states, size, strings.Repeat("2 ", size))
}

// manyEdges are potentials whose edges share a table.
func manyEdges() []array {
	const nodes, states = 2000, 200
	var ends []int
	for a := range nodes {
		for b := a + 1; b < min(a+10, nodes); b++ {
			ends = append(ends, a, b)
		}
	}
	table := func(name string, rows int) array {
		return array{name: name, descr: "<f4", shape: []int{rows, states}, data: make([]float64, rows*states)}
	}
	return []array{table("theta", nodes), table("theta_uv", states), ints("edges", []int{len(ends) / 2, 2}, ends)}
}

// modelOf is a model file of so many states whose edges have no weights.
func modelOf(states int) string {
	m, err := crf.NewModel(crf.Homogeneous(crf.NumberedStates(states), 2, 0))
	path := filepath.Join(work, "wide.safetensors")
	if err == nil {
		recipe := dataset.Recipe{Kind: "npz", NodeForm: "dense", EdgeForm: "constant"}
		err = crf.Save(path, m, map[string]string{"recipe": recipe.String(), "counting": "convex", "seed": "1"})
	}
	text, err2 := os.ReadFile(path)
	if err != nil || err2 != nil {
		panic(fmt.Sprint(err, err2))
	}
	return string(text)
}

// irregular are commands that read a file, at $IT, by its name.
var irregular = map[string]string{
	"it.npz": "train $IT -o $OUT\ntrain good/grid -o $OUT --eval dev=$IT\npredict $IT -m good/run -o $OUT\n" +
		"eval $IT -m good/run\nsample $IT -o $OUT.npz\ninfer $IT\ninfo $IT\ncheck $IT",
	"it.txt": "train $IT -o $OUT\ncheck $IT\ntrain good/images -o $OUT --list $IT\ntrain good/grid -o $OUT --counting $IT\npredict good/grid -m good/run -o $OUT --counting $IT\n" +
		"infer good/net.uai --counting $IT",
	"it.nodes.tsv":           "train $IT -o $OUT\ncheck $IT\ninfo $IT",
	"d/dataset.json":         "train d -o $OUT\ncheck d\ninfo d",
	"d/1.npz":                "train d -o $OUT\ncheck d\ninfo d",
	"g/papers.edges.tsv":     "train g -o $OUT\ncheck g",
	"i/labels/0.regions.txt": "train i -o $OUT\ncheck i",
	"i/images/0.jpg":         "train i -o $OUT",
	"i/features/0.npy":       "train i -o $OUT",
	"it.safetensors": "train good/grid -o $OUT --init $IT\npredict good/grid -m $IT -o $OUT\n" +
		"eval good/grid -m $IT\ninfo $IT\ncheck $IT",
	"it.uai":                         "infer $IT\nsample $IT -o $OUT.npz\ninfo $IT\ncheck $IT",
	"it.evid":                        "infer good/net.uai --evidence $IT\nsample good/net.uai -o $OUT.npz --evidence $IT",
	"r/config.json":                  "train r --resume\ntrain good/grid --resume -o r",
	"r/data.json":                    "train r --resume",
	"r/metrics.jsonl":                "train r --resume",
	"r/model.safetensors":            "info r\npredict good/grid -m r -o $OUT",
	"r/checkpoint/state.safetensors": "train r --resume",
}

// TestIrregularFiles: where a file is wanted, a device, a pipe or a folder is refused at once, and the error
// names the path.
func TestIrregularFiles(t *testing.T) {
	c, good := built(t), t.TempDir()
	oracle.OK(t, goodFiles(c, good))
	kinds := map[string]func(path string) error{
		"device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"folder": func(path string) error { return os.Mkdir(path, 0o777) },
	}
	for kind, make := range kinds {
		for n, name := range slices.Sorted(maps.Keys(irregular)) {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				attempt(t, c, "irregular "+kind, n, func(t *trial) {
					t.must(os.Symlink(good, t.path("good")))
					if folder, _, below := strings.Cut(name, "/"); below {
						t.copy(filepath.Join(good, map[string]string{"d": "grid", "g": "graph", "i": "images", "r": "run"}[folder]), folder)
					}
					t.must(os.RemoveAll(t.path(name)))
					t.must(make(t.path(name)))
					for line := range strings.SplitSeq(strings.NewReplacer("$IT", name, "$OUT", "out").Replace(irregular[name]), "\n") {
						if r := t.run(strings.Fields(line)...); r.code <= 0 || !strings.Contains(r.text(), filepath.Base(name)) || r.seconds > 1 {
							t.failf("%s: exit code %d, %.1f s, want a refusal that names %s: %s", line, r.code, r.seconds, name, r.text())
						}
					}
				})
			})
		}
	}
}
