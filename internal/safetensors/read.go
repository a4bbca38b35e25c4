package safetensors

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"regexp"
	"slices"

	"github.com/blockbp/blockbp/internal/fileio"
)

// File is an opened file whose header has been checked. Tensors are read from it on demand.
type File struct {
	metadata map[string]string
	tensors  []Info          // in the order of their data
	named    map[string]Info // the same
	data     *io.SectionReader
	// sum is the checksum of all that stands before the data; unsummed says why it cannot be made.
	sum      uint32
	unsummed error
	closer   io.Closer
}

// Open opens the file at path and checks its header. The caller closes it.
func Open(path string) (*File, error) {
	file, size, err := fileio.Open(path, "one in safetensors format")
	if err != nil {
		return nil, err
	}
	f, err := NewFile(file, size)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f.closer = file
	return f, nil
}

// NewFile checks the header of the size bytes in r. It allocates no more than
// the header's length, which is at most size.
func NewFile(r io.ReaderAt, size int64) (*File, error) {
	var length [8]byte
	if size < int64(len(length)) {
		return nil, fmt.Errorf("not a safetensors file: it has %d bytes, want at least 8", size)
	}
	if _, err := r.ReadAt(length[:], 0); err != nil {
		return nil, err
	}
	headerBytes := binary.LittleEndian.Uint64(length[:])
	switch {
	case headerBytes > maxHeader:
		return nil, fmt.Errorf("not a safetensors file: header length is %d, at most %d is allowed", headerBytes, maxHeader)
	case headerBytes > uint64(size)-8:
		return nil, fmt.Errorf("header length is %d, but only %d bytes follow: the file was cut short or is not "+
			"safetensors", headerBytes, size-8)
	}
	dataAt, header := 8+int64(headerBytes), make([]byte, headerBytes)
	if _, err := io.ReadFull(io.NewSectionReader(r, 8, int64(headerBytes)), header); err != nil {
		return nil, err
	}
	metadata, tensors, err := parseHeader(header, size-dataAt)
	if err != nil {
		return nil, err
	}
	named := make(map[string]Info, len(tensors))
	for _, info := range tensors {
		named[info.Name] = info
	}
	f := &File{metadata: metadata, tensors: tensors, named: named, data: io.NewSectionReader(r, dataAt, size-dataAt)}
	f.sum, _, f.unsummed = sumBefore(length[:], header)
	return f, nil
}

// Close closes the file that Open opened.
func (f *File) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// Metadata returns the string map; it is nil where the file has none and must not be changed.
func (f *File) Metadata() map[string]string { return f.metadata }

// Tensors describes all tensors in the order of their data. The slice must not be changed.
func (f *File) Tensors() []Info { return f.tensors }

// Find describes the tensor of that name.
func (f *File) Find(name string) (Info, bool) {
	info, ok := f.named[name]
	return info, ok
}

// Read returns the elements of a tensor in row-major order. A tensor that is missing or of another type than F64 is an
// error. The allocation is bounded by the size of the file.
func Read(f *File, name string) ([]float64, error) {
	t, ok := f.Find(name)
	if !ok {
		return nil, fmt.Errorf("tensor %q is missing", name)
	}
	data := make([]float64, (t.Offsets[1]-t.Offsets[0])/int64(sizes[F64]))
	return data, ReadChunks(f, t, slices.Values([][]float64{data}))
}

// bufferBytes are read at a time where chunks are smaller.
const bufferBytes = 1 << 16

// ReadChunks puts the elements of a tensor of f into chunks, one after the other: what NewChunks has
// written. Together they must have as many.
func ReadChunks(f *File, t Info, chunks iter.Seq[[]float64]) error {
	if t.DType != F64 {
		return fmt.Errorf("tensor %q has dtype %s, want %s", t.Name, t.DType, F64)
	}
	left := t.Elements()
	in := bufio.NewReaderSize(io.NewSectionReader(f.data, t.Offsets[0], t.Offsets[1]-t.Offsets[0]), bufferBytes)
	for chunk := range chunks {
		if left -= len(chunk); left < 0 {
			break
		}
		if _, err := io.ReadFull(in, bytesOf(chunk)); err != nil {
			return fmt.Errorf("tensor %q: %w", t.Name, err)
		}
	}
	if left != 0 {
		return fmt.Errorf("tensor %q has %d elements, which are not those that are wanted", t.Name, t.Elements())
	}
	return nil
}

// Verify compares the file with its checksum. A file without one is an error.
func (f *File) Verify() error {
	want, has := f.metadata[ChecksumKey]
	switch {
	case !has:
		return errors.New("the metadata have no checksum: the file is damaged, or was not written by blockbp")
	case f.unsummed != nil:
		return f.unsummed
	}
	hash := &running{f.sum}
	if _, err := io.Copy(hash, io.NewSectionReader(f.data, 0, f.data.Size())); err != nil {
		return err
	}
	if got := fmt.Sprintf("%s%08x", checksumPrefix, hash.sum); got != want {
		return fmt.Errorf("the file has the checksum %s, its metadata say %s: it is damaged; go back to a copy, or make "+
			"it again", got, want)
	}
	return nil
}

// ChecksumKey is the metadata key of the checksum of a whole file: its length, header and data, with zeros in the
// place of the eight digits of the checksum itself. A file whose metadata have the key with an empty value is written
// with the checksum filled in; File.Verify checks it.
//
// CRC-32C finds what happens to files by chance: every change of up to three bits in a file of up to 256 MiB, every
// burst of up to 32 bits, and all but one in four thousand million of others. It takes a tenth of the time of
// SHA-256, which would hold against someone who means to deceive, and who could write a new digest as well.
const ChecksumKey = "checksum"

const (
	checksumPrefix = "crc32c:"
	zeroDigits     = "00000000"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli) // has hardware support on amd64 and arm64

// running is a checksum of what was written so far.
type running struct{ sum uint32 }

func (r *running) Write(p []byte) (int, error) {
	r.sum = crc32.Update(r.sum, castagnoli, p)
	return len(p), nil
}

// sealed finds the checksum in a header, at the beginning of a key: no text between quotes has such a place.
var sealed = regexp.MustCompile(`[{,]\s*"` + ChecksumKey + `"\s*:\s*"` + checksumPrefix + `([0-9a-f]{8})"`)

// sumBefore is the checksum of what stands before the data, and where in the header its digits are: they are the only
// bytes of the file that it does not see.
func sumBefore(length, header []byte) (sum uint32, digits []byte, err error) {
	at := sealed.FindSubmatchIndex(header)
	if at == nil {
		return 0, nil, fmt.Errorf("metadata %q are not %sXXXXXXXX: the file is damaged, or a newer blockbp wrote it",
			ChecksumKey, checksumPrefix)
	}
	for _, part := range [][]byte{length, header[:at[2]], []byte(zeroDigits), header[at[3]:]} {
		sum = crc32.Update(sum, castagnoli, part)
	}
	return sum, header[at[2]:at[3]], nil
}
