package runfolder

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestEventChecksum: the answers of RFC 3720, B.4, and the mask undone.
func TestEventChecksum(t *testing.T) {
	rising := make([]byte, 32)
	for i := range rising {
		rising[i] = byte(i)
	}
	for _, c := range []struct {
		data []byte
		want uint32
	}{
		{make([]byte, 32), 0x8a9136aa},
		{bytes.Repeat([]byte{0xff}, 32), 0x62a8ab43},
		{rising, 0x46dd794e},
		{[]byte("123456789"), 0xe3069283},
	} {
		rotated := masked(c.data) - 0xa282ead8
		if got := rotated>>17 | rotated<<15; got != c.want {
			t.Errorf("%x: %08x, want %08x", c.data, got, c.want)
		}

	}
}

// metrics of a made-up run, with what is not known here and there.
func metrics() []Metric {
	first, second, third := NewMetric(0), NewMetric(1), NewMetric(300)
	first.WallS, first.Objective, first.GradNorm = 0.5, 2.75, math.Inf(1)
	third.WallS, third.GradNorm, third.Suboptimality = 2000, 1e-7, 0.25
	third.Eval = map[string]float64{"dev.2.accuracy": 0.5, "test.iou": 0.125}
	return []Metric{first, second, third}
}

var start = time.Unix(1_700_000_000, 250_000_000)

// TestWriteEvents: the bytes are those that TensorBoard's own reader has read, which the next test asks again.
func TestWriteEvents(t *testing.T) {
	var file bytes.Buffer
	oracle.OK(t, WriteEvents(&file, start, metrics()))
	if want := oracle.Must(os.ReadFile(filepath.Join("testdata", "tfevents")))(t); !bytes.Equal(file.Bytes(), want) {
		t.Errorf("got  %q\nwant %q", file.Bytes(), want)
	}
	if name := EventsName(start); name != "events.out.tfevents.1700000000.blockbp" {
		t.Errorf("the file is called %s", name)
	}
}

// TestTensorBoardReads: TensorBoard's own reader finds the same numbers.
func TestTensorBoardReads(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err == nil {
		err = exec.CommandContext(t.Context(), python, "-c", "import tensorboard").Run()
	}
	if err != nil {
		t.Skip("skipped: the file is read by TensorBoard, which is not installed here; the test runs where python3 has tensorboard")
	}
	dir := t.TempDir()
	var file bytes.Buffer
	oracle.OK(t, WriteEvents(&file, start, metrics()))
	oracle.OK(t, os.WriteFile(filepath.Join(dir, EventsName(start)), file.Bytes(), 0o666))
	const script = `
import sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
a = EventAccumulator(sys.argv[1]).Reload()
for tag in sorted(a.Tags()["scalars"]):
    print(tag, *("%d %.2f %g" % (e.step, e.wall_time, e.value) for e in a.Scalars(tag)))`
	out, err := exec.CommandContext(t.Context(), python, "-c", script, dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := []string{
		"eval/dev.2/accuracy 300 1700002000.25 0.5",
		"eval/test/iou 300 1700002000.25 0.125",
		"grad_norm 300 1700002000.25 1e-07",
		"objective 0 1700000000.75 2.75",
		"suboptimality 300 1700002000.25 0.25",
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if lines = lines[max(0, len(lines)-len(want)):]; !slices.Equal(lines, want) {
		t.Errorf("TensorBoard reads\n%s", out)
	}
}
