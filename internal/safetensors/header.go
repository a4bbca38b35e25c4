package safetensors

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// maxHeader is the limit the format's reference implementation sets.
const maxHeader = 100_000_000

// Info describes one tensor of a file.
type Info struct {
	Name       string
	DType      DType
	Shape      []int
	begin, end int64 // bytes, from the beginning of the data
}

// entry is one tensor as the header writes it.
type entry struct {
	DType   DType   `json:"dtype"`
	Shape   []int   `json:"shape"`
	Offsets []int64 `json:"data_offsets"`
}

// parseHeader reads the JSON of a file with dataBytes bytes of data.
func parseHeader(header []byte, dataBytes int64) (metadata map[string]string, tensors []Info, err error) {
	decoder := json.NewDecoder(bytes.NewReader(header))
	decoder.DisallowUnknownFields()
	seen := map[string]bool{}
	err = eachKey(decoder, func(name string) error {
		if seen[name] {
			return fmt.Errorf("header: %q is given twice", name)
		}
		seen[name] = true
		if name == metadataKey {
			metadata, err = parseMetadata(decoder)
			return err
		}
		info, err := parseEntry(decoder, name)
		tensors = append(tensors, info)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if rest := bytes.TrimSpace(header[decoder.InputOffset():]); len(rest) > 0 {
		return nil, nil, fmt.Errorf("header: %d bytes after the closing brace", len(rest))
	}
	return metadata, tensors, checkRanges(tensors, dataBytes)
}

// eachKey goes through the keys of a JSON object; visit must read the value.
func eachKey(decoder *json.Decoder, visit func(key string) error) error {
	token, err := decoder.Token()
	if err != nil {
		return fmt.Errorf("header is not JSON: %w", err)
	}
	if token != json.Delim('{') {
		return fmt.Errorf("header: found %v where an object should begin", token)
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return fmt.Errorf("header is not JSON: %w", err)
		}
		if err := visit(key.(string)); err != nil { // JSON keys are strings
			return err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return fmt.Errorf("header is not JSON: %w", err)
	}
	return nil
}

func parseMetadata(decoder *json.Decoder) (map[string]string, error) {
	metadata := map[string]string{}
	err := eachKey(decoder, func(key string) error {
		if _, twice := metadata[key]; twice {
			return fmt.Errorf("metadata: %q is given twice", key)
		}
		var value *string
		if err := decoder.Decode(&value); err != nil || value == nil {
			return fmt.Errorf("metadata: the value of %q is not a string", key)
		}
		metadata[key] = *value
		return nil
	})
	return metadata, err
}

func parseEntry(decoder *json.Decoder, name string) (Info, error) {
	var e entry
	if err := decoder.Decode(&e); err != nil {
		return Info{}, fmt.Errorf("tensor %q: %w", name, err)
	}
	count, err := elements(e.Shape)
	switch {
	case err != nil:
		return Info{}, fmt.Errorf("tensor %q: %w", name, err)
	case e.DType.size() == 0:
		return Info{}, fmt.Errorf("tensor %q: dtype %q is unknown", name, e.DType)
	case len(e.Offsets) != 2:
		return Info{}, fmt.Errorf("tensor %q: data_offsets has %d numbers, want 2", name, len(e.Offsets))
	case e.Offsets[0] < 0 || e.Offsets[1] < e.Offsets[0]:
		return Info{}, fmt.Errorf("tensor %q: data_offsets %v do not make a range", name, e.Offsets)
	}
	if got, want := e.Offsets[1]-e.Offsets[0], int64(count)*int64(e.DType.size()); got != want {
		return Info{}, fmt.Errorf("tensor %q: data_offsets span %d bytes, dtype %s and shape %v want %d", name, got, e.DType, e.Shape, want)
	}
	return Info{Name: name, DType: e.DType, Shape: e.Shape, begin: e.Offsets[0], end: e.Offsets[1]}, nil
}

// checkRanges checks that the tensors cover the data once, without gap or
// overlap: the format demands it, and a file cut short is found here.
func checkRanges(tensors []Info, dataBytes int64) error {
	ordered := slices.Clone(tensors)
	slices.SortStableFunc(ordered, func(a, b Info) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end))
	})
	at := int64(0)
	for _, t := range ordered {
		switch {
		case t.begin < at:
			return fmt.Errorf("tensor %q begins at byte %d, within the tensor before it, which ends at %d", t.Name, t.begin, at)
		case t.begin > at:
			return fmt.Errorf("tensor %q begins at byte %d, want %d: the data have a gap", t.Name, t.begin, at)
		case t.end > dataBytes:
			return fmt.Errorf("tensor %q ends at byte %d, but the file has %d bytes of data: it was cut short", t.Name, t.end, dataBytes)
		}
		at = t.end
	}
	if at != dataBytes {
		return fmt.Errorf("the tensors end at byte %d, but the file has %d bytes of data", at, dataBytes)
	}
	return nil
}
