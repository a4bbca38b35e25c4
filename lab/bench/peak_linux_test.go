package bench

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/blockbp/blockbp/dataset"
	"github.com/blockbp/blockbp/graph"
	"github.com/blockbp/blockbp/internal/gen"
	"github.com/blockbp/blockbp/internal/oracle"
)

// peakProblem is data to measure the peak memory of learning on. Labels are random: what
// is learned does not matter.
type peakProblem struct {
	graph                  *graph.Graph
	states, nodes, edges   int // numbers of features
	instances              int
	hidden                 bool // every other label
	manifest               string
	picturesRows, pictures int
}

func (p *peakProblem) write(t *testing.T, folder string) string {
	t.Helper()
	if p.manifest != "" {
		writeFile(t, filepath.Join(folder, dataset.ManifestName), p.manifest)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	matrix := func(rows, columns int) *dataset.Matrix {
		if columns == 0 {
			return nil
		}
		m := &dataset.Matrix{Columns: columns, Data: make([]float64, rows*columns)}
		for i := range m.Data {
			m.Data[i] = rng.NormFloat64()
		}
		return m
	}
	for i := range max(1, p.instances) {
		n := p.graph.NumNodes()
		a := &dataset.Arrays{Edges: p.graph.Pairs(), NodeFeatures: matrix(n, p.nodes),
			EdgeFeatures: matrix(p.graph.NumEdges(), p.edges), Labels: [][]int32{make([]int32, n)}}
		for s := range a.Labels[0] {
			a.Labels[0][s] = int32(s % p.states) // every state occurs
			if s >= p.states {
				a.Labels[0][s] = rng.Int32N(int32(p.states))
			}
			if p.hidden && s >= p.states && s%2 == 0 {
				a.Labels[0][s] = -1
			}
			if p.manifest != "" {
				a.Labels[0][s] &^= 1 // even states are allowed
			}
		}
		oracle.OK(t, a.WriteFile(filepath.Join(folder, fmt.Sprintf("%d.npz", i))))
	}
	return folder
}

// writePictures makes an image folder.
func (p *peakProblem) writePictures(t *testing.T, folder string) string {
	t.Helper()
	rows, columns, rng := p.picturesRows, p.picturesRows*4/3, rand.New(rand.NewPCG(3, 4))
	for i := range p.pictures {
		id := fmt.Sprintf("pic%d", i)
		var text strings.Builder
		for r := range rows {
			for c := range columns {
				fmt.Fprintf(&text, "%d ", (r*p.states/rows+c*3/columns)%p.states)
			}
			text.WriteString("\n")
		}
		var picture bytes.Buffer
		oracle.OK(t, png.Encode(&picture, noise(rows, columns, rng)))
		writeFile(t, filepath.Join(folder, "images", id+".png"), picture.String())
		writeFile(t, filepath.Join(folder, "labels", id+".regions.txt"), text.String())
		features := make([]float32, rows*columns*p.nodes)
		for j := range features {
			features[j] = float32(rng.NormFloat64())
		}
		header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d, %d), }", rows, columns, p.nodes)
		npy := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), byte(len(header)>>8))
		file := oracle.Must(binary.Append(append(npy, header...), binary.LittleEndian, features))(t)
		writeFile(t, filepath.Join(folder, "features", id+".npy"), string(file))
	}
	return folder
}

// noise is a picture of many colours.
func noise(rows, columns int, rng *rand.Rand) image.Image {
	picture := image.NewRGBA(image.Rect(0, 0, columns, rows))
	for i := range picture.Pix {
		picture.Pix[i] = uint8(rng.Uint32()) | 1
	}
	return picture
}

// writeFile writes a file, and the folders above it.
func writeFile(t *testing.T, path, text string) {
	t.Helper()
	oracle.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
	oracle.OK(t, os.WriteFile(path, []byte(text), 0o644))
}

// resumedRun is the kind of run that goes on from the checkpoint of one like it.
const resumedRun = "resumed"

// TestForecastIsRight: train --dry-run says what the process will have taken at most, to
// 15 % and 30 MiB, on problems of all kinds; and does not take it. BLOCKBP_PEAK=all measures
// all of them.
func TestForecastIsRight(t *testing.T) {
	oracle.Long(t)
	all := os.Getenv("BLOCKBP_PEAK") == "all"
	blockbp := filepath.Join(t.TempDir(), "blockbp")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", blockbp, "./cmd/blockbp")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	made := func(g *graph.Graph, err error) *graph.Graph {
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	grid := func(side int) *graph.Graph { return made(graph.Grid(side, side, graph.GridOptions{})) }
	chain, scaleFree := made(gen.Chain(60000)), made(gen.BarabasiAlbert(20000, 3, rand.New(rand.NewPCG(1, 1))))
	mask := `{"states": 12, "directed": true, "forbidden_pairs": [["1", "1"], ["3", "5"], ["7", "9"]]}`
	large := peakProblem{graph: grid(150), states: 16, nodes: 20, edges: 10}
	for _, c := range []struct {
		name  string
		short bool // of every run of the tests: so large that what else a machine does is no matter
		p     peakProblem
		args  string
	}{
		{"grid of 100² with 21 states", false, peakProblem{graph: grid(100), states: 21, nodes: 20, edges: 10}, ""},
		{"Barabási–Albert", false, peakProblem{graph: scaleFree, states: 8, nodes: 20, edges: 10}, ""},
		{"ten grids with 100 features", false, peakProblem{graph: grid(30), states: 8, nodes: 100, edges: 100, instances: 10}, ""},
		{"photographs", false, peakProblem{pictures: 4, picturesRows: 180, states: 8, nodes: 20}, "--bins 10"},
		{"chain", true, peakProblem{graph: chain, states: 20, nodes: 20, edges: 10}, ""},
		{"untied", true, peakProblem{graph: grid(45), states: 8}, "--untied --l2 0.001 --rtol 1e-9 --max-passes 60"},
		{"hidden labels", false, peakProblem{graph: grid(120), states: 16, nodes: 20, edges: 10, hidden: true}, ""},
		{"dense features of edges", false, peakProblem{graph: grid(120), states: 6, nodes: 20, edges: 100}, ""},
		{"masked states", false, peakProblem{graph: grid(150), states: 12, nodes: 20, edges: 10, manifest: mask}, ""},
		{"large grid", true, large, ""},
		{"full", true, peakProblem{graph: grid(100), states: 21, nodes: 20, edges: 10}, "--method full --inner-sweeps 3"},
		{"inner-dual", false, large, "--method inner-dual"},
		{"pseudo", true, large, "--method pseudo"},
		{"piecewise", false, large, "--method piecewise"},
		{"one thread", false, large, "--method inner-dual --threads 1"},
		{"two threads", false, peakProblem{graph: grid(70), states: 21, nodes: 20, edges: 10, instances: 4}, "--method full --inner-sweeps 2 --threads 2"},
		{"evaluation", false, peakProblem{graph: grid(100), states: 21, nodes: 20, edges: 10}, "--eval dev=DATA"},
		{resumedRun, true, peakProblem{pictures: 7, picturesRows: 120, states: 8, nodes: 20}, "--bins 10"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !c.short && !all {
				t.Skip("skipped: one run of each kind is enough for every change, all take 100 s; the test runs with BLOCKBP_PEAK=all")
			}
			folder := t.TempDir()
			data := filepath.Join(folder, "data")
			if c.p.pictures > 0 {
				c.p.writePictures(t, data)
			} else {
				oracle.OK(t, os.Mkdir(data, 0o777))
				c.p.write(t, data)
			}
			args := append([]string{"train", data, "--json", "-q"}, strings.Fields(strings.ReplaceAll(c.args, "DATA", data))...)
			if !strings.Contains(c.args, "--max-passes") {
				args = append(args, "--max-passes", "4")
			}
			run, again := filepath.Join(folder, "run"), filepath.Join(folder, "again")
			if c.name == resumedRun {
				peakOf(t, blockbp, append(args, "-o", run)...)
				oracle.OK(t, os.CopyFS(again, os.DirFS(run)))
				args = []string{"train", run, "--resume", "--json", "-q", "--max-passes", "5"}
			}
			text, dryPeak := peakOf(t, blockbp, append(slices.Clone(args), "--dry-run")...)
			var d struct {
				Memory struct {
					Bytes  float64 `json:"bytes"`
					AtMost float64 `json:"at_most"`
				} `json:"memory"`
			}
			if err := json.Unmarshal([]byte(text), &d); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			_, base := peakOf(t, blockbp, "info", data)
			if c.name != resumedRun {
				args = append(args, "-o", run)
			}
			const share, more = 0.15, 30 << 20
			_, peak := peakOf(t, blockbp, args...)
			if d.Memory.Bytes < (1-share)*peak-more { // where other tests run, the collector may come late once
				args[slices.Index(args, run)] = again
				_, second := peakOf(t, blockbp, args...)
				peak = min(peak, second)
			}
			mebi := func(x float64) float64 { return x / (1 << 20) }
			t.Logf("%-28s forecast %6.1f MiB, measured %6.1f MiB, error %+5.1f %%; the dry run took %.1f MiB, reading %.1f", c.name, mebi(d.Memory.Bytes), mebi(peak), 100*(d.Memory.Bytes/peak-1), mebi(dryPeak), mebi(base))
			if math.Abs(d.Memory.Bytes-peak) > share*peak+more {
				t.Errorf("forecast %.1f MiB, measured %.1f MiB", mebi(d.Memory.Bytes), mebi(peak))
			}
			// More of the program is in memory than info needs.
			if most := base + 32<<20; dryPeak > most {
				t.Errorf("the dry run took %.1f MiB, more than reading the data, %.1f, and a little", mebi(dryPeak), mebi(base))
			}
			if d.Memory.AtMost < d.Memory.Bytes {
				t.Errorf("at most %.0f bytes, less than the %.0f that are forecast", d.Memory.AtMost, d.Memory.Bytes)
			}
		})
	}
}

// peakOf runs a program and returns its output and the most memory it has had, in bytes. The
// resource usage of a process that ended would not do: it begins with the memory of
// the process that started it.
func peakOf(t *testing.T, name string, args ...string) (stdout string, peak float64) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), "GOGC=", "GOMEMLIMIT=")
	var out, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errors
	oracle.OK(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, errors.String())
			}
			return out.String(), peak
		case <-time.After(2 * time.Millisecond):
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)) // it may be gone
			for line := range strings.Lines(string(status)) {
				if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
					kib := oracle.Must(strconv.ParseFloat(fields[1], 64))(t)
					peak = max(peak, kib*1024)
				}
			}
		}
	}
}
