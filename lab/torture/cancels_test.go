//go:build linux

package torture

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestCancels: SIGINT at any moment of any verb: over within 1 s.
func TestCancels(t *testing.T) { attack(t, 12, 10*len(cancelled), setupCancels) }

// promptness is how long a command may take to end, once it was asked to.
const promptness = time.Second

// cancelled are commands of every verb that work for long, on data that setupCancels makes.
var cancelled = []string{
	"check table", "info table", "train table -o r -q --report=false", "train table --dry-run",
	"predict table -m run -o p", "eval table -m run",
	"check grid.npz", "info grid.npz", "train grid.npz -o r --report=false", "train grid.npz --dry-run",
	"train grid.npz -o r --method pseudo", "train grid.npz -o r --blocks 20",
	"check text.conll", "train text.conll -o r -q",
	"infer net.uai", "infer net.uai --counting trw", "infer net.uai --counting cover", "infer net.uai --task MPE",
	"sample net.uai -o s.npz",
	"check net.uai", "info net.uai",
	"example grid -o g", "example images -o e", "demo -o demo", "info run",
	"watch run",
}

// setupCancels makes data that take seconds to read and to prepare.
func setupCancels(c *campaign, dir string) (func(t *trial), error) {
	for name, text := range map[string][]byte{
		"table/nodes.csv": []byte("id,label,a,b,c,d\n" + listed(300000, "",
			func(i int) string { return fmt.Sprintf("n%d,%d,%d,%d,v%d,%d\n", i, i%3, i%7, i%11, i%50, i) })),
		"table/edges.csv": []byte("source,target,w\n" + listed(600000, "",
			func(i int) string { return fmt.Sprintf("n%d,n%d,%d\n", i%300000, (i*31+1+i/300000)%300000, i%5) })),
		"grid.npz": largeGrid(800),
		"text.conll": []byte(listed(300000, "",
			func(i int) string { return fmt.Sprintf("w%d X%d\n%s", i%20011, i%5, strings.Repeat("\n", i%20/19)) })),
		"net.uai": []byte(gridNetwork(300)),
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return nil, err
		}
	}
	if _, err := c.must(dir, strings.Fields("train table -o run -q --report=false --max-passes 1")...); err != nil {
		return nil, err
	}
	var seconds sync.Map // of a command that is left alone for a while
	return func(t *trial) {
		line := cancelled[spread(t.n, len(cancelled))]
		for _, name := range []string{"table", "grid.npz", "text.conll", "net.uai", "run"} {
			t.must(os.Symlink(filepath.Join(dir, name), t.path(name)))
		}
		alone, known := seconds.Load(line)
		if !known {
			alone = 4.0
		}
		took, ended := cancelOnce(t, line, time.Duration(t.rng.Float64()*alone.(float64)*float64(time.Second)))
		if ended {
			seconds.Store(line, took)
			t.skip()
		}
	}, nil
}

// cancelOnce interrupts a command after a while, and fails the trial with where the command is if
// that does not end it. Processor time tells a machine that is busy with other things.
func cancelOnce(t *trial, line string, wait time.Duration) (seconds float64, ended bool) {
	began := time.Now()
	p := t.start(strings.Fields(line)...)
	if !waited(p, wait) {
		if r := p.end(); r.code != 0 && r.code != 5 {
			t.failf("%s: exit code %d: %s", line, r.code, cut(r.stderr, 300))
		}
		return time.Since(began).Seconds(), true
	}
	before, asked := processorTime(p.Process.Pid), time.Now()
	t.must(p.Process.Signal(syscall.SIGINT))
	for waited(p, promptness/50) {
		if time.Since(asked) > promptness && processorTime(p.Process.Pid)-before > promptness.Seconds() {
			_ = p.Process.Signal(syscall.SIGQUIT)
			stacks := ownFrames(p.end().stderr)
			t.failf("%s: interrupted after %v, it goes on %v later: %s", line, wait, promptness, stacks)
		}
	}
	if r := p.end(); r.signal != syscall.SIGINT { // asked before it began
		t.whole(r)
	}
	for _, stray := range t.strays(t.dir) {
		t.failf("%s: interrupted after %v, it left %s", line, wait, stray)
	}
	return 0, false
}

// strays are the files that a command writes before they get their names, in a folder.
func (t *trial) strays(dir string) (found []string) {
	t.must(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if name := filepath.Base(path); strings.HasPrefix(name, ".") && name != ".lock" {
			found = append(found, path)
		}
		return err
	}))
	return found
}

// ownFrames are the names of our functions in stacks, where the command was.
func ownFrames(stacks string) string {
	var frames []string
	for line := range strings.Lines(stacks) {
		if name, own := strings.CutPrefix(line, "github.com/blockbp/blockbp/"); own && len(frames) < 12 {
			name, _, _ = strings.Cut(name, "({")
			frames = append(frames, strings.TrimSpace(strings.SplitN(name, "(0x", 2)[0]))
		}
	}
	return strings.Join(frames, " < ")
}

// processorTime returns the seconds of the processor that a process has taken.
func processorTime(pid int) float64 {
	const user, ticks = 13, 100 // a field of stat, and what it counts in a second
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < user {
		return 0 // it has ended
	}
	inUser, _ := strconv.ParseFloat(fields[user-2], 64)
	inSystem, _ := strconv.ParseFloat(fields[user-1], 64)
	return (inUser + inSystem) / ticks
}

// largeGrid is an instance of n × n nodes with features and labels.
func largeGrid(n int) []byte {
	rng := rand.New(rand.NewPCG(1, 1))
	edges, labels := gridEdges(n), make([]int, n*n)
	for i := range labels {
		labels[i] = rng.IntN(3)
	}
	return npz(ints("edges", []int{len(edges) / 2, 2}, edges),
		floats("node_features", []int{n * n, 4}, features(rng, n*n, 4)),
		ints("labels", []int{n * n}, labels), ints("grid_shape", []int{2}, []int{n, n}))
}

// gridNetwork is a network of n × n variables in UAI format.
func gridNetwork(n int) string {
	rng := rand.New(rand.NewPCG(1, 1))
	edges := gridEdges(n)
	m := len(edges) / 2
	return fmt.Sprintf("MARKOV\n%d\n%s\n%d\n", n*n, strings.Repeat("3 ", n*n), m) + listed(m, "\n",
		func(e int) string { return fmt.Sprintf("2 %d %d", edges[2*e], edges[2*e+1]) }) + "\n" +
		listed(m, "\n", func(int) string {
			return "9" + listed(9, "", func(int) string { return fmt.Sprintf(" %.3f", 0.1+rng.Float64()) })
		}) + "\n"
}

// gridEdges are the edges of n × n nodes.
func gridEdges(n int) (edges []int) {
	for i := range n * n {
		if i%n+1 < n {
			edges = append(edges, i, i+1)
		}
		if i+n < n*n {
			edges = append(edges, i, i+n)
		}
	}
	return edges
}

// listed is what a function makes of 0 to n − 1, one after the other.
func listed(n int, separator string, of func(i int) string) string {
	var out strings.Builder
	for i := range n {
		if i > 0 {
			out.WriteString(separator)
		}
		out.WriteString(of(i))
	}
	return out.String()
}
