package safetensors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// maxHeader is the limit the format's reference implementation sets.
const maxHeader = 100_000_000

// What a header may hold: small entries take long to read. Checkpoints have two entries for
// each of their networks, such as sentences, and maxHeader has room for a million of them.
const (
	maxMetadata = 1_000
	maxEntries  = 1_000_000
)

// Info describes one tensor of a file.
type Info struct {
	Name    string  `json:"-"`
	DType   DType   `json:"dtype"`
	Shape   []int   `json:"shape"`
	Offsets []int64 `json:"data_offsets"` // begin and end in bytes, from the beginning of the data
}

// Elements is the number of elements.
func (t Info) Elements() int { return int((t.Offsets[1] - t.Offsets[0]) / int64(sizes[t.DType])) }

// parsed is what the JSON of a header says.
type parsed struct {
	metadata map[string]string
	tensors  []Info
	sumEnd   int // offset of what follows the value of ChecksumKey; 0: there is none
}

// parseHeader reads the JSON of a file with dataBytes bytes of data.
func parseHeader(header []byte, dataBytes int64) (p parsed, err error) {
	decoder := json.NewDecoder(bytes.NewReader(header))
	decoder.DisallowUnknownFields()
	err = eachKey(decoder, "header", maxEntries, func(name string) error {
		if name == metadataKey {
			return p.readMetadata(decoder)
		}
		info, err := parseEntry(decoder, name)
		p.tensors = append(p.tensors, info)
		return err
	})
	if err != nil {
		return parsed{}, err
	}
	if rest := bytes.TrimSpace(header[decoder.InputOffset():]); len(rest) > 0 {
		return parsed{}, fmt.Errorf("header: %d bytes after the closing brace", len(rest))
	}
	return p, checkRanges(p.tensors, dataBytes)
}

// eachKey goes through the keys of a JSON object, which must differ; visit must read the
// value. where names the object in errors; it has at most so many keys.
func eachKey(decoder *json.Decoder, where string, most int, visit func(key string) error) error {
	if token, err := decoder.Token(); err != nil {
		return fmt.Errorf("header is not JSON: %w", err)
	} else if token != json.Delim('{') {
		return fmt.Errorf("header: found %v where an object should begin", token)
	}
	seen := map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return fmt.Errorf("header is not JSON: %w", err)
		}
		key := token.(string) // JSON keys are strings
		if seen[key] {
			return fmt.Errorf("%s: %q is given twice", where, key)
		}
		if seen[key] = true; len(seen) > most {
			return fmt.Errorf("%s: it has more than %d entries: the file is damaged, or is no safetensors file of blockbp",
				where, most)
		}
		if err := visit(key); err != nil {
			return err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return fmt.Errorf("header is not JSON: %w", err)
	}
	return nil
}

func (p *parsed) readMetadata(decoder *json.Decoder) error {
	p.metadata = map[string]string{}
	return eachKey(decoder, "metadata", maxMetadata, func(key string) error {
		var value *string
		if err := decoder.Decode(&value); err != nil || value == nil {
			return fmt.Errorf("metadata: the value of %q is not a string", key)
		}
		p.metadata[key] = *value
		if key == ChecksumKey {
			p.sumEnd = int(decoder.InputOffset())
		}
		return nil
	})
}

func parseEntry(decoder *json.Decoder, name string) (Info, error) {
	fail := func(format string, arguments ...any) (Info, error) {
		return Info{}, fmt.Errorf("tensor %q: "+format, append([]any{name}, arguments...)...)
	}
	var t Info
	if err := decoder.Decode(&t); err != nil {
		return fail("%w", err)
	}
	t.Name = name
	count, err := elements(t.Shape)
	switch {
	case err != nil:
		return fail("%w", err)
	case sizes[t.DType] == 0:
		return fail("dtype %q is unknown", t.DType)
	case len(t.Offsets) != 2:
		return fail("data_offsets has %d numbers, want 2", len(t.Offsets))
	case t.Offsets[0] < 0 || t.Offsets[1] < t.Offsets[0]:
		return fail("data_offsets %v do not make a range", t.Offsets)
	}
	if got, want := t.Offsets[1]-t.Offsets[0], int64(count*sizes[t.DType]); got != want {
		return fail("data_offsets span %d bytes, dtype %s and shape %v want %d", got, t.DType, t.Shape, want)
	}
	return t, nil
}

// checkRanges checks that the tensors cover the data once, without gap or
// overlap: the format demands it, and a file cut short is found here.
func checkRanges(tensors []Info, dataBytes int64) error {
	ordered := slices.Clone(tensors)
	slices.SortStableFunc(ordered, func(a, b Info) int { return slices.Compare(a.Offsets, b.Offsets) })
	at := int64(0)
	for _, t := range ordered {
		begin, end := t.Offsets[0], t.Offsets[1]
		switch {
		case begin < at:
			return fmt.Errorf("tensor %q begins at byte %d, within the tensor before it, which ends at %d", t.Name, begin, at)
		case begin > at:
			return fmt.Errorf("tensor %q begins at byte %d, want %d: the data have a gap", t.Name, begin, at)
		case end > dataBytes:
			return fmt.Errorf("tensor %q ends at byte %d, but the file has %d bytes of data: it was cut short",
				t.Name, end, dataBytes)
		}
		at = end
	}
	if at != dataBytes {
		return fmt.Errorf("the tensors end at byte %d, but the file has %d bytes of data", at, dataBytes)
	}
	return nil
}
