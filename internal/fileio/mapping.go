package fileio

import (
	"runtime"
	"sync/atomic"
)

// Mapping is a file's content. Where the system can do that, pages of it are read from the
// disk when they are looked at, and forgotten when their memory is wanted: so a file may be
// larger than all memory is. Whoever cuts the file short while it is in use ends the program.
//
// Close gives it back. Behind that stands the garbage collector, once nothing refers to the Mapping:
// who looks at the bytes has to keep it, as they are no memory of Go's and keep nothing.
type Mapping struct {
	bytes  []byte
	mapped bool // else the bytes are memory of Go's
	behind runtime.Cleanup
}

// Map opens a regular file as Open does. The bytes may be changed: the pages that are take memory then, and the file
// stays as it is. A file that cannot be mapped is read, if allow has nothing against its size.
func Map(path, wanted string, allow func(size int64) error) (*Mapping, error) {
	file, size, err := Open(path, wanted)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if inUse.Add(1) <= mostMaps {
		if bytes := mapBytes(file, size); bytes != nil {
			m := &Mapping{bytes: bytes, mapped: true}
			m.behind = runtime.AddCleanup(m, giveBack, bytes)
			return m, nil
		}
	}
	inUse.Add(-1)
	bytes, err := ReadIf(path, wanted, size, allow)
	return &Mapping{bytes: bytes}, err
}

// mostMaps is how many there are at a time, half of what Linux allows a process. Go needs maps as well,
// and ends the program where it finds none left. A file beyond that is read.
var mostMaps int64 = 1 << 15

// inUse counts those that there are.
var inUse atomic.Int64

// Close gives the mapping back. Nobody may look at its bytes any more.
func (m *Mapping) Close() {
	if m.mapped {
		m.behind.Stop()
		giveBack(m.bytes)
	}
	*m = Mapping{}
}

func giveBack(bytes []byte) {
	unmap(bytes)
	inUse.Add(-1)
}

// Bytes returns the content, which is there for as long as the mapping is in use: runtime.KeepAlive says so after the
// last look at the bytes.
func (m *Mapping) Bytes() []byte { return m.bytes }
