package fileio

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestMap: a mapping has the bytes of the file; empty files, folders and missing files end as when they are read.
func TestMap(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, text := range []string{"", "some bytes", strings.Repeat("many", 100000)} {
		oracle.OK(t, os.WriteFile(path, []byte(text), 0o644))
		m, err := Map(path, "a file", func(int64) error { return nil })
		if err != nil || !bytes.Equal(m.Bytes(), []byte(text)) {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	}
	m := oracle.Must(Map(path, "a file", nil))(t)
	m.Bytes()[0] = 'M'
	if text, err := os.ReadFile(path); err != nil || text[0] != 'm' {
		t.Errorf("the file begins with %q: %v", text[0], err)
	}
	oracle.Fails(Map(filepath.Dir(path), "a file", nil))(t, "a folder")
	if _, err := Map(path+"s", "a file", nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestMappingsEnd: a mapping ends with Close, a second time too, or with the last who refers to it.
func TestMappingsEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	oracle.OK(t, os.WriteFile(path, make([]byte, 1<<16), 0o644))
	before := inUse.Load()
	open := func() *Mapping {
		return oracle.Must(Map(path, "a file", nil))(t)
	}
	m := open()
	if !m.mapped {
		t.Skip("skipped: this system maps no files")
	}
	m.Close()
	if m.Close(); inUse.Load() > before || len(m.Bytes()) > 0 {
		t.Errorf("%d maps after Close", inUse.Load()-before)
	}
	for range 10 {
		open()
	}
	for range 1000 {
		if runtime.GC(); inUse.Load() <= before { // others may have been left by other tests
			break
		}
		time.Sleep(time.Millisecond)
	}
	if inUse.Load() > before {
		t.Errorf("%d maps are left that nobody refers to", inUse.Load()-before)
	}
}

// TestMapsAreBounded: beyond so many maps, files are read, and blank memory is Go's.
func TestMapsAreBounded(t *testing.T) {
	defer func(most int64) { mostMaps = most }(mostMaps)
	path := filepath.Join(t.TempDir(), "file")
	oracle.OK(t, os.WriteFile(path, []byte("bytes"), 0o644))
	mostMaps = 0
	asked := 0
	for range 5 {
		m := oracle.Must(Map(path, "a file", func(int64) error { asked++; return nil }))(t)
		oracle.MustEqual(t, string(m.Bytes()), "bytes", "file")
		defer m.Close()
	}
	oracle.Equal(t, asked, 5, "times that it asked")
	oracle.Fails(Map(path, "a file", func(int64) error { return errors.New("too large") }))(t, "too large")
}
