package fileio

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestMap: a mapping has the bytes of the file; empty files, folders and missing files end as when
// they are read.
func TestMap(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, text := range []string{"", "some bytes", strings.Repeat("many", 100000)} {
		oracle.OK(t, os.WriteFile(path, []byte(text), 0o644))
		m, err := Map(path, "a file", func(int64) error { return nil })
		if err != nil || !bytes.Equal(m.Bytes(), []byte(text)) {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	}
	m := oracle.Must(MapOwn(path, "a file", nil))(t)
	m.Bytes()[0] = 'M'
	if text, err := os.ReadFile(path); err != nil || text[0] != 'm' {
		t.Errorf("the file begins with %q: %v", text[0], err)
	}
	oracle.Fails(Map(filepath.Dir(path), "a file", nil))(t, "a folder")
	if _, err := Map(path+"s", "a file", nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestCut: a look at what is gone is an error that names the file, and no crash; other panics go on.
func TestCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	oracle.OK(t, os.WriteFile(path, make([]byte, 1<<20), 0o644))
	m := oracle.Must(Map(path, "a file", nil))(t)
	look := func(do func()) (r any) {
		defer func() { r = recover() }()
		func() {
			defer m.End(m.Begin())
			do()
		}()
		return nil
	}
	if r := look(func() { panic("a slip") }); r != "a slip" {
		t.Errorf("recovered %v", r)
	}
	sum := byte(0)
	if r := look(func() { sum += m.Bytes()[1<<19] }); r != nil {
		t.Errorf("recovered %v", r)
	}
	if err := os.Truncate(path, 10); err != nil {
		t.Skip("skipped: files in use cannot be cut here; the test runs on Unix: ", err)
	}
	r := look(func() { sum += m.Bytes()[1<<19] })
	if cut, ok := r.(*CutError); r != nil && (!ok || cut.Path != path || !strings.Contains(cut.Error(), "cut short")) {
		t.Errorf("recovered %v", r)
	} else if r == nil && runtime.GOOS == "linux" {
		t.Error("there was no error")
	}
	_ = sum
}

// TestCutElsewhere: where nobody is between Begin and End, Cut knows the panic of a look at what
// is gone, and no other: neither one without an address nor a nil pointer's.
func TestCutElsewhere(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	var none *Mapping
	panicked := func(do func()) (r any) {
		defer func() { r = recover() }()
		do()
		return nil
	}
	for _, do := range []func(){func() { panic("a slip") }, func() { none.bytes = nil }} {
		if r := panicked(do); r == nil || Cut(r) != nil {
			t.Errorf("%v is said to be %v", r, Cut(r))
		}
	}
	path := filepath.Join(t.TempDir(), "file")
	oracle.OK(t, os.WriteFile(path, make([]byte, 1<<20), 0o644))
	m := oracle.Must(MapOwn(path, "a file", nil))(t)
	defer m.Close()
	if err := os.Truncate(path, 10); err != nil || runtime.GOOS != "linux" {
		t.Skip("skipped: files in use cannot be cut here, or that does no harm")
	}
	if cut := Cut(panicked(func() { m.Bytes()[1<<19]++ })); cut == nil || cut.Path != path {
		t.Errorf("a look at what is gone is %v", cut)
	}
}

// TestMappingsEnd: a mapping ends with Close, a second time too, or with the last who refers to it.
func TestMappingsEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	oracle.OK(t, os.WriteFile(path, make([]byte, 1<<16), 0o644))
	before := inUse.Load()
	open := func() *Mapping {
		return oracle.Must(MapOwn(path, "a file", nil))(t)
	}
	m := open()
	if m.mapped == nil {
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
		m, err := Map(path, "a file", func(int64) error { asked++; return nil })
		if err != nil || string(m.Bytes()) != "bytes" {
			t.Fatal(err)
		}
		defer m.Close()
	}
	if asked != 5 {
		t.Errorf("%d files are read, want 5", asked)
	}
	if _, err := Map(path, "a file", func(int64) error { return errors.New("too large") }); err == nil {
		t.Error("a file is read that may not be")
	}
}
