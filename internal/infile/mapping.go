package infile

import "runtime"

// Mapping is a file's content. Where the system can do that, pages of it are read from the
// disk when they are looked at, and forgotten when their memory is wanted: so a file may be
// larger than all memory is. Nobody may cut the file short while it is in use.
type Mapping struct{ bytes []byte }

// Map opens a regular file as Open does. A file that cannot be mapped is read, if allow has
// nothing against its size.
func Map(path, wanted string, allow func(size int64) error) (*Mapping, error) {
	file, size, err := Open(path, wanted)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if bytes := mapped(file, size); bytes != nil {
		m := &Mapping{bytes}
		runtime.AddCleanup(m, unmap, bytes)
		return m, nil
	}
	bytes, err := ReadIf(path, wanted, size, allow)
	return &Mapping{bytes}, err
}

// Bytes returns the content, which must not be changed. It is there for as long as the
// mapping is in use: runtime.KeepAlive says so after the last look at the bytes.
func (m *Mapping) Bytes() []byte { return m.bytes }
