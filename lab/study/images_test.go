package study

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/dataset"
)

// drawnImages makes an image folder: pictures of two classes, one above the other,
// with noisy features at the pictures' resolution.
func drawnImages(t *testing.T) string {
	t.Helper()
	const rows, cols = 8, 10
	folder := t.TempDir()
	rng := rand.New(rand.NewPCG(1, 2))
	write := func(name string, data []byte) {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var list strings.Builder
	for i := range 3 {
		var picture, features bytes.Buffer
		if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, cols, rows))); err != nil {
			t.Fatal(err)
		}
		header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d, 2), }", rows, cols)
		header += strings.Repeat(" ", 117-len(header)) + "\n"
		features.WriteString("\x93NUMPY\x01\x00v\x00" + header)
		var labels strings.Builder
		for r := range rows {
			for range cols {
				y := 0
				if r >= 3+i {
					y = 1
				}
				fmt.Fprintf(&labels, "%d ", y)
				_ = binary.Write(&features, binary.LittleEndian, []float32{float32(float64(y) + rng.NormFloat64()), float32(rng.NormFloat64())})
			}
			labels.WriteByte('\n')
		}
		write(fmt.Sprintf("images/%d.png", i), picture.Bytes())
		write(fmt.Sprintf("labels/%d.regions.txt", i), []byte(labels.String()))
		write(fmt.Sprintf("features/%d.npy", i), features.Bytes())
		fmt.Fprintln(&list, i)
	}
	write(trainList, []byte(list.String()))
	write(testList, []byte("2\n1\n"))
	return folder
}

// TestImages runs the studies on images: the first images of the list only, and
// objectives that fall.
func TestImages(t *testing.T) {
	s := must(Settings{Scale: Tiny, Threads: 2, Data: drawnImages(t)}.identified())
	dir := filepath.Join(t.TempDir(), "out")
	folder := must(OpenFolder(dir))
	o := must(Run(context.Background(), []*Study{fig5(), table1(), fig6()}, s, folder, nil))
	if len(o.NotRun) != 0 || len(o.Claims) != 5 {
		t.Errorf("outcome %+v", o)
	}
	c := must(result[ImageComparison](must(readAll([]*Study{fig5()}, s, folder)), imagePart(s)))
	if c.Images != 2 || c.Variables != 160 || len(c.Runs) != 3 {
		t.Fatalf("%d images with %d variables, %d runs", c.Images, c.Variables, len(c.Runs))
	}
	for _, r := range c.Runs {
		if len(r.Points) == 0 {
			t.Errorf("%s: no points", r.Name)
			continue
		}
		first, last := r.Points[0], r.Points[len(r.Points)-1]
		if r.Iterations == 0 || !(r.Step > 0) || r.Diverged != "" || last.Objective > first.Objective || last.Iteration != r.Iterations {
			t.Errorf("%s: step %v, %d iterations, from %+v to %+v %s", r.Name, r.Step, r.Iterations, first, last, r.Diverged)
		}
	}
	for _, name := range []string{"fig5/objective-seconds.svg", "fig6/samples-bins.png", "fig6/samples-contrast.png", "table1/iterations.csv"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	for _, edges := range []string{dataset.EdgesBins, dataset.EdgesContrast} {
		x := must(result[Segmentation](must(readAll([]*Study{fig6()}, s, folder)), segmentationPart(s, edges)))
		if x.TestImages != 1 || x.Pixels != 80 || !(x.Accuracy > 0.6) || len(x.Samples) != 1 {
			t.Errorf("%s: %d test images, %d pixels, accuracy %v", edges, x.TestImages, x.Pixels, x.Accuracy)
		}
	}
}

// TestImageKey: parts are found wherever the data lie, and not where they are others.
func TestImageKey(t *testing.T) {
	data := drawnImages(t)
	s := Settings{Scale: Tiny, Data: data}
	id := func() string {
		p := imagePart(must(s.identified()))
		return p.id()
	}
	first := id()
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(data, moved); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(moved))
	if s.Data = "moved"; id() != first {
		t.Error("the same data elsewhere have another key")
	}
	if full := must(s.identified()); full.Data != moved {
		t.Errorf("the path is %s", full.Data)
	}
	for _, file := range []string{"features/1.npy", trainList} {
		text := must(os.ReadFile(filepath.Join(moved, file)))
		text[len(text)-1]++ // of the same size
		if err := os.WriteFile(filepath.Join(moved, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if now := id(); now == first {
			t.Errorf("%s changed, the key did not", file)
		} else {
			first = now
		}
	}
}

// TestWithoutData: studies on images say what they need, and are not run.
func TestWithoutData(t *testing.T) {
	folder := must(OpenFolder(filepath.Join(t.TempDir(), "out")))
	s := Settings{Scale: Tiny}
	o := must(Run(context.Background(), []*Study{fig5(), table1(), fig6()}, s, folder, nil))
	if len(o.NotRun) != 3 || !strings.Contains(o.NotRun[0], "--data") || len(o.Claims) != 0 {
		t.Errorf("outcome %+v", o)
	}
}

// TestPoints: a step is judged by the worst of the late points, and the points next to a
// quarter of the time are kept, close together.
func TestPoints(t *testing.T) {
	var points []ImagePoint
	for i, next := 1, 1.0; i <= 494; i++ {
		if float64(i) >= next || i == 494 {
			points = append(points, ImagePoint{Iteration: i, Seconds: float64(i)})
			next = pointGrowth * float64(i)
		}
	}
	late := latePoints(points)
	if len(late) != 3 || late[2].Iteration != 494 || late[0].Iteration < 395 || late[0].Iteration > 430 || late[1].Iteration <= late[0].Iteration {
		t.Errorf("judged by %+v", late)
	}
	if one := latePoints(points[:1]); len(one) != 1 {
		t.Errorf("of one point %+v", one)
	}
	drawn := drawnPoints(points, 123.5)
	if n := len(drawn); n > 20 || drawn[0].Iteration != 1 || drawn[n-1].Iteration != 494 {
		t.Errorf("drawn are %d points: %+v", len(drawn), drawn)
	}
	at := slices.IndexFunc(drawn, func(p ImagePoint) bool { return p.Seconds > 123.5 })
	if a, b := drawn[at-1].Iteration, drawn[at].Iteration; float64(b) > 1.06*float64(a) {
		t.Errorf("around 123.5 are %d and %d", a, b)
	}
	r := ImageRun{Points: drawn}
	for seconds, want := range map[float64]bool{123.5: true, 494: false, 1: false, 600: false, 0.5: false} {
		if got := r.between(seconds); got != want {
			t.Errorf("at %v s: between is %v", seconds, got)
		}
	}
}

// TestObjectiveAt: between kept points the logarithm goes straight.
func TestObjectiveAt(t *testing.T) {
	r := ImageRun{Points: []ImagePoint{{Seconds: 1, Objective: 100}, {Seconds: 3, Objective: 1}, {Seconds: 4, Objective: -1}}}
	for _, c := range []struct{ at, want float64 }{{0.5, math.Inf(1)}, {1, 100}, {2, 10}, {3, 1}, {3.5, 0}, {4, -1}, {9, -1}} {
		if got := r.objectiveAt(c.at); got != c.want && !(math.Abs(got-c.want) < 1e-12) {
			t.Errorf("after %v s: %v, want %v", c.at, got, c.want)
		}
	}
}
