package cli_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"image/png"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/blockbp/blockbp/internal/cli"
	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/synthetic"
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

// npz is an archive of arrays as numpy.savez writes it.
func npz(t testing.TB, a arrays) string {
	t.Helper()
	entries := map[string]string{}
	for name, text := range a {
		entries[name+".npy"] = text
	}
	return archive(t, entries)
}

// archive is a zip file with entries of any names, in their order.
func archive(t testing.TB, entries map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		entry := oracle.Must(w.CreateHeader(&zip.FileHeader{Name: name, NonUTF8: !utf8.ValidString(name)}))(t)
		oracle.Must(io.WriteString(entry, entries[name]))(t)
	}
	oracle.OK(t, w.Close())
	return b.String()
}

// badCase is a mistake in the input and what the command must say of it.
type badCase struct {
	name string
	// files of the working folder, by their path within it.
	files map[string]string
	// args is the command line; words that name files of the folder are made absolute, and $OUT is a run folder to make.
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

func TestBadModels(t *testing.T) {
	t.Parallel()
	model := readFile(t, gridRun(t), "model.safetensors")
	predict := "predict $GRID -m $DIR/bad.safetensors -o $OUT"
	other := filepath.Join(t.TempDir(), "other")
	writeGrid(t, other, 1, 4, synthetic.Synthetic{States: 3, NodeFeatures: 3, Samples: 1, Sweeps: 2, Seed: 1})
	truth := readFile(t, other, "truth.safetensors")
	infinite := model[:len(model)-8] + "\x00\x00\x00\x00\x00\x00\xf0\x7f"
	for _, c := range []struct {
		name, model, args string
		part              string
	}{
		{"model cut short", model[:len(model)-20], predict, "bad.safetensors"},
		{"model cut in the header", model[:50], predict, "bad.safetensors"},
		{"changed weight", infinite, predict, "bad.safetensors"},
		{"model of other features", truth, predict, "0.npz:node_features"},
		{"evaluation", model[:100], "eval $GRID -m $RUN -m $DIR/bad.safetensors -o $OUT", "bad.safetensors"},
		{"from a model of other features", truth, "train $GRID --init $DIR/bad.safetensors -o $OUT", "0.npz:node_features"},
		{"information", model[:100], "info $DIR/bad.safetensors", "bad.safetensors"},
	} {
		badCase{c.name, map[string]string{"bad.safetensors": c.model}, c.args, 3, []string{c.part}}.run(t)
	}
	badCase{"evaluation of two models, one of other data", nil, "eval $GRID -m $RUN -m $TABLERUN -o $OUT", 2,
		[]string{"with the model $TABLERUN", "of the kind graph, and these are of the kind npz"}}.run(t)
}

// TestBadImages: what the command adds to errors about pictures: --memory, and which evaluation they are of.
func TestBadImages(t *testing.T) {
	t.Parallel()
	drawn := t.TempDir()
	drawImage(t, drawn, "a", rand.New(rand.NewPCG(1, 2)), 4)
	drawImage(t, drawn, "b", rand.New(rand.NewPCG(1, 3)), 5)
	files := map[string]string{"train.txt": "a\n", "test.txt": "b\n", "unknown.txt": "c\n"}
	for _, name := range []string{"images/a.png", "labels/a.regions.txt", "labels/b.regions.txt", "features/a.npy", "features/b.npy"} {
		files[name] = readFile(t, drawn, name)
	}
	files["images/b.png"] = cutShort(t, drawn)
	const train = "train $DIR -o $OUT --max-iter 2 --list train.txt"
	for _, c := range []badCase{
		{"picture decoded beyond the memory", files, train + " --memory 120", 3, []string{"a.png: decoding", "120 B are allowed", "allows it"}},
		{"pictures beyond the memory", files, train + " --memory 20", 3, []string{"20 B are allowed", "allows it"}},
		{"picture of an evaluation cut short", files, train + " --eval t=test.txt", 3, []string{"--eval t", "b.png: the picture cannot be read"}},
		{"list with an unknown id", files, train + " --eval dev=unknown.txt", 3, []string{"dev", "unknown.txt:1:"}},
	} {
		c.run(t)
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
		{"--help"}, {"help", "train"}, {"--version"}, {"check", data}, {"info", dir}, {"info", data, "--json"}, {"watch", dir},
		{"train", data, "--dry-run"}, {"eval", data, "-m", dir},
	} {
		var stderr bytes.Buffer
		if code := cli.Run(t.Context(), args, strings.NewReader(""), fullDisk{}, &stderr); code != 1 || !strings.Contains(stderr.String(), "no space left") {
			t.Errorf("%q: exit code %d, want 1; stderr %q", args, code, &stderr)
		}
	}
}

// TestFoldersThatCannotBeWritten: which is said at once, of a read-only folder, where
// that binds this user, and of a file in the place of one, which binds everybody.
func TestFoldersThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	locked := filepath.Join(t.TempDir(), "locked")
	oracle.OK(t, os.Mkdir(locked, 0o555))
	if runBound(t, "example", "graph", "-o", filepath.Join(locked, "probe")).code != 0 {
		refusesFolder(t, locked, "permission denied")
	} else {
		t.Log("this user may write into read-only folders")
	}
	refusesFolder(t, writeFile(t, filepath.Join(t.TempDir(), "taken"), "text"), "not a directory")
}

// refusesFolder runs commands that write into a folder, and wants it and why in what they say.
func refusesFolder(t *testing.T, folder, why string) {
	t.Helper()
	network := writeFile(t, filepath.Join(t.TempDir(), "loop.uai"), loopUAI)
	for _, args := range [][]string{
		{"train", gridData(t), "-o", filepath.Join(folder, "run")},
		{"example", "graph", "-o", filepath.Join(folder, "data")},
		{"infer", network, "-o", filepath.Join(folder, "x.PR")},
	} {
		runBound(t, args...).wantFailure(t, 1, folder, why)
	}
}
