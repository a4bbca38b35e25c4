package runfolder

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// The metrics of a run as an event file of TensorBoard: records with checksums, each of which holds one message of
// protocol buffers.

// EventsName is how TensorBoard knows an event file: by the middle of its name, and in the
// order of the seconds behind it.
func EventsName(start time.Time) string {
	return fmt.Sprintf("events.out.tfevents.%010d.blockbp", max(0, start.Unix()))
}

// eventsVersion is what the first event of a file says.
const eventsVersion = "brain.Event:2"

// WriteEvents writes one event for each record: objective, grad_norm, suboptimality and
// eval/SET/MEASURE where they are known, at the step of its iteration, and at its seconds
// after start. Values have the precision of float32.
func WriteEvents(w io.Writer, start time.Time, metrics []Metric) error {
	epoch := float64(start.Unix()) + float64(start.Nanosecond())/1e9
	first := appendDouble(nil, eventWallTime, epoch)
	first = appendBytes(first, eventVersion, []byte(eventsVersion))
	if _, err := w.Write(appendRecord(nil, first)); err != nil {
		return err
	}
	var record []byte
	for i := range metrics {
		m := &metrics[i]
		values := summaryOf(m)
		if len(values) == 0 {
			continue
		}
		at := epoch
		if isFinite(m.WallS) {
			at += m.WallS
		}
		event := appendDouble(nil, eventWallTime, at)
		event = binary.AppendUvarint(append(event, eventStep<<3|wireVarint), uint64(m.Iter))
		event = appendBytes(event, eventSummary, values)
		record = appendRecord(record[:0], event)
		if _, err := w.Write(record); err != nil {
			return err
		}
	}
	return nil
}

// Numbers of fields, of event.proto and summary.proto of TensorFlow, and how a field is
// written.
const (
	eventWallTime = 1 // double: seconds since 1970
	eventStep     = 2 // int64
	eventVersion  = 3 // string
	eventSummary  = 5 // message
	summaryValue  = 1 // message, repeated
	valueTag      = 1 // string
	valueSimple   = 2 // float

	wireVarint  = 0
	wireDouble  = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// summaryOf is the message of what is known of a record, empty if nothing is.
func summaryOf(m *Metric) (message []byte) {
	add := func(tag string, v float64) {
		if !isFinite(v) {
			return
		}
		value := appendBytes(nil, valueTag, []byte(tag))
		value = binary.LittleEndian.AppendUint32(append(value, valueSimple<<3|wireFixed32), math.Float32bits(float32(v)))
		message = appendBytes(message, summaryValue, value)
	}
	add("objective", m.Objective)
	add("grad_norm", m.GradNorm)
	add("suboptimality", m.Suboptimality)
	for _, name := range slices.Sorted(maps.Keys(m.Eval)) {
		tag := "eval/" + name
		if dot := strings.LastIndexByte(name, '.'); dot >= 0 { // of SET.MEASURE: sets may have points
			tag = "eval/" + name[:dot] + "/" + name[dot+1:]
		}
		add(tag, m.Eval[name])
	}
	return message
}

func appendDouble(dst []byte, field byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(append(dst, field<<3|wireDouble), math.Float64bits(v))
}

func appendBytes(dst []byte, field byte, text []byte) []byte {
	return append(binary.AppendUvarint(append(dst, field<<3|wireBytes), uint64(len(text))), text...)
}

// appendRecord frames data: its length, the checksum of the length, data, and the
// checksum of data.
func appendRecord(dst, data []byte) []byte {
	start := len(dst)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(len(data)))
	dst = binary.LittleEndian.AppendUint32(dst, masked(dst[start:]))
	dst = append(dst, data...)
	return binary.LittleEndian.AppendUint32(dst, masked(data))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// maskDelta is what the format adds to a rotated checksum, so that the checksum of data
// that hold checksums is no trivial one.
const maskDelta = 0xa282ead8

// masked is the checksum of the format.
func masked(data []byte) uint32 {
	sum := crc32.Checksum(data, castagnoli)
	return (sum>>15 | sum<<17) + maskDelta
}
