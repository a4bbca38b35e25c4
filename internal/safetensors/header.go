package safetensors

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// maxHeader is the limit the format's reference implementation sets.
const maxHeader = 100_000_000

// Info describes one tensor of a file.
type Info struct {
	Name    string  `json:"-"`
	DType   DType   `json:"dtype"`
	Shape   []int   `json:"shape"`
	Offsets []int64 `json:"data_offsets"` // begin and end in bytes, from the beginning of the data
}

// Elements is the number of elements.
func (t Info) Elements() int { return int((t.Offsets[1] - t.Offsets[0]) / int64(sizes[t.DType])) }

// parseHeader reads the JSON of a file with dataBytes bytes of data: metadata and tensors, in the order of their data,
// which they must cover once, without gap or overlap.
func parseHeader(header []byte, dataBytes int64) (metadata map[string]string, tensors []Info, err error) {
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(header, &entries); err != nil {
		return nil, nil, fmt.Errorf("header is not JSON of an object: %w", err)
	}
	if text, ok := entries[metadataKey]; ok {
		if err := json.Unmarshal(text, &metadata); err != nil {
			return nil, nil, fmt.Errorf("metadata: %w", err)
		}
		delete(entries, metadataKey)
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		info, err := parseEntry(entries[name], name)
		if err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		tensors = append(tensors, info)
	}
	slices.SortStableFunc(tensors, func(a, b Info) int { return slices.Compare(a.Offsets, b.Offsets) })
	at := int64(0)
	for _, t := range tensors {
		begin, end := t.Offsets[0], t.Offsets[1]
		switch {
		case begin < at:
			return nil, nil, fmt.Errorf("tensor %q begins at byte %d, within the tensor before it, which ends at %d", t.Name,
				begin, at)
		case begin > at:
			return nil, nil, fmt.Errorf("tensor %q begins at byte %d, want %d: the data have a gap", t.Name, begin, at)
		case end > dataBytes:
			return nil, nil, fmt.Errorf("tensor %q ends at byte %d, but the file has %d bytes of data: it was cut short",
				t.Name, end, dataBytes)
		}
		at = end
	}
	if at != dataBytes {
		return nil, nil, fmt.Errorf("the tensors end at byte %d, but the file has %d bytes of data", at, dataBytes)
	}
	return metadata, tensors, nil
}

func parseEntry(text json.RawMessage, name string) (t Info, err error) {
	if err := json.Unmarshal(text, &t); err != nil {
		return t, err
	}
	t.Name = name
	count, err := elements(t.Shape)
	switch {
	case err != nil:
		return t, err
	case sizes[t.DType] == 0:
		return t, fmt.Errorf("dtype %q is unknown", t.DType)
	case len(t.Offsets) != 2:
		return t, fmt.Errorf("data_offsets has %d numbers, want 2", len(t.Offsets))
	case t.Offsets[0] < 0 || t.Offsets[1] < t.Offsets[0]:
		return t, fmt.Errorf("data_offsets %v do not make a range", t.Offsets)
	}
	if got, want := t.Offsets[1]-t.Offsets[0], int64(count*sizes[t.DType]); got != want {
		return t, fmt.Errorf("data_offsets span %d bytes, dtype %s and shape %v want %d", got, t.DType, t.Shape, want)
	}
	return t, nil
}
