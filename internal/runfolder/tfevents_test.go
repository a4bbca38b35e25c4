package runfolder

import (
	"bytes"
	"encoding/binary"
	"fmt"
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

// bitwise is CRC-32C by its definition, bit for bit.
func bitwise(data []byte) uint32 {
	sum := ^uint32(0)
	for _, b := range data {
		sum ^= uint32(b)
		for range 8 {
			bit := sum & 1
			if sum >>= 1; bit == 1 {
				sum ^= 0x82f63b78
			}
		}
	}
	return ^sum
}

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
		if got := rotated>>17 | rotated<<15; got != c.want || bitwise(c.data) != c.want {
			t.Errorf("%x: %08x, bit for bit %08x, want %08x", c.data, got, bitwise(c.data), c.want)
		}
	}
}

// event is what a reader finds in one record.
type event struct {
	wall    float64
	step    int64
	version string
	values  map[string]float32
}

// fields reads a message: numbers by their field, and texts.
func fields(t *testing.T, message []byte, visit func(field int, number uint64, text []byte)) {
	t.Helper()
	for len(message) > 0 {
		key, n := binary.Uvarint(message)
		message = message[n:]
		field := int(key >> 3)
		switch key & 7 {
		case 0:
			v, n := binary.Uvarint(message)
			visit(field, v, nil)
			message = message[n:]
		case 1:
			visit(field, binary.LittleEndian.Uint64(message), nil)
			message = message[8:]
		case 2:
			length, n := binary.Uvarint(message)
			visit(field, 0, message[n:n+int(length)])
			message = message[n+int(length):]
		case 5:
			visit(field, uint64(binary.LittleEndian.Uint32(message)), nil)
			message = message[4:]
		default:
			t.Fatalf("field %d is of the kind %d", field, key&7)
		}
	}
}

// read reads a whole event file.
func read(t *testing.T, file []byte) (events []event) {
	t.Helper()
	sum := func(data []byte) uint32 {
		crc := bitwise(data)
		return (crc>>15 | crc<<17) + 0xa282ead8
	}
	for len(file) > 0 {
		length := binary.LittleEndian.Uint64(file)
		data := file[12 : 12+length]
		if binary.LittleEndian.Uint32(file[8:]) != sum(file[:8]) || binary.LittleEndian.Uint32(file[12+length:]) != sum(data) {
			t.Fatalf("event %d: a checksum is wrong", len(events))
		}
		file = file[16+length:]
		e := event{values: map[string]float32{}}
		fields(t, data, func(field int, number uint64, text []byte) {
			switch field {
			case 1:
				e.wall = math.Float64frombits(number)
			case 2:
				e.step = int64(number)
			case 3:
				e.version = string(text)
			case 5:
				fields(t, text, func(_ int, _ uint64, value []byte) {
					tag := ""
					fields(t, value, func(field int, number uint64, text []byte) {
						if field == 1 {
							tag = string(text)
							return
						}
						e.values[tag] = math.Float32frombits(uint32(number))
					})
				})
			}
		})
		events = append(events, e)
	}
	return events
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

func TestWriteEvents(t *testing.T) {
	var file bytes.Buffer
	oracle.OK(t, WriteEvents(&file, start, metrics()))
	want := []event{
		{1_700_000_000.25, 0, "brain.Event:2", map[string]float32{}},
		{1_700_000_000.75, 0, "", map[string]float32{"objective": 2.75}},
		{1_700_002_000.25, 300, "", map[string]float32{"grad_norm": 1e-7, "suboptimality": 0.25, "eval/dev.2/accuracy": 0.5, "eval/test/iou": 0.125}},
	}
	if got := read(t, file.Bytes()); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
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
