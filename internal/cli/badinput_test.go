package cli_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"image/png"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/cli"
)

// cutShort returns the picture b of a folder with a whole header and without the
// end of its pixels: it has a size, but cannot be drawn.
func cutShort(t *testing.T, folder string) string {
	whole := readFile(t, folder, "images", "b.png")
	short := whole[:len(whole)-20]
	if _, err := png.DecodeConfig(strings.NewReader(short)); err != nil {
		t.Fatalf("the header of the picture cut short should be whole: %v", err)
	}
	return short
}

// arrays are the arrays of an instance file, as .npy texts.
type arrays map[string]string

// goodArrays are those of a triangle with 3 states.
func goodArrays(t testing.TB) arrays {
	return arrays{
		"edges":         npy(t, []int{3, 2}, []int32{0, 1, 1, 2, 0, 2}),
		"node_features": npy(t, []int{3, 2}, []float64{1, 2, 3, 4, 5, 6}),
		"edge_features": npy(t, []int{3, 1}, []float64{1, 0, 1}),
		"labels":        npy(t, []int{3}, []int32{0, 2, 1}),
		"states":        npy(t, nil, []int32{3}),
	}
}

func npz(t testing.TB, a arrays) string {
	t.Helper()
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(a)) {
		w, err := archive.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store})
		if err == nil {
			_, err = w.Write([]byte(a[name]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// badCase is a mistake in the input and what the command must say of it.
type badCase struct {
	name string
	// files of the working folder, by their path within it.
	files map[string]string
	// args is the command line; words that name files of the folder are made
	// absolute, and $OUT is a run folder to make.
	args  string
	code  int
	parts []string
}

func (c badCase) run(t *testing.T) {
	t.Helper()
	folder := t.TempDir()
	for name, text := range c.files {
		writeFile(t, filepath.Join(folder, name), text)
	}
	replace := strings.NewReplacer("$OUT", filepath.Join(folder, "out"), "$DIR", folder, "$GRID", gridData(t), "$RUN", gridRun(t), "$IMAGES", imageFolder(t), "$TABLES", graphTables(t), "$TABLERUN", tableRun(t))
	args := strings.Fields(replace.Replace(c.args))
	before := tree(t, folder)
	o := run(t, args...)
	if o.code == c.code && args[0] != "check" && o.stdout != "" {
		t.Errorf("%s: %s printed %q", c.name, o.command(), o.stdout)
	}
	parts := make([]string, len(c.parts))
	for i, part := range c.parts {
		parts[i] = replace.Replace(part)
	}
	o.wantFailure(t, c.code, parts...)
	wantUntouched(t, o, before, tree(t, folder))
}

// with returns the good arrays with some replaced; an empty text leaves one out.
func with(t testing.TB, changes arrays) map[string]string {
	a := goodArrays(t)
	for name, text := range changes {
		a[name] = text
		if text == "" {
			delete(a, name)
		}
	}
	return map[string]string{"bad.npz": npz(t, a)}
}

func TestBadInstances(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	good := npz(t, goodArrays(t))
	train := "train $DIR/bad.npz -o $OUT --max-iter 2"
	for _, c := range []struct {
		name    string
		changes arrays
		parts   []string
	}{
		{"edges of three columns", arrays{"edges": npy(t, []int{2, 3}, []int32{0, 1, 2, 1, 2, 0})}, []string{"bad.npz:edges", "[2, 3]"}},
		{"edge to a missing node", arrays{"edges": npy(t, []int{3, 2}, []int32{0, 1, 1, 3, 0, 2})}, []string{"bad.npz:edges[1", "3"}},
		{"edge to a node beyond 32 bits", arrays{"edges": npy(t, []int{3, 2}, []int64{0, 1, 1, 1 << 40, 0, 2})}, []string{"bad.npz:edges", "1099511627776"}},
		{"repeated edge", arrays{"edges": npy(t, []int{3, 2}, []int32{0, 1, 1, 0, 0, 2})}, []string{"bad.npz:edges[1]: joins the nodes of edges[0] the other way round"}},
		{"node features too large to work with", arrays{"node_features": npy(t, []int{3, 2}, []float64{1, 2, 3, -1e160, 5, 6})}, []string{"bad.npz:node_features[1,1]", "-1e+160", "rescale"}},
		{"NaN in node features", arrays{"node_features": npy(t, []int{3, 2}, []float64{1, 2, 3, nan, 5, 6})}, []string{"bad.npz:node_features[1,1]", "NaN"}},
		{"bins and features", arrays{"edge_bins": npy(t, []int{3}, []int32{0, 1, 0})}, []string{"bad.npz", "edge_bins", "edge_features"}},
		{"label out of range", arrays{"labels": npy(t, []int{3}, []int32{0, 3, 1})}, []string{"bad.npz:labels[1]", "3"}},
		{"labels of another length", arrays{"labels": npy(t, []int{4}, []int32{0, 1, 1, 0})}, []string{"bad.npz:labels", "4", "3"}},
		{"no labels", arrays{"labels": ""}, []string{"bad", "labels"}},
		{"unknown array", arrays{"node_feature": npy(t, []int{3}, []float64{0, 1, 1})}, []string{"bad.npz", "node_feature", "node_features"}},
		{"array cut short", arrays{"labels": npy(t, []int{3}, []int32{0, 2, 1})[:135]}, []string{"bad.npz:labels", "135 bytes"}},
		{"huge shape", arrays{"node_features": strings.Replace(npy(t, []int{3, 2}, []float64{1, 2, 3, 4, 5, 6}), "(3,2,)", "(3000000000,2000000000,)", 1)}, []string{"bad.npz:node_features"}},
	} {
		badCase{c.name, with(t, c.changes), train, 3, c.parts}.run(t)
	}
	two := func(changes arrays) map[string]string {
		return map[string]string{"0.npz": good, "1.npz": with(t, changes)["bad.npz"]}
	}
	for _, c := range []badCase{
		{"file cut short", map[string]string{"bad.npz": good[:len(good)/2]}, train, 3, []string{"bad.npz"}},
		{"flipped bit", map[string]string{"bad.npz": flipped(good, "node_features.npy", 150)}, train, 3, []string{"bad.npz"}},
		{"missing file", nil, train, 1, []string{"bad.npz", "no such file"}},
		{"empty folder", map[string]string{"data/notes.md": ""}, "train $DIR/data -o $OUT", 3, []string{"data", "npz"}},
		{"other number of node features", two(arrays{"node_features": npy(t, []int{3, 1}, []float64{1, 2, 3})}), "train $DIR -o $OUT", 3, []string{"1.npz:node_features", "0.npz"}},
		{"labels in one of two", two(arrays{"labels": ""}), "train $DIR -o $OUT", 3, []string{"1", "labels"}},
		{"two mistakes", with(t, arrays{"labels": npy(t, []int{3}, []int32{0, 3, 1}), "node_features": npy(t, []int{3, 2}, []float64{1, 2, 3, nan, 5, 6})}), train, 3, []string{"bad.npz", "1 more problem"}},
		{"manifest of bad JSON", map[string]string{"0.npz": good, "dataset.json": "{\n \"states\": [\"a\",\n}"}, "train $DIR -o $OUT", 3, []string{"dataset.json:3:"}},
		{"manifest with an unknown field", map[string]string{"0.npz": good, "dataset.json": "{\n\n \"stats\": 3}"}, "train $DIR -o $OUT", 3, []string{"dataset.json:3:", `"stats"`, "states"}},
		{"manifest with other states", map[string]string{"0.npz": good, "dataset.json": `{"states": ["a", "b"]}`}, "train $DIR -o $OUT", 3, []string{"0.npz:states", "dataset.json"}},
		{"other names than states", two(nil), "train $DIR -o $OUT --states a,b", 3, []string{"0.npz:states", "--states", "2", "3"}},
		{"list with a missing file", map[string]string{"0.npz": good, "l.txt": "0.npz\n\n1.npz\n"}, "train $DIR/l.txt -o $OUT", 3, []string{"l.txt:3:", "1.npz"}},
		{"list with a repetition", map[string]string{"0.npz": good, "l.txt": "0.npz\n0.npz\n"}, "train $DIR/l.txt -o $OUT", 3, []string{"l.txt:2:", "line 1"}},
		{"empty list", map[string]string{"l.txt": "# none\n"}, "train $DIR/l.txt -o $OUT", 3, []string{"l.txt", "empty"}},
		{"evaluation data without labels", map[string]string{"0.npz": good, "e/1.npz": with(t, arrays{"labels": ""})["bad.npz"]}, "train $DIR/0.npz -o $OUT --eval dev=$DIR/e", 3, []string{"dev", "no labels"}},
		{"evaluation data of another shape", map[string]string{"0.npz": good, "e/1.npz": with(t, arrays{"node_features": npy(t, []int{3, 1}, []float64{1, 2, 3})})["bad.npz"]}, "train $DIR/0.npz -o $OUT --eval dev=$DIR/e", 3, []string{"dev", "1.npz:node_features"}},
		{"missing model to start from", map[string]string{"0.npz": good}, "train $DIR/0.npz -o $OUT --init $DIR/none", 1, []string{"none"}},
		{"missing configuration", map[string]string{"0.npz": good}, "train $DIR/0.npz -o $OUT --config $DIR/none", 1, []string{"none"}},
	} {
		c.run(t)
	}
}

// flipped changes one bit, offset bytes after a text.
func flipped(text, after string, offset int) string {
	data := []byte(text)
	data[strings.Index(text, after)+offset] ^= 4
	return string(data)
}

// TestCheckListsAll: check prints every problem, and its exit code is that of the
// first.
func TestCheckListsAll(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	writeFile(t, filepath.Join(folder, "bad.npz"), with(t, arrays{
		"labels":        npy(t, []int{3}, []int32{0, 3, 5}),
		"node_features": npy(t, []int{3, 2}, []float64{1, 2, 3, math.NaN(), 5, 6}),
	})["bad.npz"])
	uai := writeFile(t, filepath.Join(folder, "bad.uai"), "MARKOV\n1\n2\n1\n1 0\n2 1 -1\n")
	model := writeFile(t, filepath.Join(folder, "bad.safetensors"), "no model")
	o := run(t, "check", folder, uai, model)
	o.wantFailure(t, 3, "problems found")
	for _, part := range []string{"bad.npz:labels[1]", "bad.npz:node_features[1,1]", "bad.uai:6", "bad.safetensors"} {
		if !strings.Contains(o.stdout, part) {
			t.Errorf("check does not print %q:\n%s", part, o.stdout)
		}
	}
	var checked struct {
		OK       bool
		Problems []string
	}
	o = run(t, "check", folder, uai, model, "--json")
	o.json(t, &checked)
	if checked.OK || len(checked.Problems) < 4 || o.code != 3 {
		t.Errorf("check --json: code %d, %+v", o.code, checked)
	}
	run(t, "check", filepath.Join(folder, "none.npz")).wantFailure(t, 1, "problem")

	// What was assumed is said where nothing is wrong.
	unsure := writeFile(t, filepath.Join(t.TempDir(), "0.npz"), with(t, arrays{"states": ""})["bad.npz"])
	if o = mustRun(t, "check", unsure); !strings.Contains(o.stderr, "taken to have 3 states, because the largest label is 2") {
		t.Errorf("check does not say what it assumed: stderr is %q", o.stderr)
	}
	if notes, ok := mustRun(t, "check", unsure, "--json").object(t)["notes"].([]any); !ok || len(notes) != 1 {
		t.Errorf("check --json has the notes %v, want 1", notes)
	}
}

func TestBadModels(t *testing.T) {
	t.Parallel()
	model := readFile(t, gridRun(t), "model.safetensors")
	predict := "predict $GRID -m $DIR/bad.safetensors -o $OUT"
	other := filepath.Join(t.TempDir(), "other")
	mustRun(t, "generate", "-o", other, "--graph", "chain:4", "--states", "3", "--node-features", "3", "--edge-features", "2", "--samples", "1", "--sweeps", "2")
	end := len(model) - 8
	infinite := model[:end] + "\x00\x00\x00\x00\x00\x00\xf0\x7f"
	for _, c := range []badCase{
		{"model cut short", map[string]string{"bad.safetensors": model[:len(model)-20]}, predict, 3, []string{"bad.safetensors"}},
		{"model cut in the header", map[string]string{"bad.safetensors": model[:50]}, predict, 3, []string{"bad.safetensors"}},
		{"empty model", map[string]string{"bad.safetensors": ""}, predict, 3, []string{"bad.safetensors"}},
		{"no model", map[string]string{"bad.safetensors": strings.Repeat("text ", 100)}, predict, 3, []string{"bad.safetensors"}},
		{"changed weight", map[string]string{"bad.safetensors": infinite}, predict, 3, []string{"bad.safetensors"}},
		{"model of other features", map[string]string{"bad.safetensors": readFile(t, other, "truth.safetensors")}, predict, 3, []string{"0.npz:node_features", "3"}},
		{"missing model", nil, predict, 1, []string{"bad.safetensors", "no such file"}},
		{"model of other data", nil, "predict $IMAGES -m $RUN -o $OUT", 2, []string{"npz", "images"}},
		{"evaluation of a missing model", nil, "eval $GRID -m $DIR/bad.safetensors", 1, []string{"bad.safetensors"}},
		{"evaluation of a bad model", map[string]string{"bad.safetensors": model[:100]}, "eval $GRID -m $RUN -m $DIR/bad.safetensors -o $OUT", 3, []string{"bad.safetensors"}},
		{"evaluation of other data", nil, "eval $TABLES -m $RUN -o $OUT", 2, []string{"npz", "graph"}},
		{"start from a model of other features", map[string]string{"bad.safetensors": readFile(t, other, "truth.safetensors")}, "train $GRID --init $DIR/bad.safetensors -o $OUT", 3, []string{"0.npz:node_features"}},
		{"information on a bad model", map[string]string{"bad.safetensors": model[:100]}, "info $DIR/bad.safetensors", 3, []string{"bad.safetensors"}},
		{"resumed with a prior for l2", nil, "train $RUN --resume --prior 3", 2, []string{"--prior 3: the run in $RUN began with no --prior", "start a new run"}},
		{"resumed, and no run", nil, "train $DIR/nowhere --resume", 1, []string{"--resume: $DIR/nowhere: no such file", "the folder of a run"}},
		{"a gap below zero", nil, "train $RUN --gap -1", 2, []string{"--gap", "above 0"}},
		{"comparison without a result", map[string]string{"run/config.json": "{}"}, "compare $RUN $DIR/run -o $OUT", 3, []string{"run", "result.json"}},
		{"comparison with a bad result", map[string]string{"run/result.json": "{"}, "compare $RUN $DIR/run", 3, []string{"result.json"}},
		{"plot of bad metrics", map[string]string{"run/metrics.jsonl": "{\"iter\":0}\n{\"iter\":}\n"}, "plot $DIR/run", 3, []string{"metrics.jsonl:2"}},
		{"plot without metrics", map[string]string{"run/metrics.jsonl": ""}, "plot $DIR/run", 3, []string{"metrics.jsonl"}},
		{"plot without a run", nil, "plot $DIR/run", 1, []string{"run"}},
		{"plot of another folder", nil, "plot $GRID", 3, []string{"$GRID", "metrics.jsonl", "no run folder"}},
		{"watch of another folder", nil, "watch $GRID", 3, []string{"$GRID", "metrics.jsonl", "no run folder"}},
		{"watch of a file", map[string]string{"x": ""}, "watch $DIR/x", 3, []string{"is a file", "the folder of a run"}},
		{"comparison without metrics", map[string]string{"run/result.json": "{}", "run/config.json": "{}", "run/model.safetensors": model}, "compare $RUN $DIR/run", 3, []string{"$DIR/run has no metrics.jsonl"}},
		{"plot of a run whose metrics are gone", map[string]string{"run/result.json": "{}", "run/config.json": "{}"}, "plot $DIR/run", 3, []string{"$DIR/run has no metrics.jsonl"}},
		{"training on a run", nil, "train $RUN -o $OUT", 3, []string{"$RUN: this is the folder of a training", "blockbp train $RUN --resume"}},
		{"prediction on a run", nil, "predict $RUN -m $RUN -o $OUT", 3, []string{"$RUN: this is the folder of a training", "-m $RUN uses its model"}},
		{"training on a network", map[string]string{"x.uai": loopUAI}, "train $DIR/x.uai -o $OUT", 3,
			[]string{"x.uai: it is a network, where data are wanted; it has neither labels nor features", "blockbp infer"}},
		{"inference on a folder", nil, "infer $GRID --task MAR", 3, []string{"it is a folder, where a network is wanted", ".uai"}},
		{"run with an empty configuration", map[string]string{"run/config.json": ""}, "train $DIR/run --resume", 3, []string{"config.json: it is empty or was cut short", "start a new run"}},
		{"evaluation of two models, one of other data", nil, "eval $GRID -m $RUN -m $TABLERUN -o $OUT", 2, []string{"with the model $TABLERUN", "of the kind graph, and these are of the kind npz"}},
		{"comparison without a run", nil, "compare $RUN $DIR/run", 1, []string{"run"}},
		{"comparison without a model", map[string]string{"run/result.json": "{}"}, "compare $RUN $DIR/run", 3, []string{"run", "model.safetensors"}},
		{"run without a model", map[string]string{"run/config.json": "{}"}, "info $DIR/run", 3, []string{"run", "model.safetensors", "has not come so far"}},
		{"model that is something else", map[string]string{"x.txt": "text"}, "predict $GRID -m $DIR/x.txt -o $OUT", 3, []string{"x.txt", "want a model.safetensors"}},
	} {
		c.run(t)
	}
}

func TestBadImages(t *testing.T) {
	t.Parallel()
	drawn := t.TempDir()
	drawImage(t, drawn, "a", rand.New(rand.NewPCG(1, 2)), 4)
	drawImage(t, drawn, "b", rand.New(rand.NewPCG(1, 3)), 5)
	change := func(changes map[string]string) map[string]string {
		files := map[string]string{}
		for _, name := range []string{"images/a.png", "images/b.png", "labels/a.regions.txt", "labels/b.regions.txt", "features/a.npy", "features/b.npy"} {
			files[name] = readFile(t, drawn, name)
		}
		for name, text := range changes {
			files[name] = text
			if text == "" {
				delete(files, name)
			}
		}
		return files
	}
	labels := strings.SplitAfter(readFile(t, drawn, "labels", "b.regions.txt"), "\n")
	edited := func(line int, text string) string {
		lines := slices.Clone(labels)
		lines[line] = text
		return strings.Join(lines, "")
	}
	feature := func(rows, cols, depth int, nan int) string {
		values := make([]float32, rows*cols*depth)
		if nan >= 0 {
			values[nan] = float32(math.NaN())
		}
		return npy(t, []int{rows, cols, depth}, values)
	}
	train := "train $DIR -o $OUT --max-iter 2"
	for _, c := range []struct {
		name    string
		changes map[string]string
		args    string
		code    int
		parts   []string
	}{
		{"picture decoded beyond the memory", nil, train + " --memory 120", 3, []string{"a.png: decoding", "120 B are allowed", "allows it"}},
		{"pictures beyond the memory", nil, train + " --memory 20", 3, []string{"a.png would take", "20 B are allowed", "allows it"}},
		{"features of another size", map[string]string{"features/b.npy": feature(5, 3, 2, -1)}, train, 3, []string{"b.npy", "b.png", "5 rows"}},
		{"transposed features", map[string]string{"features/b.npy": feature(6, 12, 2, -1), "features/a.npy": feature(12, 6, 2, -1)}, train, 3, []string{"a.npy", "transposed"}},
		{"features of two dimensions", map[string]string{"features/b.npy": npy(t, []int{2, 3}, make([]float32, 6))}, train, 3, []string{"b.npy", "1 features", "a.npy has 2"}},
		{"missing features", map[string]string{"features/b.npy": ""}, train, 3, []string{"b.npy", "no such file"}},
		{"missing labels", map[string]string{"labels/b.regions.txt": ""}, train, 3, []string{"b.png", "no labels"}},
		{"no folder of features", nil, "train $DIR -o $OUT --features $DIR/none", 1, []string{"none"}},
		{"label out of range", map[string]string{"labels/b.regions.txt": edited(4, "0 0 0 0 0 0 7 0 0 0\n")}, train + " --states sky,grass,post", 3, []string{"b.regions.txt:5:", "7"}},
		{"picture cut short", map[string]string{"images/b.png": cutShort(t, drawn), "list.txt": "b\n"}, train + " --list list.txt", 3, []string{"b.png: the picture cannot be read"}},
		{"picture of an evaluation cut short", map[string]string{"images/b.png": cutShort(t, drawn), "train.txt": "a\n", "test.txt": "b\n"}, train + " --list train.txt --eval t=test.txt", 3, []string{"--eval t", "b.png: the picture cannot be read"}},
		{"picture that is a text", map[string]string{"images/b.png": "text"}, train, 3, []string{"b.png"}},
		{"list with an unknown id", map[string]string{"list.txt": "a\nc\n"}, train + " --list list.txt", 3, []string{"list.txt:2:", `"c"`}},
		{"missing list", nil, train + " --list $DIR/none.txt", 1, []string{"none.txt"}},
		{"evaluation list with an unknown id", map[string]string{"list.txt": "c\n"}, train + " --eval dev=list.txt", 3, []string{"dev", "list.txt:1:"}},
		{"three neighbours", nil, train + " --neighbours 3", 2, []string{"--neighbours", "3"}},
		{"no bins", nil, train + " --bins -1", 2, []string{"--bins", "-1"}},
		{"untied weights", nil, train + " --untied", 2, []string{"--untied"}},
		{"manifest with fields of instances", map[string]string{"dataset.json": `{"edge_bins": 3}`}, train, 3, []string{"dataset.json", "edge_bins"}},
	} {
		badCase{c.name, change(c.changes), c.args, c.code, c.parts}.run(t)
	}
}

func TestBadTables(t *testing.T) {
	t.Parallel()
	nodes, edges := "a\t0\ttrain\t0 1\nb\t1\ttrain\t1:0.5\nc\t1\tval\t?\n", "a\tb\nb\tc\n"
	train := "train $DIR/g -o $OUT --max-iter 2"
	for _, c := range []struct {
		name, nodes, edges, args string
		code                     int
		parts                    []string
	}{
		{"edge to a missing node", nodes, "a\tb\n# comment\nb\td\n", train, 3, []string{"g.edges.tsv:3:", `"d"`}},
		{"header", "node\tlabel\tsplit\tfeatures\n" + nodes, edges, train, 3, []string{"g.nodes.tsv:1:", "#"}},
		{"label out of range", strings.Replace(nodes, "b\t1", "b\t5", 1), edges, train + " --states x,y", 3, []string{"g.nodes.tsv:2:", "5"}},
		{"unknown split", nodes, edges, train + " --observed trian", 2, []string{"--observed", "trian", "train"}},
		{"unknown split to evaluate on", nodes, edges, train + " --observed train --eval dev=vla", 2, []string{"--eval dev", "vla", "val"}},
		{"option of images", nodes, edges, train + " --list x", 2, []string{"--list"}},
	} {
		badCase{c.name, map[string]string{"g.nodes.tsv": c.nodes, "g.edges.tsv": c.edges}, c.args, c.code, c.parts}.run(t)
	}
	badCase{"no table of edges", map[string]string{"g.nodes.tsv": nodes}, train, 1, []string{"g.edges.tsv"}}.run(t)
}

func TestBadNetworks(t *testing.T) {
	t.Parallel()
	infer := "infer $DIR/bad.uai -o $DIR/old.PR --force"
	triple := "MARKOV\n3\n2 2 2\n1\n3 0 1 2\n8 1 2 3 4 5 6 7 8\n"
	for _, c := range []struct {
		name, text, args string
		code             int
		parts            []string
	}{
		{"empty network", "", infer, 3, []string{"bad.uai"}},
		{"other first word", "MARKOW\n1\n2\n0\n", infer, 3, []string{"bad.uai:1", "MARKOW", "MARKOV"}},
		{"network cut short", loopUAI[:len(loopUAI)-8], infer, 3, []string{"bad.uai:"}},
		{"too many numbers", loopUAI + "3 4\n", infer, 3, []string{"bad.uai:"}},
		{"negative number", strings.Replace(loopUAI, "0.2 1 2", "0.2 -1 2", 1), infer, 3, []string{"bad.uai:12", "-1"}},
		{"table of another size", strings.Replace(loopUAI, "4 1 0.4", "5 1 0.4", 1), infer, 3, []string{"bad.uai:15", "5", "4"}},
		{"sampling a factor of three variables", triple, infer + " --method gibbs --task MAR", 3,
			[]string{"bad.uai", "3 variables", "leave --method out"}},
		{"nothing possible", "MARKOV\n1\n2\n1\n1 0\n2 0 0\n", infer + " --task MAR", 3, []string{"bad.uai", "variable 0", "zero"}},
		{"marginals of nothing", "MARKOV\n1\n2\n1\n1 0\n2 0 0\n", infer + " --method exact --task MAR", 3, []string{"bad.uai", "zero"}},
		{"contradiction", "MARKOV\n2\n2 2\n2\n2 0 1\n1 0\n4 0 0 1 1\n2 1 0\n", infer + " --task MAR", 3, []string{"bad.uai", "zero"}},
		{"evidence on a missing variable", loopUAI, infer + " --evidence $DIR/e1", 3, []string{"e1:1", "7"}},
		{"evidence of a missing state", loopUAI, infer + " --evidence $DIR/e2", 3, []string{"e2:1", "3"}},
		{"evidence that contradicts itself", loopUAI, infer + " --evidence $DIR/e4", 3, []string{"e4"}},
		{"missing evidence", loopUAI, infer + " --evidence $DIR/none", 1, []string{"none"}},
		{"unknown task", loopUAI, infer + " --task MMAP", 2, []string{"--task", "MMAP", "PR", "MAR"}},
		{"unknown method", loopUAI, infer + " --method exakt", 2, []string{"--method", "exakt", "exact"}},
		{"unknown counting", loopUAI, infer + " --counting bete", 2, []string{"--counting", "bete", "did you mean bethe?"}},
		{"tolerance of zero", loopUAI, infer + " --tol 0", 2, []string{"--tol"}},
		{"two networks", loopUAI, infer + " $DIR/bad.uai", 2, []string{"one network"}},
		{"memory for belief propagation", loopUAI, infer + " --method bp --memory 1000", 3, []string{"inference by bp would take about", "1000 B are allowed", "--memory"}},
	} {
		files := map[string]string{
			"bad.uai": c.text, "old.PR": "old answer", "e1": "1 7 0\n", "e2": "1 1 3\n", "e3": "2 0 1 1\n", "e4": "2 1 0 1 1\n",
			"c1": "node 0 1\nnode 1 1\nnode 2 1\nedge 0 1\nedge 1 1\n", "c2": "node 0 1\nedge 9 1\n", "c3": "node 0 x\n", "c4": "node 0 1\nnode 0 2\n",
		}
		badCase{c.name, files, c.args, c.code, c.parts}.run(t)
	}
	badCase{"missing network", map[string]string{"old.PR": "old"}, infer, 1, []string{"bad.uai"}}.run(t)
}

// TestBadUsage: mistakes on the command line.
func TestBadUsage(t *testing.T) {
	t.Parallel()
	train := "train $GRID -o $OUT --max-iter 2 "
	for _, c := range []struct {
		args  string
		parts []string
	}{
		{"trian $GRID", []string{`"trian"`, "did you mean train?"}},
		{"frobnicate", []string{`"frobnicate"`, "train"}},
		{"train", []string{"name the data"}},
		{train + "--max-iters 3", []string{"--max-iters", "did you mean --max-iter?"}},
		{train + "--stepp auto", []string{"--stepp", "did you mean --step?"}},
		{train + "-z", []string{"-z"}},
		{train + "--l2 x", []string{"--l2", "x"}},
		{train + "--l2 -1", []string{"--l2", "-1"}},
		{train + "--l2 NaN", []string{"--l2"}},
		{train + "--l2 Inf", []string{"--l2"}},
		{train + "--method ful", []string{"--method", "ful"}},
		{train + "--order rnd", []string{"--order", "rnd"}},
		{train + "--step fxed:1", []string{"--step", "fxed"}},
		{train + "--step fixed:-1", []string{"--step", "fixed:-1"}},
		{train + "--step fixed:NaN", []string{"--step"}},
		{train + "--counting trww", []string{"--counting", "did you mean trw?"}},
		{train + "--threads 0", []string{"--threads"}},
		{train + "--threads 1000000", []string{"--threads \"1000000\"", "1 to ", "processors"}},
		{train + "--tol 0", []string{"--tol", "a number above 0; leave the option out"}},
		{train + "--tol 1e-400", []string{"--tol", "a number above 0"}},
		{train + "--rtol 0.0", []string{"--rtol", "a number above 0"}},
		{train + "--inner-tol 0", []string{"--inner-tol", "a number above 0"}},
		{train + "--inner-sweeps 0", []string{"--inner-sweeps", "a whole number above 0"}},
		{train + "--max-iter 0", []string{"--max-iter", "a whole number above 0"}},
		{train + "--max-passes 0", []string{"--max-passes", "a number above 0"}},
		{train + "--max-time 0s", []string{"--max-time", "above 0"}},
		{train + "--checkpoint-every 0s", []string{"--checkpoint-every", "above 0"}},
		{train + "--eval dev=$GRID --eval-every 0", []string{"--eval-every", "a number above 0"}},
		{"train $IMAGES -o $OUT --bins 0", []string{"--bins", "a whole number above 0"}},
		{"info $IMAGES --neighbours 0", []string{"--neighbours"}},
		{train + "--blocks 0", []string{"--blocks"}},
		{train + "--blocks 4x", []string{"--blocks"}},
		{train + "--blocks 37", []string{"instance 0", "37 blocks are too many for 36 nodes", "--blocks a number from 1 to 36"}},
		{train + "--blocks 100000", []string{"100000 blocks are too many for 36 nodes", "--blocks"}},
		{train + "--blocks 100000 --partition range", []string{"100000 blocks are too many for 36 nodes", "--blocks"}},
		{train + "--blocks 7x7", []string{"7x7 tiles are too many", "--blocks at most 6x6"}},
		{"info $GRID --blocks 100000", []string{"100000 blocks are too many for 36 nodes", "--blocks"}},
		{"info $GRID --partition bsf", []string{"--partition", "bfs"}},
		{train + "--blocks 2x2 --partition bfs", []string{"--blocks", "partition is bfs"}},
		{train + "--partition bsf", []string{"--partition", "bsf", "bfs"}},
		{train + "--tol -1", []string{"--tol"}},
		{train + "--rtol NaN", []string{"--rtol"}},
		{train + "--inner-tol -1", []string{"--inner-tol"}},
		{train + "--inner-sweeps -1", []string{"--inner-sweeps"}},
		{train + "--max-passes -1", []string{"--max-passes"}},
		{train + "--max-time -1s", []string{"--max-time"}},
		{train + "--checkpoint-every -1s", []string{"--checkpoint-every"}},
		{train + "--eval dev=$GRID --eval-every -1", []string{"--eval-every"}},
		{train + "--eval dev", []string{"--eval", "NAME=PATH"}},
		{train + "--eval dev=$GRID --eval dev=$GRID", []string{"--eval", "dev"}},
		{train + "--early-stop accuracy@dev", []string{"--early-stop", "--eval"}},
		{train + "--eval dev=$GRID --early-stop acuracy@dev", []string{"--early-stop", "did you mean accuracy@dev?"}},
		{train + "--eval dev=$GRID --early-stop accuracy@dev:0", []string{"--early-stop", "0"}},
		{train + "--eval-every 3", []string{"--eval-every", "--eval"}},
		{train + "--kind imags", []string{"--kind", `did you mean "images"?`}},
		{train + "--list x", []string{"--list", "images"}},
		{train + "--features x", []string{"--features", "images"}},
		{train + "--neighbours 8", []string{"--neighbours", "images"}},
		{train + "--bins 4", []string{"--bins", "images"}},
		{train + "--no-bias", []string{"--no-bias"}},
		{train + "--observed train", []string{"--observed", "graph"}},
		{train + "--states a,a,b", []string{"--states", "a"}},
		{"predict $GRID -m $RUN", []string{"predict", "-o OUT"}},
		{"predict $GRID -o $OUT", []string{"predict", "-m MODEL"}},
		{"predict $GRID -m $RUN -o $OUT --max-sweeps 0", []string{"--max-sweeps"}},
		{"predict $GRID -m $RUN -o $OUT --threads 0", []string{"--threads"}},
		{"predict $GRID -m $RUN -o $OUT --threads 1000000", []string{"--threads", "1 to "}},
		{"predict $GRID -m $RUN -o $OUT --tol -1", []string{"--tol"}},
		{"predict $GRID -m $RUN -o $OUT --counting trww", []string{"--counting", "trw"}},
		{"eval $GRID", []string{"eval", "-m MODEL"}},
		{"eval -m $RUN", []string{"eval", "DATA"}},
		{"eval $GRID -m $RUN --split test", []string{"--split", "graph"}},
		{"eval $TABLES -m $RUN --split test", []string{"npz", "graph"}},
		{"eval $TABLES -m $TABLERUN --split tset", []string{"--split", `"tset"`, "did you mean test?"}},
		{"eval $TABLES -m $TABLERUN --observed trian", []string{"--observed", `"trian"`, "did you mean train?"}},
		{"infer", []string{"one network"}},
		{"generate --graph grid:3x3", []string{"generate", "-o DIR"}},
		{"generate -o $OUT --graph gird:3x3", []string{"--graph", "gird:3x3"}},
		{"generate -o $OUT --graph grid:3", []string{"--graph", "grid:3"}},
		{"generate -o $OUT --graph er:5:2", []string{"2"}},
		{"generate -o $OUT --graph ba:3:9", []string{"9"}},
		{"generate -o $OUT --graph grid:0x4", []string{"0"}},
		{"generate -o $OUT --graph grid:3x3 --states 1", []string{"--states 1", "at least 2"}},
		{"generate -o $OUT --graph grid:3x3 --states 99999999", []string{"--states 99999999", "weights"}},
		{"generate -o $OUT --graph grid:99999x99999", []string{"--graph grid:99999x99999", "features"}},
		{"generate -o $OUT --graph grid:3x3 --samples 0", []string{"--samples 0"}},
		{"generate -o $OUT --graph grid:3x3 --weight-scale Inf", []string{"--weight-scale"}},
		{"generate -o $OUT --graph grid:3x3 --threads 0", []string{"--threads"}},
		{"info", []string{"info PATH"}},
		{"check", []string{"check DATA"}},
		{"plot", []string{"plot RUN"}},
		{"watch", []string{"watch RUN"}},
		{"watch $RUN --port 70000", []string{"--port 70000", "65535"}},
		{"compare $RUN", []string{"two run folders"}},
		{"demo now", []string{"demo", "now"}},
		{"demo --side 3 -o $OUT", []string{"--side", "3"}},
		{"demo --side 99999 -o $OUT", []string{"--side", "99999"}},
		{"demo --side 5 --l2 -1 -o $OUT", []string{"--l2", "-1"}},
		{"demo --side 5 --threads 0 -o $OUT", []string{"--threads"}},
		{"help trian", []string{`"trian"`, "did you mean train?"}},
		{train + "--seed -1", []string{"--seed \"-1\"", "a whole number from 0"}},
		{train + "--max-time 10", []string{"--max-time \"10\"", "a time with its unit"}},
		{train + "--blocks", []string{"--blocks: it needs a value"}},
		{train + "--states 3", []string{"--states 3", "want the names", "0,1,2"}},
		{train + "--kind images", []string{"--kind", "npz data, not images"}},
		{train + "--early-stop accuracy --eval dev=$GRID", []string{"--early-stop", "METRIC@NAME"}},
		{train + "--eval a/b=$GRID", []string{"--eval", "without"}},
		{"--bogus", []string{"--bogus", "(blockbp --help"}},
		{"info $RUN --weights -1", []string{"--weights"}},
	} {
		badCase{c.args, nil, c.args, 2, c.parts}.run(t)
	}
}

// TestNothingToCompare: an evaluation without a single label says so.
func TestNothingToCompare(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	good := writeFile(t, filepath.Join(folder, "good.npz"), npz(t, goodArrays(t)))
	bare := writeFile(t, filepath.Join(folder, "bare.npz"), with(t, arrays{"labels": npy(t, []int{2, 3}, []int32{-1, -1, -1, -1, -1, -1})})["bad.npz"])
	dir := filepath.Join(folder, "run")
	mustRun(t, "train", good, "-o", dir, "--max-iter", "1", "-q", noReport)
	run(t, "eval", bare, "-m", dir).wantFailure(t, 3, "no node that is to be compared has a label")
	run(t, "train", good, "-o", filepath.Join(folder, "other"), "--eval", "dev="+bare).wantFailure(t, 3, "--eval dev", "no node that is to be compared has a label")
}

// fullDisk is an output that nothing can be written to.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: "stdout", Err: errors.New("no space left")}
}

// TestUnwritableOutput: whatever prints a result fails where it cannot.
func TestUnwritableOutput(t *testing.T) {
	t.Parallel()
	data, dir := gridData(t), copyFolder(t, gridRun(t), filepath.Join(t.TempDir(), "run"))
	for _, args := range [][]string{
		{"--help"}, {"help", "train"}, {"--version"}, {"check", data}, {"plot", dir}, {"info", dir}, {"info", data, "--json"}, {"compare", dir, dir}, {"watch", dir},
		{"train", data, "--dry-run"}, {"eval", data, "-m", dir},
	} {
		var stderr bytes.Buffer
		if code := cli.Run(t.Context(), args, strings.NewReader(""), fullDisk{}, &stderr); code != 1 || !strings.Contains(stderr.String(), "no space left") {
			t.Errorf("%q: exit code %d, want 1; stderr %q", args, code, &stderr)
		}
	}
}

// TestBadOutput: what is there already stays, and what cannot be written is said
// before the work.
func TestBadOutput(t *testing.T) {
	t.Parallel()
	network := writeFile(t, filepath.Join(t.TempDir(), "loop.uai"), loopUAI)
	files := map[string]string{"full/keep.txt": "keep", "file": "keep"}
	for _, c := range []struct {
		args  string
		code  int
		parts []string
	}{
		{"train $GRID -o $DIR/full", 2, []string{"full", "not empty", "keep.txt"}},
		{"train $GRID -o $DIR/file", 1, []string{"file"}},
		{"train $GRID -o $DIR/file/below", 1, []string{"file"}},
		{"train $GRID -o $OUT -m $DIR/full", 2, []string{"full", "folder"}},
		{"train $GRID -o $OUT -m $DIR/none/m.safetensors", 1, []string{"none"}},
		{"train $GRID -o $OUT -m $DIR/file/m.safetensors", 1, []string{"file"}},
		{"predict $GRID -m $RUN -o $DIR/full", 2, []string{"full", "not empty", "choose another, remove it, or write over"}},
		{"predict $GRID -m $RUN -o $DIR/file", 1, []string{"file"}},
		{"eval $GRID -m $RUN -o $DIR/full", 2, []string{"full", "not empty"}},
		{"eval $GRID -m $RUN -o $DIR/file", 1, []string{"file"}},
		{"compare $RUN $RUN -o $DIR/full", 2, []string{"full", "not empty"}},
		{"compare $RUN $RUN -o $DIR/file", 1, []string{"file"}},
		{"generate --graph chain:3 -o $DIR/full", 2, []string{"full", "not empty"}},
		{"generate --graph chain:3 -o $DIR/file", 1, []string{"file"}},
		{"demo -o $DIR/full", 2, []string{"full", "not empty"}},
		{"demo -o $DIR/file", 1, []string{"file"}},
		{"infer $NETWORK -o $DIR/full", 2, []string{"full", "folder"}},
		{"infer $NETWORK -o $DIR/none/x.PR", 1, []string{"none"}},
		{"infer $NETWORK -o $DIR/file/x.PR", 1, []string{"file"}},
		{"train $GRID -o /dev/full/x", 1, []string{"/dev/full"}},
		{"train $GRID -o $OUT -m /dev/full/x", 1, []string{"/dev/full"}},
		{"infer $NETWORK -o /dev/full/x", 1, []string{"/dev/full"}},
	} {
		if strings.Contains(c.args, "/dev/full") && runtime.GOOS != "linux" {
			continue // there is no such device
		}
		badCase{c.args, files, strings.ReplaceAll(c.args, "$NETWORK", network), c.code, c.parts}.run(t)
	}
}

// TestFoldersThatCannotBeWritten: which is said at once, of a read-only folder, where
// that binds this user, and of a file in the place of one, which binds everybody.
func TestFoldersThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	locked := filepath.Join(t.TempDir(), "locked")
	if err := os.Mkdir(locked, 0o555); err != nil {
		t.Fatal(err)
	}
	if runBound(t, "generate", "--graph", "chain:3", "-o", filepath.Join(locked, "probe")).code != 0 {
		refusesFolder(t, locked, "permission denied")
	} else {
		t.Log("this user may write into read-only folders")
	}
	refusesFolder(t, writeFile(t, filepath.Join(t.TempDir(), "taken"), "text"), "not a directory")
}

// refusesFolder runs commands that write into a folder, and wants it and why in what
// they say.
func refusesFolder(t *testing.T, folder, why string) {
	t.Helper()
	network := writeFile(t, filepath.Join(t.TempDir(), "loop.uai"), loopUAI)
	for _, args := range [][]string{
		{"train", gridData(t), "-o", filepath.Join(folder, "run")},
		{"train", gridData(t), "-o", filepath.Join(t.TempDir(), "run"), "-m", filepath.Join(folder, "m.safetensors")},
		{"generate", "--graph", "chain:3", "-o", filepath.Join(folder, "data")},
		{"infer", network, "-o", filepath.Join(folder, "x.PR")},
	} {
		runBound(t, args...).wantFailure(t, 1, folder, why)
	}
}
