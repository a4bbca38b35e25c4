// Package docs_test follows the pages of the documentation.
package docs_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"flag"
	"fmt"
	"image"
	"image/png"
	"io/fs"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/blockbp/blockbp/internal/oracle"
)

// Pages that readers follow, command by command: a test does the same.
//
// A fenced block is run in a fresh folder for each page, one after another, by its language: sh by the shell, with the
// command on the path; python by Python; and where a name follows the language, as in "go main.go", the block becomes
// the file of that name. A block of text behind one that is run, in the same section, shows lines of its output.
var followed = []string{"README.md", "docs/tutorial/*.md", "docs/how-to/*.md"}

// root is the folder of the module, from here.
const root = ".."

const (
	// mostPageTime is what the commands of a page may take of the processors: twenty seconds of a reader with two of them,
	// and half as much again beside other tests, with which they share caches and the units of a core.
	mostPageTime = 60 * time.Second
	// mostPythonLines is how long a snippet of Python that is not a file may be, without blank lines.
	mostPythonLines = 10
)

// standIns are for commands that need the network, and what is run here in their place: a program is built in this
// module instead of one that fetches it. "go test ./..." is what runs this test.
var standIns = map[string]func(r *reader) string{
	"go install github.com/blockbp/blockbp/cmd/blockbp@latest":   nil,
	"git clone https://github.com/blockbp/blockbp && cd blockbp": nil,
	"go install ./cmd/blockbp":                                   nil,
	"go run ./cmd/blockbp demo":                                  func(*reader) string { return "blockbp demo" },
	"go test ./...":                                              nil,
	"go get github.com/blockbp/blockbp@latest":                   nil,
	"go run .": func(r *reader) string {
		return fmt.Sprintf("(cd '%s' && go build -o '%s/program' '%[2]s/main.go') && ./program", r.module, r.folder)
	},
}

// pythonChecks are put behind the snippets of a page and section.
var pythonChecks = map[string]string{
	"docs/how-to/own-data.md: Arrays":               `assert edges.shape == (760, 2) and len(os.listdir("data")) == 4`,
	"docs/how-to/own-data.md: Read the predictions": `assert (p["labels"] == truth).mean() > 0.85 and abs(p["beliefs"].sum(axis=1) - 1).max() < 1e-9`,
	"docs/how-to/own-data.md: Read the model": `
with safe_open("run/model.safetensors", "numpy") as f:
    W = f.get_tensor("node.node")
assert W.shape == (3, 4) and all(W[k].argmax() in (k, 3) for k in range(3))`,
}

// update writes the pictures of pages anew.
var update = flag.Bool("update", false, "write the pictures that commands of pages make")

// pictures are the images in the repository that commands of a page make: where they
// make them, and where they are kept.
var pictures = map[string]struct{ made, kept string }{
	"docs/how-to/photographs.md": {"compared/plots/pictures.svg", "docs/images/pictures.svg"},
}

// block is a piece of fenced code.
type block struct {
	section        string // heading above it
	line           int
	language, file string
	text           string
}

// blocksOf returns the fenced blocks of a page.
func blocksOf(page string) []block {
	var all []block
	section, open := "", false
	number := 0
	for line := range strings.Lines(page) {
		number++
		fence, fenced := strings.CutPrefix(line, "```")
		switch {
		case fenced && !open:
			b := block{section: section, line: number}
			b.language, b.file, _ = strings.Cut(strings.TrimSpace(fence), " ")
			all, open = append(all, b), true
		case fenced:
			open = false
		case open:
			all[len(all)-1].text += line
		case strings.HasPrefix(line, "#"):
			section = strings.Trim(line, "# \n")
		}
	}
	return all
}

func TestCommandsOfPages(t *testing.T) {
	oracle.Long(t)
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("skipped: the pages' commands are for a shell; the test runs where there is one")
	}
	bin := buildCommand(t)
	checked := map[string]bool{}
	t.Run("pages", func(t *testing.T) {
		for _, pattern := range followed {
			paths, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
			if err != nil || len(paths) == 0 {
				t.Errorf("no page fits %s: %v", pattern, err)
			}
			for _, path := range paths {
				text := oracle.Must(os.ReadFile(path))(t)
				name := strings.TrimPrefix(filepath.ToSlash(path), root+"/")
				blocks := blocksOf(string(text))
				for _, b := range blocks {
					checked[name+": "+b.section] = true
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					follow(t, name, blocks, bin)
				})
			}
		}
	})
	for _, section := range slices.Sorted(maps.Keys(pythonChecks)) {
		if !checked[section] {
			t.Errorf("there is no snippet in %s", section)
		}
	}
}

// TestOptionsOfPages: every option that a page names is one of some verb.
func TestOptionsOfPages(t *testing.T) {
	oracle.Long(t)
	command := filepath.Join(buildCommand(t), "blockbp")
	help := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), command, append(args, "--help-all")...).Output()
		if err != nil {
			t.Fatalf("blockbp %s --help-all: %v", strings.Join(args, " "), err)
		}
		return string(out)
	}
	option := regexp.MustCompile(`--[a-z][a-z0-9-]*`)
	known := map[string]bool{"--help-all": true}
	for _, verb := range regexp.MustCompile(`(?m)^ +([a-z]+) +[A-Z]`).FindAllStringSubmatch(help(), -1) {
		for _, name := range option.FindAllString(help(verb[1]), -1) {
			known[name] = true
		}
	}
	lab := exec.CommandContext(t.Context(), "go", "run", "-C", filepath.Join(root, "lab"), "./cmd/lab", "reproduce", "--help")
	out, err := lab.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v: %s", lab, err, out)
	}
	for _, name := range option.FindAllString(string(out), -1) {
		known[name] = true
	}
	named := 0
	oracle.OK(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		page := strings.TrimPrefix(filepath.ToSlash(path), root+"/")
		if filepath.Ext(path) != ".md" || (page != "README.md" && !strings.HasPrefix(page, "docs/")) {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, code := range regexp.MustCompile("`[^`\n]+`").FindAllString(string(text), -1) {
			if strings.HasPrefix(code, "`mpirun ") && !strings.Contains(code, "blockbp") {
				continue // options of another program
			}
			for _, name := range option.FindAllString(code, -1) {
				if named++; !known[name] {
					t.Errorf("%s names %s, which is no option of any verb", page, name)
				}
			}
		}
		return err
	}))
	if named == 0 {
		t.Error("the pages name no options")
	}
}

// buildCommand makes the command and returns its folder.
func buildCommand(t *testing.T) string {
	t.Helper()
	// Results of tests are kept as long as what they read is the same. The compiler
	// reads the sources unseen, so they are looked at here.
	oracle.OK(t, filepath.WalkDir(root, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == ".git" {
			return fs.SkipDir
		}
		return err
	}))
	bin := t.TempDir()
	name := "blockbp"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, name), root+"/cmd/blockbp").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// reader is who follows a page.
type reader struct {
	module, folder, python string
	environment            []string
	used                   time.Duration // of the processors
}

// follow runs the blocks of a page.
func follow(t *testing.T, page string, blocks []block, bin string) {
	module := oracle.Must(filepath.Abs(root))(t)
	r := &reader{module: module, folder: t.TempDir()}
	r.environment = append(os.Environ(), fmt.Sprintf("PATH=%s%c%s", bin, os.PathListSeparator, os.Getenv("PATH")))
	if slices.ContainsFunc(blocks, func(b block) bool { return b.language == "python" }) {
		r.python = pythonWithNumPy(t)
	}
	output, ran := "", false
	for i, b := range blocks {
		if i > 0 && b.section != blocks[i-1].section {
			ran = false
		}
		place := fmt.Sprintf("%s:%d", page, b.line)
		var err error
		switch {
		case b.file != "":
			err, ran = os.WriteFile(filepath.Join(r.folder, filepath.FromSlash(b.file)), []byte(b.text), 0o644), false
		case b.language == "text":
			if ran {
				compareOutput(t, place, b.text, output)
			}
			ran = false
		case b.language == "sh":
			output, err = r.shell(t.Context(), b.text)
			ran = true
		case b.language == "python":
			output, err = r.snippet(t, place, b, pythonChecks[page+": "+b.section])
			ran = true
		default:
			t.Errorf("%s: a block in %q, want sh, python, text, or a name of a file behind the language", place, b.language)
		}
		if err != nil {
			t.Fatalf("%s: %v:\n%s\n%s", place, err, b.text, output)
		}
	}
	if p, ok := pictures[page]; ok {
		comparePictures(t, filepath.Join(r.folder, filepath.FromSlash(p.made)), filepath.Join(root, filepath.FromSlash(p.kept)))
	}
	t.Logf("%s: %.1f s of the processors", page, r.used.Seconds())
	if r.used > mostPageTime {
		t.Errorf("%s: the commands take %v of the processors, want at most %v", page, r.used, mostPageTime)
	}
}

// run runs a program in the reader's folder and returns what it prints.
func (r *reader) run(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = r.folder, r.environment
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	if cmd.ProcessState != nil {
		r.used += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	return output.String(), err
}

// shell runs the lines of a block until one fails.
func (r *reader) shell(ctx context.Context, text string) (string, error) {
	var script strings.Builder
	for line := range strings.Lines(text) {
		if standIn, ok := standIns[strings.TrimSpace(line)]; ok {
			if line = "\n"; standIn != nil {
				line = standIn(r) + "\n"
			}
		}
		script.WriteString(line)
	}
	return r.run(ctx, "sh", "-e", "-c", script.String())
}

// snippet runs Python, and then checks.
func (r *reader) snippet(t *testing.T, place string, b block, checks string) (string, error) {
	lines := 0
	for line := range strings.Lines(b.text) {
		if strings.TrimSpace(line) != "" {
			lines++
		}
	}
	if lines > mostPythonLines {
		t.Errorf("%s: a snippet of %d lines, want at most %d", place, lines, mostPythonLines)
	}
	return r.run(t.Context(), r.python, "-c", b.text+"\n"+checks)
}

// pythonWithNumPy returns the path of python3.
func pythonWithNumPy(t *testing.T) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("skipped: the page is Python, which nothing else here needs; the test runs where there are python3, numpy and safetensors")
	}
	if out, err := exec.CommandContext(t.Context(), python, "-c", "import numpy, safetensors.numpy").CombinedOutput(); err != nil {
		t.Skipf("skipped: the page needs numpy and safetensors too; the test runs where python3 has them: %v: %s", err, out)
	}
	return python
}

// compareOutput reports lines that a page shows, and that the output has not, in
// this order. "…" in a line stands for any words.
func compareOutput(t *testing.T, place, shown, output string) {
	t.Helper()
	rest := strings.Split(output, "\n")
	for line := range strings.Lines(shown) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		at := slices.IndexFunc(rest, func(printed string) bool { return sameWords(words, strings.Fields(printed)) })
		if at < 0 {
			t.Errorf("%s: the page shows the line\n%s\nwhich the output has not, or not there:\n%s", place, line, output)
			return
		}
		rest = rest[at+1:]
	}
}

// mostDifferentPixels is the share of pixels that may differ where other kernels round
// differently: a few labels on a boundary.
const mostDifferentPixels = 0.02

// comparePictures reports that a picture is not the one that is kept.
func comparePictures(t *testing.T, made, kept string) {
	t.Helper()
	if *update {
		content, err := os.ReadFile(made)
		if err == nil {
			err = os.WriteFile(kept, content, 0o644)
		}
		oracle.OK(t, err)
	}
	all, want := tilesOf(t, made), tilesOf(t, kept)
	if len(all) != len(want) || len(all) == 0 {
		t.Fatalf("%s has %d pictures, that which its page makes %d: run this test with -update, and look at it", kept,
			len(want), len(all))
	}
	different, pixels := 0, 0
	for i, a := range all {
		b, size := want[i], a.Bounds().Max
		for y := range size.Y {
			for x := range size.X {
				pixels++
				if a.At(x, y) != b.At(x, y) {
					different++
				}
			}
		}
	}
	if share := float64(different) / float64(pixels); share > mostDifferentPixels {
		t.Errorf("%s differs in %.1f %% of the pixels from the picture that its page makes: run this test with -update, and look at it", kept, 100*share)
	}
}

// tilesOf are the pictures within one.
func tilesOf(t *testing.T, path string) (tiles []image.Image) {
	t.Helper()
	for _, part := range strings.Split(string(oracle.Must(os.ReadFile(path))(t)), "data:image/png;base64,")[1:] {
		code, _, _ := strings.Cut(part, `"`)
		tiles = append(tiles, oracle.Must(png.Decode(base64.NewDecoder(base64.StdEncoding, strings.NewReader(code))))(t))
	}
	return tiles
}

// sameWords says whether a line reads as it is shown.
func sameWords(shown, printed []string) bool {
	switch {
	case len(shown) == 0:
		return len(printed) == 0
	case shown[0] == "…":
		return sameWords(shown[1:], printed) || (len(printed) > 0 && sameWords(shown, printed[1:]))
	case len(printed) == 0:
		return false
	}
	return sameWord(shown[0], printed[0]) && sameWords(shown[1:], printed[1:])
}

// numberIn finds the number in a word such as "(0.25," or "93.0%".
var numberIn = regexp.MustCompile(`^([^0-9.+-]*)([+-]?[0-9][0-9,]*(?:\.([0-9]+))?(?:e[+-]?[0-9]+)?)([^0-9]*)$`)

// sameWord compares two words; numbers with decimals may differ by one in the last
// place shown, as kernels of different processors round differently.
func sameWord(shown, printed string) bool {
	if shown == printed {
		return true
	}
	s, p := numberIn.FindStringSubmatch(shown), numberIn.FindStringSubmatch(printed)
	if s == nil || p == nil || s[1] != p[1] || s[4] != p[4] || s[3] == "" {
		return false
	}
	value := func(text string) float64 {
		x, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
		if err != nil {
			return math.NaN()
		}
		return x
	}
	unit := math.Pow(10, -float64(len(s[3])))
	if _, exponent, ok := strings.Cut(s[2], "e"); ok {
		unit *= math.Pow(10, value(exponent))
	}
	return math.Abs(value(s[2])-value(p[2])) <= 1.001*unit
}

// TestSameWords: a page that shows something else than is printed is found out.
func TestSameWords(t *testing.T) {
	for _, c := range []struct {
		shown, printed string
		want           bool
	}{
		{"accuracy 93.0 %", "accuracy   93.04 %", true},
		{"accuracy 93.0 %", "accuracy   93.14 %", false}, {"nodes 400", "nodes 401", false},
		{"nodes 400", "nodes 400 more", false},
		{"converged … after 12 passes", "converged at last after 12 passes", true},
		{"converged …", "diverged", false}, {"gap 1.5e-4,", "gap 1.52e-4,", true},
		{"gap 1.5e-4,", "gap 1.5e-3,", false}, {"…", "", true},
	} {
		oracle.Equal(t, sameWords(strings.Fields(c.shown), strings.Fields(c.printed)), c.want,
			"%q shown for %q printed", c.shown, c.printed)
	}
}
