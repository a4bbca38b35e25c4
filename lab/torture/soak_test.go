//go:build linux

package torture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/blockbp/blockbp"
	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/oracle"
)

// stripes is a noisy picture of diagonal stripes: features that tell a little of each
// pixel, and the truth.
func stripes(seed uint64, rows, cols int) blockbp.Graph {
	rng := rand.New(rand.NewPCG(seed, 1))
	g := blockbp.Graph{Edges: blockbp.GridEdges(rows, cols), Rows: rows, Cols: cols}
	for p := range rows * cols {
		dark := (p/cols+p%cols)/6%2 == 1
		seen, name := rng.NormFloat64(), "light"
		if dark {
			seen, name = seen+1, "dark"
		}
		g.Nodes, g.Labels = append(g.Nodes, []float64{seen, 1}), append(g.Labels, name)
	}
	return g
}

// arrayOf is a file of one array.
func arrayOf[T npy.Number](x []T, shape ...int) string {
	var file bytes.Buffer
	if err := npy.Write(&file, shape, x); err != nil {
		panic(err)
	}
	return file.String()
}

// soakData are files of the kinds of data that are read from files, of one small picture.
func soakData() map[string]map[string]string {
	const rows, cols = 6, 7
	g := stripes(1, rows, cols)
	var edges []int32
	for _, ends := range g.Edges {
		edges = append(edges, int32(ends[0]), int32(ends[1]))
	}
	states := []string{"dark", "light"}
	labels, single, picture := make([]int32, len(g.Labels)), make([]float32, 0, 2*rows*cols), image.NewGray(image.Rect(0, 0, cols, rows))
	for s, name := range g.Labels {
		labels[s] = int32(slices.Index(states, name))
		picture.Pix[s] = byte(labels[s])
		single = append(single, float32(g.Nodes[s][0]), 1)
	}
	var pixels bytes.Buffer
	if err := png.Encode(&pixels, picture); err != nil {
		panic(err)
	}
	nodes := slices.Concat(g.Nodes...)
	one := map[string]string{
		"edges.npy": arrayOf(edges, len(g.Edges), 2), "labels.npy": arrayOf(labels, rows*cols), "node_features.npy": arrayOf(nodes, rows*cols, 2),
	}
	two := map[string]string{
		"edges.npy": arrayOf(slices.Repeat(edges, 2), 2*len(g.Edges), 2), "labels.npy": arrayOf(slices.Repeat(labels, 2), 2*rows*cols),
		"node_features.npy": arrayOf(slices.Repeat(single, 2), 2*rows*cols, 2), "edge_features.npy": arrayOf(slices.Repeat([]float64{1}, 2*len(g.Edges)), 2*len(g.Edges), 1),
		"sizes.npy": arrayOf([]int32{rows * cols, int32(len(g.Edges)), rows * cols, int32(len(g.Edges))}, 2, 2),
	}
	return map[string]map[string]string{
		"a network in arrays": one, "networks in arrays": two,
		"photographs": {"images/a.png": pixels.String(), "labels/a.png": pixels.String(), "features/a.npy": arrayOf(single, rows, cols, 2)},
		"tables":      {"nodes.csv": "id,x,label\na,1,u\nb,0,v\nc,1,u\n", "edges.csv": "from,to\na,b\nb,c\n"},
		"sentences":   {"a.conll": "the\tD\ndog\tN\nbarks\tV\n\na\tD\ncat\tN\n"},
	}
}

func writeSoaked(t *testing.T, folder string, files map[string]string) {
	for name, text := range files {
		path := filepath.Join(folder, name)
		oracle.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		oracle.OK(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

// soaked goes through the doors with data.
func soaked(t *testing.T, path string, data *blockbp.Data) {
	ctx := t.Context()
	model := must(blockbp.Train(ctx, data, blockbp.Options{MaxPasses: 3, Threads: 2, Validation: data}))
	oracle.OK(t, model.Save(path))
	model = must(blockbp.Load(path))
	must(model.Predict(ctx, data))
	must(model.Evaluate(ctx, data))
	ended, end := context.WithCancel(ctx)
	end()
	if _, err := model.Predict(ended, data); err == nil {
		t.Error("a prediction whose context has ended is none")
	}
}

// TestSoak: whatever calls there are, nothing of them stays: neither of those that work, nor of errors.
func TestSoak(t *testing.T) {
	all, path := soakData(), filepath.Join(t.TempDir(), "model.safetensors")
	for kind, files := range all {
		t.Run(kind, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "data")
			soak(t, func() {
				writeSoaked(t, folder, files)
				soaked(t, path, must(blockbp.Open(folder)))
				oracle.OK(t, os.RemoveAll(folder))
			})
		})
	}
	t.Run("memory", func(t *testing.T) {
		soak(t, func() { soaked(t, path, must(blockbp.NewData(stripes(1, 6, 7), stripes(2, 6, 7)))) })
	})
	t.Run("errors", func(t *testing.T) {
		folder := t.TempDir()
		writeSoaked(t, folder, all["networks in arrays"])
		writeSoaked(t, folder, map[string]string{"labels.npy": "no array"})
		soak(t, func() {
			if _, err := blockbp.Train(t.Context(), must(blockbp.Open(folder)), blockbp.Options{}); err == nil {
				t.Error("damaged data are learned from")
			}
		})
	})
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// ownTime is what this program has taken.
func ownTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// heap is the memory in use, once none waits to be collected.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// largeTables makes tables of nodes and edges that take a while to read.
func largeTables(t *testing.T, nodes int) (prefix string) {
	t.Helper()
	folder := t.TempDir()
	var n, e strings.Builder
	n.WriteString("id,label,a,b,c\n")
	e.WriteString("source,target,w\n")
	for i := range nodes {
		fmt.Fprintf(&n, "n%d,%d,%d,v%d,%d\n", i, i%3, i%7, i%50, i)
		fmt.Fprintf(&e, "n%d,n%d,%d\nn%d,n%d,1\n", i, (i+1)%nodes, i%5, i, (i*31+7)%nodes)
	}
	for name, text := range map[string]string{"nodes.csv": n.String(), "edges.csv": e.String()} {
		oracle.OK(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
	}
	return folder
}

// TestDoorCancelled: whatever the door is at, it ends soon after its context does, with the error of
// that or with the weights so far, and gives the memory back.
func TestDoorCancelled(t *testing.T) {
	const nodes, times = 20000, 2
	tables := largeTables(t, nodes)
	open := func() *blockbp.Data { return must(blockbp.Open(tables)) }
	model := must(blockbp.Train(t.Context(), open(), blockbp.Options{MaxPasses: 1}))
	rng := rand.New(rand.NewPCG(1, 1))
	for name, work := range map[string]func(ctx context.Context) error{
		"Train":    func(ctx context.Context) error { _, err := blockbp.Train(ctx, open(), blockbp.Options{}); return err },
		"Predict":  func(ctx context.Context) error { _, err := model.Predict(ctx, open()); return err },
		"Evaluate": func(ctx context.Context) error { _, err := model.Evaluate(ctx, open()); return err },
	} {
		began, before := time.Now(), heap()
		limit, end := context.WithTimeout(t.Context(), 3*time.Second)
		_ = work(limit) // how long it takes, if not too long
		end()
		alone := time.Since(began)
		goroutines := runtime.NumGoroutine()
		for range times {
			ctx, cancel := context.WithCancel(t.Context())
			wait := time.Duration(rng.Float64() * float64(alone))
			var asked time.Time
			var spent time.Duration
			timer := time.AfterFunc(wait, func() { asked, spent = time.Now(), ownTime(); cancel() })
			err := work(ctx)
			if timer.Stop() {
				cancel()
				continue // it had ended
			}
			<-ctx.Done()
			if took, worked := time.Since(asked), ownTime()-spent; min(took, worked) > time.Second {
				t.Errorf("%s: cancelled after %v, it ended %v later", name, wait, took)
			}
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%s: cancelled after %v: error %v, want that of the context", name, wait, err)
			}
			if after := heap(); after > before+4 {
				t.Errorf("%s: cancelled after %v, it keeps %.1f MiB, and had %.1f MiB", name, wait, after, before)
			}
			left := runtime.NumGoroutine() - goroutines
			for range 100 { // those that have ended need not be gone at once
				if left > 0 {
					time.Sleep(10 * time.Millisecond)
					left = runtime.NumGoroutine() - goroutines
				}
			}
			if left > 0 {
				t.Errorf("%s: cancelled after %v, it leaves %d goroutines", name, wait, left)
			}
		}
	}
}

// soak calls do again and again, and fails where the process keeps something of each call: maps of memory,
// open files, disk of deleted files, goroutines, or memory. Numbers are compared after collections, as what
// nobody closes is left to the garbage collector.
//
// BLOCKBP_SOAK says how many calls there are, in the place of a few dozen.
func soak(t *testing.T, do func()) {
	t.Helper()
	calls := 24
	if asked, err := strconv.Atoi(os.Getenv("BLOCKBP_SOAK")); err == nil {
		calls = max(calls, asked)
	}
	for range calls / 4 { // caches and scratch of the runtime are made
		do()
	}
	before := settled(t)
	for range calls {
		do()
	}
	after := settled(t)
	t.Logf("%d calls: %v, then %v", calls, before, after)
	for i, what := range kinds {
		// What is kept of one call in four is a leak; of memory, 8 KiB of each call.
		most := before[i] + calls/4
		if what == resident {
			most = before[i] + 8*calls + 2<<10
		}
		if after[i] > most && !(what == resident && racing()) {
			t.Errorf("%d calls leave %d %s, and there were %d before", calls, after[i], what, before[i])
		}
	}
}

const resident = "KiB in memory"

// kinds are what is counted.
var kinds = [...]string{"maps", "open files", "maps and open files of deleted files", "goroutines", resident}

// settled counts when collections find nothing any more.
func settled(t *testing.T) (least [len(kinds)]int) {
	for try := range 10 {
		debug.FreeOSMemory()
		time.Sleep(5 * time.Millisecond) // cleanups follow a collection
		for i, n := range kept(t) {
			if try == 0 || n < least[i] {
				least[i] = n
			}
		}
	}
	return least
}

func kept(t *testing.T) (n [len(kinds)]int) {
	maps := oracle.Must(os.ReadFile("/proc/self/maps"))(t)
	const deleted = " (deleted)"
	n[0], n[2] = bytes.Count(maps, []byte("\n")), bytes.Count(maps, []byte(deleted))
	files := oracle.Must(os.ReadDir("/proc/self/fd"))(t)
	for _, file := range files {
		if to, _ := os.Readlink(filepath.Join("/proc/self/fd", file.Name())); strings.HasSuffix(to, deleted) {
			n[2]++
		}
	}
	n[1], n[3] = len(files), runtime.NumGoroutine()
	status := oracle.Must(os.ReadFile("/proc/self/status"))(t)
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	n[4] = oracle.Must(strconv.Atoi(strings.Fields(rest)[0]))(t)
	return n
}

// racing reports whether the race detector watches, which takes memory of its own for every address that is ever used.
func racing() bool {
	build, _ := debug.ReadBuildInfo()
	return slices.ContainsFunc(build.Settings, func(s debug.BuildSetting) bool { return s.Key == "-race" && s.Value == "true" })
}
