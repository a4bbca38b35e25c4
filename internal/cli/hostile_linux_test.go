package cli_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/oracle"
)

// What a command may take of the machine for a small file, or an option, that asks for
// much: memory, and processor time, which other programs do not lengthen.
const (
	hostileBytes   = 1 << 30
	hostileSeconds = 5
	hostileMemory  = "800MB" // what the commands are told
)

// hostile is input that asks for much in few bytes.
type hostile struct {
	files map[string]string // of the working folder
	// commands, in which $DIR is the folder, $RUN a run on sound data of the same form,
	// and $MEMORY the option --memory.
	commands string
	// parts of which each error has at least one.
	parts []string
}

// measured runs the command in a process of its own, with what it took.
func measured(t *testing.T, args ...string) (o outcome, bytes int64, seconds float64) {
	t.Helper()
	self := oracle.Must(os.Executable())(t)
	// Address space bounds what a mistake does to the machine.
	line := slices.Concat([]string{"-c", `ulimit -v 12000000; exec "$0" "$@"`, self}, args)
	ctx, cancel := context.WithTimeout(t.Context(), 20*hostileSeconds*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", line...)
	peak := filepath.Join(t.TempDir(), "peak")
	cmd.Env = append(os.Environ(), asCommand+"=1", peakFile+"="+peak, "GOMAXPROCS=2")
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	// A crashed command leaves no account; its exit code fails the test then.
	if text, err := os.ReadFile(peak); err == nil {
		bytes = oracle.Must(strconv.ParseInt(string(text), 10, 64))(t)
	}
	took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return outcome{args, cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}, bytes, took.Seconds()
}

// TestHostile: whatever a small file or an option asks for, no command panics, takes a
// gigabyte or five seconds, and errors name their place.
func TestHostile(t *testing.T) {
	oracle.Long(t)
	t.Parallel()
	sound := filepath.Join(t.TempDir(), "sound")
	writeFile(t, filepath.Join(sound, "good.npz"), npz(t, goodArrays(t)))
	run := filepath.Join(t.TempDir(), "run")
	mustRun(t, "train", sound, "-o", run, "--max-iter", "2", "-q", noReport)
	for name, c := range hostileInputs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			for file, text := range c.files {
				writeFile(t, filepath.Join(folder, file), text)
			}
			replace := strings.NewReplacer("$DIR", folder, "$RUN", run, "$SOUND", sound, "$MEMORY", "--memory "+hostileMemory)
			for i, line := range strings.Split(strings.TrimSpace(c.commands), "\n") {
				line = strings.ReplaceAll(replace.Replace(strings.TrimSpace(line)), "$OUT", filepath.Join(folder, fmt.Sprint("out", i)))
				o, bytes, seconds := measured(t, strings.Fields(line)...)
				switch text := strings.Join(o.errorLines(), "\n"); {
				case o.code < 0 || o.code == 70 || strings.Contains(o.stderr, "goroutine "):
					t.Errorf("%s: it ended with %d:\n%.3000s", line, o.code, o.stderr)
				case bytes > hostileBytes || seconds > hostileSeconds:
					t.Errorf("%s: %d MiB and %.1f s of processor time: %s", line, bytes>>20, seconds, text)
				case o.code == 0:
				case !slices.ContainsFunc(c.parts, func(part string) bool { return strings.Contains(o.stdout+text, part) }):
					t.Errorf("%s: the error has none of %q: %s%s", line, c.parts, o.stdout, text)
				}
			}
		})
	}
}

// TestDoubtfulNumbers: a number that is probably a mistake takes little however large the machine is, and is
// refused until somebody says that it is meant.
func TestDoubtfulNumbers(t *testing.T) {
	oracle.Long(t)
	t.Parallel()
	const bytes, seconds = 100 << 20, 1
	g := oracle.Must(graph.Grid(20, 20, graph.GridOptions{}))(t)
	n, m := g.NumNodes(), g.NumEdges()
	us, vs := g.Ends()
	var edges []int32
	for e := range us {
		edges = append(edges, us[e], vs[e])
	}
	write := func(labels, bins []int32) string {
		a := arrays{"edges": npy(t, []int{m, 2}, edges), "node_features": npy(t, []int{n, 2}, make([]float64, 2*n)), "labels": npy(t, []int{n}, labels)}
		if bins != nil {
			a["edge_bins"] = npy(t, []int{m}, bins)
		}
		path := filepath.Join(t.TempDir(), "x.npz")
		writeFile(t, path, npz(t, a))
		return path
	}
	labels, bins := make([]int32, n), make([]int32, m)
	for i := range labels {
		labels[i] = 17 * int32(i%2)
	}
	labels[5], bins[7] = 5000, 9_000_000
	few := make([]int32, n)
	few[0] = 1
	for path, doubt := range map[string]string{write(labels, nil): "the next largest label is 17: is 5000 a mistake?", write(few, bins): "the next largest bin is 0: is 9000000 a mistake?"} {
		for _, verb := range []string{"train -o " + filepath.Join(t.TempDir(), "run"), "train --dry-run", "train --dry-run --max-passes 2", "check"} {
			o, took, cpu := measured(t, append(strings.Fields(verb), path)...)
			for again := 0; again < 2 && (took > bytes || cpu > seconds); again++ {
				// What the collector of garbage leaves for later depends on the load: a fault is there each time.
				_, took, cpu = measured(t, append(strings.Fields(verb), path)...)
			}
			if text := o.stdout + o.stderr; o.code != 3 || !strings.Contains(text, doubt) || !strings.Contains(text, "correct it, or give") {
				t.Errorf("%s: exit %d: %s", verb, o.code, text)
			}
			if took > bytes || cpu > seconds {
				t.Errorf("%s: %d MiB and %.1f s", verb, took>>20, cpu)
			}
		}
	}
	labels[5] = 80 // doubtful, and small
	if o, _, _ := measured(t, "check", write(labels, nil)); o.code != 0 || !strings.Contains(o.stderr, "is 80 a mistake?") {
		t.Errorf("80 is a note: exit %d: %s%s", o.code, o.stdout, o.stderr)
	}
}

// The verbs for each kind of data.
const (
	dataVerbs = `check $DIR $MEMORY
		info $DIR $MEMORY
		train $DIR -o $OUT --dry-run $MEMORY
		train $DIR -o $OUT --max-iter 2 --report=false -q $MEMORY
		train $DIR -o $OUT --max-iter 2 --method pseudo --report=false -q $MEMORY
	`
	npzVerbs = dataVerbs + `train $DIR -o $OUT --dry-run --untied $MEMORY
		check $DIR -m $RUN $MEMORY
		predict $DIR -m $RUN -o $OUT -q $MEMORY
		predict $DIR -m $RUN -o $OUT -q --clamp --decode map $MEMORY
		eval $DIR -m $RUN -q $MEMORY
		sample $DIR -m $RUN -o $OUT -q $MEMORY
		convert $DIR -m $RUN -o $OUT $MEMORY
	`
	networkVerbs = `check $DIR/x.uai $MEMORY
		info $DIR/x.uai $MEMORY
		infer $DIR/x.uai --task PR $MEMORY
		infer $DIR/x.uai --task PR --counting bethe $MEMORY
		infer $DIR/x.uai --task PR --method exact $MEMORY
		infer $DIR/x.uai --task MAR $MEMORY -o $OUT.MAR
		infer $DIR/x.uai --task MAR --method exact $MEMORY -o $OUT.MAR
		infer $DIR/x.uai --task MAR --method gibbs --max-sweeps 2 $MEMORY -o $OUT.MAR
		infer $DIR/x.uai --task MPE $MEMORY -o $OUT.MPE
		infer $DIR/x.uai --task MPE --method exact $MEMORY -o $OUT.MPE
		infer $DIR/x.uai --task MPE --method trws $MEMORY -o $OUT.MPE
		sample $DIR/x.uai -o $OUT.npz --samples 10 -q $MEMORY
		convert $DIR/x.uai -o $OUT.uai $MEMORY
		convert $DIR/x.uai -o $OUT.npz $MEMORY
	`
)

// hostileInputs are files, and options, that ask for much.
func hostileInputs(t *testing.T) map[string]hostile {
	instance := func(parts []string, change arrays, more map[string]string) hostile {
		files := with(t, change)
		for name, text := range more {
			files[name] = text
		}
		return hostile{files, npzVerbs, append(parts, "the model", "model has", "--memory")}
	}
	labels := func(last int32) arrays {
		return arrays{"labels": npy(t, []int{3}, []int32{0, 2, last}), "states": ""}
	}
	bins := func(last int32) arrays {
		return arrays{"edge_features": "", "edge_bins": npy(t, []int{3}, []int32{0, 1, last})}
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
		"a bin of a million":          instance([]string{"is 1000000 a mistake?"}, bins(1_000_000), nil),
		"a bin of 2^24-1":             instance([]string{"is 16777215 a mistake?"}, bins(1<<24-1), nil),
		"a bin of 2^31-1":             instance([]string{"edge_bins[2]"}, bins(1<<31-1), nil),
		"states of 65536":             instance([]string{"states"}, arrays{"states": npy(t, []int{3}, []int32{65536, 65536, 65536})}, nil),
		"states of 2^31-1":            instance([]string{"bad.npz:states"}, arrays{"states": npy(t, nil, []int32{1<<31 - 1})}, nil),
		"different states":            instance([]string{"states"}, arrays{"states": npy(t, []int{3}, []int32{65536, 3, 60000})}, nil),
		"node types of 1023":          instance([]string{"node_types", "joins", "labels", "states"}, arrays{"node_types": npy(t, []int{3}, []int32{0, 1023, 7}), "states": ""}, nil),
		"node types of 2^31-1":        instance([]string{"node_types[1]"}, arrays{"node_types": npy(t, []int{3}, []int32{0, 1<<31 - 1, 7})}, nil),
		"edge types of 1023":          instance([]string{"edge_types", "edge type"}, arrays{"edge_types": npy(t, []int{3}, []int32{0, 1023, 7})}, nil),
		"a node of 2^31-1":            instance([]string{"edges"}, arrays{"edges": npy(t, []int{1, 2}, []int32{0, 1<<31 - 1}), "node_features": "", "edge_features": "", "labels": "", "states": ""}, nil),
		"a grid of 2^31-1":            instance([]string{"grid_shape"}, arrays{"grid_shape": npy(t, []int{2}, []int32{1<<31 - 1, 1<<31 - 1}), "node_features": "", "labels": ""}, nil),
		"a shape that promises much":  instance([]string{"bad.npz:labels"}, arrays{"labels": promise("<i8", 3, 1<<40)}, nil),
		"a shape of no rows":          instance([]string{"bad.npz"}, arrays{"edge_features": promise("<f8", 0, 1<<60), "edges": npy(t, []int{0, 2}, []int32{})}, nil),
		"an array that expands":       {map[string]string{"bad.npz": bomb(t, goodArrays(t), "labels", 300<<20)}, npzVerbs, []string{"bad.npz:labels"}},
		"a million states by name":    instance([]string{"dataset.json"}, nil, manifest(`{"states": 1000000}`)),
		"states of a thousand types":  instance([]string{"dataset.json"}, nil, manifest(`{"node_types": [`+types.String()+`]}`)),
		"65536 states in a manifest":  instance([]string{"states"}, arrays{"states": ""}, manifest(`{"states": 65536}`)),
		"16777216 bins in a manifest": instance([]string{"16777216 features"}, bins(2), manifest(`{"edge_bins": 16777216}`)),
		"more bins in a manifest":     instance([]string{"dataset.json"}, bins(2), manifest(`{"edge_bins": 9000000000000000000}`)),

		"a table with a label of 65535": {
			map[string]string{"x.nodes.tsv": "a\t0\t\t0\nb\t65535\t\t1\nc\t1\t\t1\n", "x.edges.tsv": "a b\nb c\n"}, dataVerbs, []string{"is 65535 a mistake?"},
		},
		"a table with a feature of 2^24-1": {
			map[string]string{"x.nodes.tsv": "a\t0\t\t0\nb\t1\t\t16777215\nc\t1\t\t1\n", "x.edges.tsv": "a b\nb c\n"}, dataVerbs, []string{"is 16777215 a mistake?"},
		},
		"a table with a feature of 2^31": {
			map[string]string{"x.nodes.tsv": "a\t0\t\t0\nb\t1\t\t2147483648\n", "x.edges.tsv": "a b\n"}, dataVerbs, []string{"x.nodes.tsv:2"},
		},

		"a picture's header of 65535²": images(t, pictureHeader(65535, 65535), npy(t, []int{2, 2, 3}, make([]float32, 12)), "0 1\n1 0\n", "a.png"),
		"a picture of 8000²":           images(t, blank(t, 8000, 8000), npy(t, []int{2, 2, 3}, make([]float32, 12)), "0 1\n1 0\n", "a.png", "a.regions.txt", "a.npy"),
		"a small map on a picture":     images(t, blank(t, 240, 240), npy(t, []int{1, 1, 5000}, make([]float32, 5000)), strings.Repeat(strings.Repeat("0 1 ", 120)+"\n", 240)), // 1.2 GB, pixel by pixel
		"labels with a header of 65535²": {
			map[string]string{"images/a.png": blank(t, 4, 4), "features/a.npy": npy(t, []int{2, 2, 3}, make([]float32, 12)), "labels/a.png": pictureHeader(65535, 65535)}, dataVerbs, []string{"labels/a.png"},
		},
		"5000 states of a picture": images(t, blank(t, 4, 4), npy(t, []int{2, 2, 3}, make([]float32, 12)), "0 1 2 3\n1 2 3 0\n0 0 0 5000\n1 1 1 1\n", "is 5000 a mistake?"),

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
			"infer $DIR/x.uai --evidence $DIR/x.uai.evid\ninfer $DIR/x.uai --evidence $DIR/y.evid\nsample $DIR/x.uai --evidence $DIR/y.evid -o $OUT.npz\nconvert $DIR/x.uai --evidence $DIR/x.uai.evid -o $OUT.uai",
			[]string{".evid:1"},
		},
		"marginals of much": {map[string]string{"x.MAR": "MAR\n2000000000 2000000000 1\n"}, "eval $DIR/x.MAR --against $DIR/x.MAR", []string{"x.MAR:2"}},
		"one table for many edges": {
			map[string]string{"x.npz": npz(t, manyEdges(t))}, "info $DIR/x.npz $MEMORY\ninfer $DIR/x.npz $MEMORY\nsample $DIR/x.npz -o $OUT.npz $MEMORY\nconvert $DIR/x.npz -o $OUT.uai $MEMORY", []string{"x.npz:theta_uv", "x.npz"},
		},
		"a model without weights of edges": {
			map[string]string{"m.safetensors": modelOf(t, 60000), "d/bad.npz": with(t, arrays{"labels": "", "states": "", "edge_features": ""})["bad.npz"]},
			"info $DIR/m.safetensors\ncheck $DIR/m.safetensors\npredict $DIR/d -m $DIR/m.safetensors -o $OUT $MEMORY\nsample $DIR/d -m $DIR/m.safetensors -o $OUT $MEMORY\nconvert $DIR/d -m $DIR/m.safetensors -o $OUT $MEMORY\ncheck $DIR/d -m $DIR/m.safetensors $MEMORY",
			[]string{"--memory"},
		},

		"options": {
			map[string]string{"x.uai": loopUAI},
			`train $SOUND -o $OUT --threads 1000000
			predict $SOUND -m $RUN -o $OUT --threads 1000000
			infer $DIR/x.uai --task MAR --method gibbs --threads 1000000
			infer $DIR/x.uai --task MAR --method gibbs --chains 1000000000 $MEMORY
			infer $DIR/x.uai --task MAR --method gibbs --chains 9000000000000000000 $MEMORY
			sample $DIR/x.uai -o $OUT.npz --samples 2000000000 --thin 1 --burn-in 1 $MEMORY
			sample $DIR/x.uai -o $OUT.npz --samples 600000000 --chains 600000000 --thin 1 --burn-in 1 $MEMORY
			sample $DIR/x.uai -o $OUT.npz --samples 100000 --chains 1000000000 --thin 1 --burn-in 1 $MEMORY
			train $SOUND -o $OUT --blocks 100000x100000
			train $SOUND -o $OUT --blocks 9000000000000 --partition tiles
			train $SOUND -o $OUT --blocks 9000000000000
			train $SOUND -o $OUT --together 1000000000 --max-iter 2 --report=false -q
			info $SOUND --blocks 9000000000000 --partition tiles
			info $RUN --weights 9000000000000000000
			generate -o $OUT --graph grid:100000x100000
			generate -o $OUT --graph grid:2x2 --samples 9000000000
			generate -o $OUT --graph grid:2x2 --instances 9000000000
			generate -o $OUT --graph complete:1000000
			demo --side 10000 -o $OUT`,
			[]string{"--threads", "--memory", "--blocks", "tiles", "--samples", "--graph", "--side", "--instances", "memory", "Samples", "Instances"},
		},
	}
}

// promise is the header of an array whose data are missing.
func promise(descr string, shape ...int) string {
	sizes := ""
	for _, n := range shape {
		sizes += fmt.Sprintf("%d,", n)
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }\n", descr, sizes)
	return "\x93NUMPY\x01\x00" + string(binary.LittleEndian.AppendUint16(nil, uint16(len(header)))) + header
}

// bomb is an archive with so many zeros in the place of an array, deflated.
func bomb(t *testing.T, a arrays, array string, bytesOfIt int) string {
	t.Helper()
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	for name, text := range a {
		w := oracle.Must(archive.Create(name + ".npy"))(t)
		if name == array {
			text = promise("|i1", bytesOfIt/3, 3)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		for chunk := make([]byte, 3<<20); name == array && bytesOfIt > 0; bytesOfIt -= len(chunk) {
			if _, err := w.Write(chunk[:min(len(chunk), bytesOfIt)]); err != nil {
				t.Fatal(err)
			}
		}
	}
	oracle.OK(t, archive.Close())
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
func blank(t *testing.T, width, height int) string {
	t.Helper()
	var b bytes.Buffer
	oracle.OK(t, png.Encode(&b, image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.Black, color.White})))
	return b.String()
}

// images is a folder with one picture.
func images(_ *testing.T, picture, features, regions string, parts ...string) hostile {
	return hostile{map[string]string{"images/a.png": picture, "features/a.npy": features, "labels/a.regions.txt": regions}, dataVerbs, parts}
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
func manyEdges(t *testing.T) arrays {
	const nodes, states = 2000, 200
	var ends []int32
	for a := range int32(nodes) {
		for b := a + 1; b < min(a+10, nodes); b++ {
			ends = append(ends, a, b)
		}
	}
	return arrays{
		"theta": npy(t, []int{nodes, states}, make([]float32, nodes*states)), "theta_uv": npy(t, []int{states, states}, make([]float32, states*states)),
		"edges": npy(t, []int{len(ends) / 2, 2}, ends),
	}
}

// modelOf is a model file of so many states whose edges have no weights.
func modelOf(t *testing.T, states int) string {
	t.Helper()
	m := oracle.Must(crf.NewModel(crf.Homogeneous(crf.NumberedStates(states), 2, 0)))(t)
	recipe := dataset.Recipe{Kind: dataset.KindNPZ, NodeForm: dataset.FormDense, EdgeForm: dataset.FormConstant}
	path := filepath.Join(t.TempDir(), "m.safetensors")
	oracle.OK(t, crf.Save(path, m, map[string]string{dataset.RecipeKey: recipe.String(), "counting": "convex", "seed": "1"}))
	return readFile(t, path)
}

// TestIrregularFiles: where a file is wanted, a device, a pipe or a folder is refused at
// once, and the error names the path. In the commands, $IT is that path, and ends as the
// file that it stands for.
func TestIrregularFiles(t *testing.T) {
	oracle.Long(t)
	t.Parallel()
	const mostSeconds = 1
	commands := map[string]string{ // by what the name ends in
		"it.toml": "train $GRID -o $OUT --config $IT",
		"it.npz":  "train $IT -o $OUT\ntrain $GRID -o $OUT --eval dev=$IT\npredict $IT -m $RUN -o $OUT\neval $IT -m $RUN\nsample $IT -o $OUT.npz\ninfer $IT\nconvert $IT -o $OUT.uai\ninfo $IT\ncheck $IT",
		"it.txt": "train $IT -o $OUT\ncheck $IT\ntrain $IMAGES -o $OUT --list $IT\ntrain $GRID -o $OUT --counting $IT\npredict $GRID -m $RUN -o $OUT --counting $IT\n" +
			"infer $NET --counting $IT",
		"it.nodes.tsv":                   "train $IT -o $OUT\ncheck $IT\ninfo $IT",
		"d/dataset.json":                 "train $DIR/d -o $OUT\ncheck $DIR/d\ninfo $DIR/d",
		"d/1.npz":                        "train $DIR/d -o $OUT\ncheck $DIR/d\ninfo $DIR/d",
		"g/web.edges.tsv":                "train $DIR/g -o $OUT\ncheck $DIR/g",
		"i/labels/pic0.regions.txt":      "train $DIR/i -o $OUT\ncheck $DIR/i",
		"i/images/pic0.png":              "train $DIR/i -o $OUT",
		"i/features/pic0.npy":            "train $DIR/i -o $OUT",
		"it.safetensors":                 "train $GRID -o $OUT --init $IT\npredict $GRID -m $IT -o $OUT\neval $GRID -m $IT\ninfo $IT\ncheck $IT\nconvert $GRID -m $IT -o $OUT",
		"it.uai":                         "infer $IT\nsample $IT -o $OUT.npz\nconvert $IT -o $OUT.uai\ninfo $IT\ncheck $IT",
		"it.evid":                        "infer $NET --evidence $IT\nsample $NET -o $OUT.npz --evidence $IT\nconvert $NET -o $OUT.uai --evidence $IT",
		"it.MAR":                         "eval $IT --against $IT",
		"r/config.json":                  "train $DIR/r --resume\ntrain $GRID --resume -o $DIR/r",
		"r/data.json":                    "train $DIR/r --resume",
		"r/metrics.jsonl":                "train $DIR/r --resume\nplot $DIR/r\ncompare $DIR/r $RUN",
		"r/result.json":                  "compare $DIR/r $RUN",
		"r/model.safetensors":            "compare $DIR/r $RUN\ninfo $DIR/r\npredict $GRID -m $DIR/r -o $OUT",
		"r/checkpoint/state.safetensors": "train $DIR/r --resume",
	}
	network := writeFile(t, filepath.Join(t.TempDir(), "net.uai"), loopUAI)
	kinds := map[string]func(path string) error{
		"device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"folder": func(path string) error { return os.Mkdir(path, 0o777) },
	}
	for kind, make := range kinds {
		for name, lines := range commands {
			t.Run(kind+"/"+name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				it := filepath.Join(dir, filepath.FromSlash(name))
				switch strings.SplitN(name, "/", 2)[0] {
				case "d":
					copyFolder(t, gridData(t), filepath.Join(dir, "d"))
				case "g":
					copyFolder(t, graphTables(t), filepath.Join(dir, "g"))
				case "i":
					copyFolder(t, imageFolder(t), filepath.Join(dir, "i"))
				case "r":
					copyFolder(t, gridRun(t), filepath.Join(dir, "r"))
				}
				oracle.OK(t, os.RemoveAll(it))
				oracle.OK(t, make(it))
				replace := strings.NewReplacer("$IT", it, "$DIR", dir, "$GRID", gridData(t), "$RUN", gridRun(t), "$IMAGES", imageFolder(t), "$NET", network, "$OUT", filepath.Join(dir, "out"))
				for line := range strings.SplitSeq(lines, "\n") {
					o, bytes, seconds := measured(t, strings.Fields(replace.Replace(line))...)
					switch text := o.stdout + o.stderr; {
					case o.code <= 0 || o.code == 70:
						t.Errorf("%s: exit code %d, want a refusal: %s", line, o.code, text)
					case !strings.Contains(text, filepath.Base(it)):
						t.Errorf("%s: the error does not name %s: %s", line, name, text)
					case bytes > hostileBytes || seconds > mostSeconds:
						t.Errorf("%s: %d MiB and %.1f s of processor time: %s", line, bytes>>20, seconds, text)
					}
				}
			})
		}
	}
}
