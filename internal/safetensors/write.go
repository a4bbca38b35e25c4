package safetensors

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/blockbp/blockbp/internal/fileio"
)

// lengthBytes are in front of the header.
const lengthBytes = 8

// metadataKey is the header's entry for the string map.
const metadataKey = "__metadata__"

// WriteFile writes the file at path as a whole: through a temporary file in the
// same folder, synced and renamed. See Write.
func WriteFile(path string, metadata map[string]string, tensors []Tensor) error {
	return fileio.Write(path, func(w io.Writer) error { return Write(w, metadata, tensors) })
}

// Write writes metadata and tensors. The order of tensors does not matter. An error names the tensor whose name,
// shape or number of elements is at fault. If metadata has ChecksumKey with an empty value, all data are gone through
// twice, first for the checksum.
func Write(w io.Writer, metadata map[string]string, tensors []Tensor) error {
	tensors = slices.Clone(tensors)
	slices.SortStableFunc(tensors, func(a, b Tensor) int { return strings.Compare(a.Name, b.Name) })
	if err := checkTensors(tensors); err != nil {
		return err
	}
	value, ok := metadata[ChecksumKey]
	seal := ok && value == ""
	if seal {
		metadata = maps.Clone(metadata)
		metadata[ChecksumKey] = checksumPrefix + zeroDigits
	}
	header, err := encodeHeader(metadata, tensors)
	if err == nil && seal {
		err = fillChecksum(header, tensors)
	}
	if err != nil {
		return err
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	return emitAll(w, tensors)
}

// fillChecksum puts the checksum into the place that the header has for it.
func fillChecksum(header []byte, tensors []Tensor) error {
	sum, digits, err := sumBefore(header[:lengthBytes], header[lengthBytes:])
	if err != nil {
		return fmt.Errorf("safetensors: %w", err)
	}
	hash := &running{sum}
	if err := emitAll(hash, tensors); err != nil {
		return err
	}
	copy(digits, fmt.Sprintf("%08x", hash.sum))
	return nil
}

// checkTensors checks names and shapes, before anything is written.
func checkTensors(tensors []Tensor) error {
	seen := make(map[string]bool, len(tensors))
	for _, t := range tensors {
		switch {
		case t.emit == nil:
			return fmt.Errorf("safetensors: tensor %q has no data; make it with New or NewChunks", t.Name)
		case t.Name == "" || t.Name == metadataKey || !utf8.ValidString(t.Name):
			return fmt.Errorf("safetensors: %q cannot name a tensor", t.Name)
		case seen[t.Name]:
			return fmt.Errorf("safetensors: two tensors are named %q", t.Name)
		}
		seen[t.Name] = true
		if _, err := elements(t.Shape); err != nil {
			return fmt.Errorf("safetensors: tensor %q: %w", t.Name, err)
		}
	}
	return nil
}

func emitAll(w io.Writer, tensors []Tensor) error {
	for _, t := range tensors {
		got, err := t.emit(w)
		if err != nil {
			return err
		}
		if want, _ := elements(t.Shape); got != want {
			return fmt.Errorf("safetensors: tensor %q has %d elements, its shape %v wants %d", t.Name, got, t.Shape, want)
		}
	}
	return nil
}

// encodeHeader returns everything before the data. The entries are put together by
// hand because their order is part of the promise of equal bytes.
func encodeHeader(metadata map[string]string, tensors []Tensor) ([]byte, error) {
	var entries []string
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		if !utf8.ValidString(key) || !utf8.ValidString(metadata[key]) { // JSON would change it silently
			return nil, fmt.Errorf("safetensors: metadata %q is not valid UTF-8", key)
		}
	}
	if len(metadata) > 0 {
		entries = append(entries, entry(metadataKey, metadata))
	}
	offset := int64(0)
	for _, t := range tensors {
		count, _ := elements(t.Shape)
		end := offset + int64(count*sizes[F64])
		if end < offset {
			return nil, fmt.Errorf("safetensors: tensor %q ends beyond 2^63 bytes", t.Name)
		}
		info := Info{DType: F64, Shape: append([]int{}, t.Shape...), Offsets: []int64{offset, end}}
		entries = append(entries, entry(t.Name, info))
		offset = end
	}
	header := "{" + strings.Join(entries, ",") + "}"
	header += strings.Repeat(" ", -len(header)&7)
	if len(header) > maxHeader {
		return nil, fmt.Errorf("safetensors: the header has %d bytes, at most %d are allowed; put less into the metadata",
			len(header), maxHeader)
	}
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), nil
}

// entry is a key and its value in JSON.
func entry(key string, value any) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(key) // strings and integers in memory cannot fail
	b.WriteByte(':')
	_ = encoder.Encode(value)
	return strings.ReplaceAll(b.String(), "\n", "") // after each; those within strings are escaped
}
