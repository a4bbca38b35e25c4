package safetensors

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
)

// File is an opened file whose header has been checked. Tensors are read from
// it on demand.
type File struct {
	metadata map[string]string
	tensors  []Info // in the order of the header
	data     *io.SectionReader
	closer   io.Closer
}

// Open opens the file at path and checks its header. The caller closes it.
func Open(path string) (*File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	size, err := file.Seek(0, io.SeekEnd)
	var f *File
	if err == nil {
		f, err = NewFile(file, size)
	}
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
		return nil, fmt.Errorf("header length is %d, but only %d bytes follow: the file was cut short or is not safetensors", headerBytes, size-8)
	}
	dataAt := 8 + int64(headerBytes)
	header := make([]byte, headerBytes)
	if _, err := io.ReadFull(io.NewSectionReader(r, 8, int64(headerBytes)), header); err != nil {
		return nil, err
	}
	metadata, tensors, err := parseHeader(header, size-dataAt)
	if err != nil {
		return nil, err
	}
	return &File{metadata: metadata, tensors: tensors, data: io.NewSectionReader(r, dataAt, size-dataAt)}, nil
}

// Close closes the file that Open opened.
func (f *File) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// Metadata returns the string map; it is nil where the file has none and must
// not be changed.
func (f *File) Metadata() map[string]string { return f.metadata }

// Tensors describes all tensors in the order of the header. The slice must not
// be changed.
func (f *File) Tensors() []Info { return f.tensors }

// Find describes the tensor of that name.
func (f *File) Find(name string) (Info, bool) {
	i := slices.IndexFunc(f.tensors, func(t Info) bool { return t.Name == name })
	if i < 0 {
		return Info{}, false
	}
	return f.tensors[i], true
}

// Read returns the elements of a tensor in row-major order. A tensor that is
// missing or of another type than T is an error. The allocation is bounded by
// the size of the file.
func Read[T Number](f *File, name string) ([]T, error) {
	t, ok := f.Find(name)
	if !ok {
		return nil, fmt.Errorf("tensor %q is missing", name)
	}
	if want := typeOf[T](); t.DType != want {
		return nil, fmt.Errorf("tensor %q has dtype %s, want %s", name, t.DType, want)
	}
	begin, bytes, size := t.Offsets[0], t.Offsets[1]-t.Offsets[0], sizes[t.DType]
	data := make([]T, bytes/int64(size))
	in, buffer := io.NewSectionReader(f.data, begin, bytes), make([]byte, min(len(data), chunkElements)*size)
	for part := range slices.Chunk(data, chunkElements) {
		raw := buffer[:len(part)*size]
		if _, err := io.ReadFull(in, raw); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		decodeLittle(part, raw)
	}
	return data, nil
}

// Verify compares the data with the checksum in the metadata; without one it
// returns nil.
func (f *File) Verify() error {
	want, ok := f.metadata[ChecksumKey]
	if !ok {
		return nil
	}
	hash := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	if _, err := io.Copy(hash, io.NewSectionReader(f.data, 0, f.data.Size())); err != nil {
		return err
	}
	if got := fmt.Sprintf("%08x", hash.Sum32()); got != want {
		return fmt.Errorf("the data have checksum %s, the header says %s: the file is damaged", got, want)
	}
	return nil
}
