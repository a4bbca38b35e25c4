//go:build linux

package torture

import (
	"archive/zip"
	"bytes"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/blockbp/blockbp/internal/printable"
)

// Names that would act on a terminal: colours, the title of the window, the other way of
// writing that, a line that looks like ours, the direction of writing, bytes that are no
// text.
const (
	red      = "\x1b[31m"
	titled   = "\x1b]0;pwned\x07"
	c1       = "\u009b2J"
	forged   = "x\nblockbp: note: all is well\r"
	reversed = "\u202egpj\u200b"
	broken   = "\xff\xfe"
)

// harmless fails a trial whose text has a character that acts on a terminal.
func (t *trial) harmless(what, text string) {
	for i, line := range strings.Split(text, "\n") {
		if rest := strings.ReplaceAll(line, "\t", " "); printable.Line(rest) != rest {
			t.failf("%s: line %d is %q", what, i+1, line)
		}
	}
	if !utf8.ValidString(text) {
		t.failf("%s is no UTF-8", what)
	}
}

// harmlessRun runs a command with hostile names, and checks what it prints, and the texts that it leaves in a folder.
func (t *trial) harmlessRun(out string, args ...string) *result {
	r := t.run(args...)
	t.harmless("stdout of "+r.line, r.stdout)
	t.harmless("stderr of "+r.line, r.stderr)
	if strings.Contains("\n"+r.text(), "\nblockbp: note: all is well") {
		t.failf("%s: a name made a line of its own: %q", r.line, r.text())
	}
	if out == "" {
		return r
	}
	t.must(filepath.WalkDir(out, func(path string, e fs.DirEntry, err error) error {
		if err == nil && slices.Contains([]string{".html", ".json", ".jsonl", ".svg", ".csv"}, filepath.Ext(path)) {
			text, err := os.ReadFile(path)
			t.must(err)
			t.harmless(path, string(text))
		}
		return err
	}))
	return r
}

// zipOf is a zip file with entries of any names, in their order.
func zipOf(entries map[string]string) string {
	var b bytes.Buffer
	w := zip.NewWriter(&b) // a buffer takes all that is written to it
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		entry, _ := w.CreateHeader(&zip.FileHeader{Name: name, NonUTF8: !utf8.ValidString(name)})
		_, _ = io.WriteString(entry, entries[name])
	}
	_ = w.Close()
	return b.String()
}

// TestHostileNames: no name that comes from outside acts on the terminal, or on who reads
// a file that is left behind.
func TestHostileNames(t *testing.T) {
	c := built(t)
	for n, evil := range []string{red + titled + c1 + reversed, forged, broken} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			attempt(t, c, "names", n, func(t *trial) { tryNames(t, evil) })
		})
	}
}

func tryNames(t *trial, evil string) {
	base := t.path("dir" + evil)
	t.must(os.Mkdir(base, 0o755))
	at := func(elements ...string) string { return filepath.Join(append([]string{base}, elements...)...) }
	valid := strings.ToValidUTF8(evil, "?")
	// Data whose names are hostile: the folder, an instance, states and features.
	data := at("data")
	t.must(copyPath(t.c.data("grid"), data))
	t.must(os.Rename(filepath.Join(data, "0.npz"), filepath.Join(data, "0"+evil+".npz")))
	quoted := func(s string) string {
		return strings.NewReplacer("\x1b", `\u001b`, "\x07", `\u0007`, "\n", `\n`, "\r", `\r`).Replace(s)
	}
	t.must(os.WriteFile(filepath.Join(data, "dataset.json"), []byte(`{"states": ["a`+quoted(valid)+`", "b", "c"], "node_features": ["f`+quoted(valid)+`", "g", "h"]}`), 0o644))
	dir, model := at("run"), at("run", "model.safetensors")
	t.harmlessRun(dir, "train", data, "-o", dir, "--max-iter", "3", "--eval", "dev="+data)
	if _, err := os.Stat(model); err != nil {
		t.failf("there is no model of %q", evil)
	}
	for _, args := range [][]string{
		{"train", data, "-o", dir},
		{"train", data, "-o", at("out"), "-m", model},
		{"train", data, "--eval", "d" + evil + "=" + data},
		{"train", dir, "--resume", "--max-iter", "4"},
		{"check", data}, {"info", data}, {"info", data, "--json"}, {"info", dir}, {"info", model, "--json"},
		{"eval", data, "-m", dir}, {"eval", data, "-m", dir, "--json"},
		{"sample", data, "-m", dir, "--samples", "4", "-o", at("samples")},
		{"predict", data, "-m", dir, "-o", at("predicted")}, {"predict", data, "-m", dir, "-o", at("predicted"), "--json"},
		{"example", "grid", "-o", at("generated")}, {"example", "network", "-o", at("net.uai")}, {"example", "images", "-o", at("images")},
	} {
		t.harmlessRun("", args...)
	}
	t.harmlessRun(at("predicted"), "predict", data, "-m", dir, "-o", at("predicted"), "--force")
	t.harmlessRun(at("evaluated"), "eval", data, "-m", dir, "-o", at("evaluated"))
	t.harmlessRun("", "infer", at("net.uai"), "--json")

	// Files with hostile content.
	t.must(os.Mkdir(at("bad"), 0o755))
	bad := func(name, text string) { t.must(os.WriteFile(at("bad", name), []byte(text), 0o644)) }
	two := ints("labels", []int{2}, []int{0, 1})
	labels := string(two.npy())
	bad("entry.npz", zipOf(map[string]string{evil + "labels.npy": labels, "edges" + evil + ".npy": labels}))
	bad("odd.npz", zipOf(map[string]string{"labels.npy": labels, "node_features.no" + evil + ".npy": labels, "edges.npy": "\x93NUMPY\x01\x00\x10\x00{'descr':'" + evil + "'}"}))
	bad("list.txt", "none"+evil+".npz\n")
	bad("dataset.json", `{"st`+quoted(valid)+`": 1}`)
	bad("web.nodes.tsv", "n1\t0\t"+evil+"\t1\nn2\tx"+evil+"\t\t1\n")
	bad("web.edges.tsv", "n1\tn"+evil+"\n")
	bad("net.uai", "MARKOV\n1"+evil+"\n2\n")
	bad("good.uai", loopUAI)
	bad("e.evid", "1 "+evil+" 1\n")
	bad("model.safetensors", "\x08\x00\x00\x00\x00\x00\x00\x00{\""+evil+"\"}")
	for _, args := range [][]string{
		{"check", at("bad", "entry.npz")}, {"check", at("bad", "odd.npz")}, {"info", at("bad", "entry.npz")}, {"train", at("bad", "odd.npz")}, {"check", at("bad", "list.txt")},
		{"check", at("bad", "web")}, {"info", at("bad", "web"), "--observed", "x" + evil}, {"check", at("bad", "net.uai")}, {"check", at("bad", "model.safetensors")},
		{"infer", at("bad", "net.uai")}, {"infer", at("bad", "good.uai"), "--evidence", at("bad", "e.evid")},
		{"infer", at("bad", "good.uai"), "--task", evil}, {"infer", at("bad", "good.uai"), "--method", evil}, {"infer", at("none" + evil)},
		{evil}, {"train" + evil}, {"train", data, "--" + evil}, {"train", data, "--l2", evil}, {"train", data, "--threads", "1" + evil}, {"train", data, "--states", "a" + evil + ",b"},
		{"train", data, "--method", evil}, {"train", data, "--step", evil}, {"train", data, "--blocks", evil}, {"train", data, "--partition", evil}, {"train", data, "--order", evil},
		{"train", data, "--kind", evil}, {"train", data, "--features", evil}, {"train", data, "--list", evil}, {"train", data, "--observed", evil}, {"train", data, "--counting", evil},
		{"train", data, "--early-stop", evil}, {"train", data, "--class-weights", evil, "--method", "pseudo"}, {"train", data, "--eval", evil}, {"train", data, "--order", evil},
		{"train", "none" + evil}, {"example", evil, "-o", at("e")}, {"sample", evil, "-o", evil},
		{"help", evil}, {"predict", data, "-m", dir, "-o", at("p"), "--decode", evil},
	} {
		t.harmlessRun("", args...)
	}
}
