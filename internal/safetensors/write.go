package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/blockbp/blockbp/internal/atomicfile"
)

// metadataKey is the header's entry for the string map.
const metadataKey = "__metadata__"

// ChecksumKey is the metadata key of the CRC-32C of all tensor data, eight
// hexadecimal digits. A file whose metadata have the key with an empty value is
// written with the checksum filled in; File.Verify checks it.
const ChecksumKey = "crc32c"

// WriteFile writes the file at path as a whole: through a temporary file in the
// same folder, synced and renamed. See Write.
func WriteFile(path string, metadata map[string]string, tensors []Tensor) error {
	return atomicfile.Write(path, func(w io.Writer) error { return Write(w, metadata, tensors) })
}

// Write writes metadata and tensors. The order of tensors does not matter. An
// error names the tensor whose name, shape or number of elements is at fault.
// If metadata has ChecksumKey with an empty value, all data are gone through
// twice, first for the checksum.
func Write(w io.Writer, metadata map[string]string, tensors []Tensor) error {
	tensors = slices.Clone(tensors)
	slices.SortStableFunc(tensors, func(a, b Tensor) int {
		if a.dtype.size() != b.dtype.size() {
			return b.dtype.size() - a.dtype.size()
		}
		return strings.Compare(a.Name, b.Name)
	})
	if err := checkTensors(tensors); err != nil {
		return err
	}
	if value, ok := metadata[ChecksumKey]; ok && value == "" {
		checksum, err := checksumOf(tensors)
		if err != nil {
			return err
		}
		metadata = maps.Clone(metadata)
		metadata[ChecksumKey] = checksum
	}
	header, err := encodeHeader(metadata, tensors)
	if err != nil {
		return err
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	return emitAll(w, tensors)
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
		want, err := elements(t.Shape)
		if err != nil {
			return fmt.Errorf("safetensors: tensor %q: %w", t.Name, err)
		}
		if t.count != nil && t.count() != want {
			return fmt.Errorf("safetensors: tensor %q has %d elements, its shape %v wants %d", t.Name, t.count(), t.Shape, want)
		}
	}
	return nil
}

// elements multiplies a shape out. The result is small enough that the
// number of bytes does not overflow either.
func elements(shape []int) (int, error) {
	const most = math.MaxInt >> 4
	product, zero := 1, false
	for _, n := range shape {
		switch {
		case n < 0:
			return 0, fmt.Errorf("shape %v has a negative length", shape)
		case n == 0:
			zero = true
		case product > most/n:
			return 0, fmt.Errorf("shape %v is too large", shape)
		default:
			product *= n
		}
	}
	if zero {
		return 0, nil
	}
	return product, nil
}

func checksumOf(tensors []Tensor) (string, error) {
	hash := crc32.New(castagnoli)
	if err := emitAll(hash, tensors); err != nil {
		return "", err
	}
	return fmt.Sprintf("%08x", hash.Sum32()), nil
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

// encodeHeader returns everything before the data. The JSON is put together by
// hand because its order is part of the promise of equal bytes.
func encodeHeader(metadata map[string]string, tensors []Tensor) ([]byte, error) {
	var b bytes.Buffer
	b.Write(make([]byte, 8))
	b.WriteByte('{')
	separator := ""
	if len(metadata) > 0 {
		if err := checkText(metadata); err != nil {
			return nil, err
		}
		b.WriteString(quote(metadataKey) + ":{")
		for _, key := range slices.Sorted(maps.Keys(metadata)) {
			fmt.Fprintf(&b, "%s%s:%s", separator, quote(key), quote(metadata[key]))
			separator = ","
		}
		b.WriteByte('}')
	}
	offset := 0
	for _, t := range tensors {
		count, _ := elements(t.Shape)
		end := offset + count*t.dtype.size()
		if end < offset {
			return nil, fmt.Errorf("safetensors: tensor %q ends beyond 2^63 bytes", t.Name)
		}
		shape := strings.ReplaceAll(strings.Trim(fmt.Sprint(t.Shape), "[]"), " ", ",")
		fmt.Fprintf(&b, `%s%s:{"dtype":%q,"shape":[%s],"data_offsets":[%d,%d]}`, separator, quote(t.Name), t.dtype, shape, offset, end)
		separator, offset = ",", end
	}
	b.WriteByte('}')
	for b.Len()%8 != 0 {
		b.WriteByte(' ')
	}
	if b.Len()-8 > maxHeader {
		return nil, fmt.Errorf("safetensors: the header has %d bytes, at most %d are allowed; put less into the metadata", b.Len()-8, maxHeader)
	}
	binary.LittleEndian.PutUint64(b.Bytes(), uint64(b.Len()-8))
	return b.Bytes(), nil
}

// checkText refuses strings that JSON would change silently.
func checkText(metadata map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		if !utf8.ValidString(key) || !utf8.ValidString(metadata[key]) {
			return fmt.Errorf("safetensors: metadata %q is not valid UTF-8", key)
		}
	}
	return nil
}

func quote(s string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // a string in memory cannot fail
	return strings.TrimSuffix(b.String(), "\n")
}
