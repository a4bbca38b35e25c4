package study

import (
	"bytes"
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

	"github.com/blockbp/blockbp/internal/oracle"
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
		oracle.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		oracle.OK(t, os.WriteFile(path, data, 0o600))
	}
	var list strings.Builder
	for i := range 3 {
		var picture, features bytes.Buffer
		oracle.OK(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, cols, rows))))
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
				_ = binary.Write(&features, binary.LittleEndian, []float32{float32(float64(y) + rng.NormFloat64()),
					float32(rng.NormFloat64())})
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
	o := must(Run(t.Context(), []*Study{fig5(), table1(), fig6()}, s, folder, silent))
	if len(o.NotRun) != 0 || len(o.Claims) != 5 {
		t.Errorf("outcome %+v", o)
	}
	measured := results{}
	oracle.OK(t, measured.measure(t.Context(), distinct([]*Study{fig5(), fig6()}, s), 1, folder, silent))
	c := must(resultsOf[ImageComparison](measured, []part{imagePart(s)}))[0]
	if c.Images != 2 || c.Variables != 160 || len(c.Runs) != 3 {
		t.Fatalf("%d images with %d variables, %d runs", c.Images, c.Variables, len(c.Runs))
	}
	for _, r := range c.Runs {
		if len(r.Points) == 0 {
			t.Errorf("%s: no points", r.Name)
			continue
		}
		first, last := r.Points[0], r.Points[len(r.Points)-1]
		if r.Iterations == 0 || !(r.Step > 0) || r.Diverged != "" || last.Objective > first.Objective ||
			last.Iterations != r.Iterations {
			t.Errorf("%s: step %v, %d iterations, from %+v to %+v %s", r.Name, r.Step, r.Iterations, first, last, r.Diverged)
		}
	}
	for _, name := range []string{"fig5/objective-seconds.svg", "fig6/samples-bins.svg", "fig6/samples-contrast.svg",
		"table1/iterations.csv"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	for _, edges := range []string{"bins", "contrast"} {
		x := must(resultsOf[Segmentation](measured, []part{segmentationPart(s, edges)}))[0]
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
	oracle.OK(t, os.Rename(data, moved))
	t.Chdir(filepath.Dir(moved))
	if s.Data = "moved"; id() != first {
		t.Error("the same data elsewhere have another key")
	}
	for _, file := range []string{"features/1.npy", trainList} {
		text := must(os.ReadFile(filepath.Join(moved, file)))
		oracle.OK(t, os.WriteFile(filepath.Join(moved, file), append(text, '\n'), 0o600))
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
	o := must(Run(t.Context(), []*Study{fig5(), table1(), fig6()}, s, folder, silent))
	if len(o.NotRun) != 3 || !strings.Contains(o.NotRun[0], "--data") || len(o.Claims) != 0 {
		t.Errorf("outcome %+v", o)
	}
}

// TestPoints: a step is judged by the worst of the late points, and points are drawn seldom, but for
// the last one before a time.
func TestPoints(t *testing.T) {
	var points []ImagePoint
	for i, next := 1, 1.0; i <= 494; i++ {
		if float64(i) >= next || i == 494 {
			points = append(points, ImagePoint{Effort: Effort{Iterations: i, Seconds: float64(i)}})
			next = pointGrowth * float64(i)
		}
	}
	drawn := drawnPoints(points, 123.5)
	if n := len(drawn); n > 20 || drawn[0].Iterations != 1 || drawn[n-1].Iterations != 494 {
		t.Errorf("drawn are %d points: %+v", len(drawn), drawn)
	}
	at := slices.IndexFunc(drawn, func(p ImagePoint) bool { return p.Seconds > 123.5 })
	if before := drawn[at-1].Iterations; before < 117 {
		t.Errorf("the last before 123.5 is %d", before)
	}
	for i := range drawn {
		drawn[i].Objective = 1000 - drawn[i].Seconds
	}
	r := ImageRun{Points: drawn}
	for seconds, want := range map[float64]float64{0.5: math.Inf(1), 1: 999, 494: 506, 600: 506} {
		if got := r.objectiveAt(seconds); got != want {
			t.Errorf("after %v s: %v, want %v", seconds, got, want)
		}
	}
}
