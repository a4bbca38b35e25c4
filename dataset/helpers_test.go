package dataset

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/oracle"
)

// writeFiles writes a folder of files and returns it.
func writeFiles(t testing.TB, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		oracle.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		oracle.OK(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return folder
}

// modelOf reads other data as those that a model learned from.
func modelOf(set *Set) Options { return Options{Schema: &set.Schema, Recipe: &set.Recipe} }

func mustOpen(t testing.TB, path string, o Options) *Set {
	t.Helper()
	set := oracle.Must(Open(t.Context(), []string{path}, o))(t)
	for i, in := range set.Instances {
		if in.Schema() != &set.Schema {
			t.Errorf("instance %d has a schema of its own", i)
		}
	}
	return set
}

// refuses checks that data are not read, and that the error contains every part.
func refuses(t testing.TB, path string, o Options, parts ...string) {
	t.Helper()
	oracle.Fails(Open(t.Context(), []string{path}, o))(t, parts...)
}

func row(f *crf.Features, r int) []float64 {
	values := make([]float64, f.Dim())
	f.Row(values, r)
	return values
}

func edgeNames(s *crf.Schema) (names []string) {
	for _, t := range s.EdgeTypes {
		names = append(names, t.Name)
	}
	return names
}

// npy puts together an array file of format version 1.
func npyFile(header string, data []byte) []byte {
	b := []byte(npy.Magic + "\x01\x00")
	b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	return slices.Concat(b, []byte(header), data)
}

func npyOf(descr string, fortran string, shape string, order binary.ByteOrder, data any) []byte {
	raw, err := binary.Append(nil, order, data)
	if err != nil {
		panic(err) // a mistake in the test
	}
	return npyFile(fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n", descr, fortran, shape), raw)
}
