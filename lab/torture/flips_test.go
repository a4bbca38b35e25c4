//go:build linux

package torture

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFlips: one bit flipped in a file of ours: detected or harmless.
func TestFlips(t *testing.T) { attack(t, 60, 1400, setupFlips) }

// flippable are runs that are stopped after some passes, and gone on with to the last.
var flippable = []problem{
	{"forbidden", "typed", "--counting trw --max-passes 8"},
	{"full", "grid", "--eval dev=GRID/1.npz --method full --max-passes 8"},
	{"pseudo", "grid", "--method pseudo --untied --l2 0.1 --max-passes 4"},
}

const lastPasses = "16"

// flipped is how often each file of a run is hit, of 100 times.
var flipped = []struct {
	file   string
	weight int
}{
	{"r/checkpoint/state.safetensors", 46}, {"r/model.safetensors", 39},
	{"r/data.json", 4}, {"r/metrics.jsonl", 4}, {"r/result.json", 3},
	{"data/dataset.json", 4},
}

// subject is a stopped run, what it comes to, and what its model says.
type subject struct {
	dir   string // with data, r and resumed
	ended *ran
	said  map[string]string
}

func setupFlips(c *campaign, dir string) (func(t *trial), error) {
	var subjects []subject
	for _, p := range flippable {
		s, err := c.stopped(filepath.Join(dir, p.name), p)
		if err != nil {
			return nil, err
		}
		subjects = append(subjects, s)
	}
	return func(t *trial) { flip(t, subjects[t.n%len(subjects)]) }, nil
}

// stopped makes a subject in a folder.
func (c *campaign) stopped(dir string, p problem) (s subject, err error) {
	s.dir = dir
	if err := os.CopyFS(filepath.Join(dir, "data"), os.DirFS(c.data(p.data))); err != nil {
		return s, err
	}
	args := []string{"train", "data", "-o", "r", "--report=false", "-q"}
	for _, arg := range strings.Fields(p.args) {
		args = append(args, strings.NewReplacer("ONE", filepath.Join(dir, "data"), "GRID", c.data("grid")).Replace(arg))
	}
	for _, line := range [][]string{args, {"train", "r", "--resume", "-q", "--max-passes", lastPasses}} {
		if line[1] == "r" {
			if err := os.CopyFS(filepath.Join(dir, "stopped"), os.DirFS(filepath.Join(dir, "r"))); err != nil {
				return s, err
			}
		}
		if _, err := c.must(dir, line...); err != nil {
			return s, err
		}
	}
	if s.ended, err = readRun(filepath.Join(dir, "r")); err != nil {
		return s, err
	}
	if err := os.RemoveAll(filepath.Join(dir, "r")); err != nil {
		return s, err
	}
	if err := os.Rename(filepath.Join(dir, "stopped"), filepath.Join(dir, "r")); err != nil {
		return s, err
	}
	s.said, err = c.says(dir)
	return s, err
}

// said are the commands whose answers are compared: what a model predicts, and what it
// says of itself.
var said = [][]string{
	{"predict", "data", "-m", "r/model.safetensors", "-o", "predicted", "-q"},
	{"info", "r/model.safetensors", "--json"},
}

// says runs them and returns their answers.
func (c *campaign) says(dir string) (map[string]string, error) {
	answers := map[string]string{}
	for _, args := range said {
		out, err := c.must(dir, args...)
		if err != nil {
			return nil, err
		}
		if args[0] != "predict" { // which says how long it took
			answers[args[0]] = out
		}
	}
	defer os.RemoveAll(filepath.Join(dir, "predicted"))
	return answers, readArrays(filepath.Join(dir, "predicted"), answers)
}

// readArrays adds the archives of a folder to a map.
func readArrays(dir string, to map[string]string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.npz"))
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		to[filepath.Base(name)] = string(text)
	}
	return err
}

// flip flips one bit of a file of a run, and looks what comes of it.
func flip(t *trial, s subject) {
	t.copy(s.dir, ".")
	draw := t.rng.IntN(100)
	file := ""
	for _, f := range flipped {
		if file = f.file; draw < f.weight {
			break
		}
		draw -= f.weight
	}
	if !t.exists(file) {
		t.skip()
	}
	text := t.read(file)
	bit := drawBit(t.rng, text, strings.HasSuffix(file, ".safetensors"))
	text[bit/8] ^= 1 << (bit % 8)
	t.write(file, text)
	where := fmt.Sprintf("%s, bit %d of byte %d", file, bit%8, bit/8)
	t.notef("# flipped %s", where)
	if file == "r/model.safetensors" || file == "data/dataset.json" {
		flippedModel(t, s, where)
		return
	}
	flippedRun(t, s, where, file)
}

// drawBit draws a bit, more often of the header of a safetensors file.
func drawBit(rng *rand.Rand, text []byte, header bool) int {
	most := len(text)
	if header && rng.IntN(5) > 0 {
		most = 8 + int(binary.LittleEndian.Uint64(text))
	}
	return 8*rng.IntN(most) + rng.IntN(8)
}

// flippedModel wants every answer refused or as it was.
func flippedModel(t *trial, s subject, where string) {
	for _, args := range said {
		r := t.run(args...)
		if r.code != 0 {
			continue
		}
		got := map[string]string{}
		if args[0] == "predict" {
			t.must(readArrays(t.path("predicted"), got))
		} else {
			got[args[0]] = r.stdout
		}
		for name, answer := range got {
			if answer != s.said[name] {
				t.failf("%s: %s ended with exit code 0 and says something else (%s)", where, r.line, name)
			}
		}
	}
}

// flippedRun wants the run refused, or resumed to the same end.
func flippedRun(t *trial, s subject, where, file string) {
	t.run("info", "r")
	r := t.run("train", "r", "--resume", "-q", "--max-passes", lastPasses)
	if r.code != 0 {
		return
	}
	got, err := readRun(t.path("r"))
	if err != nil {
		t.failf("%s: resumed with exit code 0, and then: %v", where, err)
	}
	if file == "r/metrics.jsonl" && oneLineApart(got.metrics, s.ended.metrics) {
		got.metrics = s.ended.metrics // a record that is another, and still a record, is no harm to the rest
	}
	if text := got.differs(s.ended); text != "" && !strings.Contains(r.stderr, filepath.Base(file)) {
		t.failf("%s: resumed with exit code 0 and no word, and then %s", where, text)
	}
}

// oneLineApart reports whether texts differ in one line at most.
func oneLineApart(a, b string) bool {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	apart := 0
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			apart++
		}
	}
	return len(as) == len(bs) && apart <= 1
}
