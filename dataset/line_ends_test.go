package dataset

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/crf"
)

// Texts whose lines end in carriage returns alone, or with line feeds, or that begin with a mark, are the same data.
func TestLineEnds(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"tables without a header": tables("a\t0\t\t1:2\nb\t1\t\t0:1.5\n", "a\tb\n"),
		"tables with a header":    {"nodes.csv": "id,label,x\na,0,1.5\nb,1,2\nc,0,3\n", "edges.csv": "source,target\na,b\nb,c\n"},
		"tagged text":             {"a.conll": "the D\ndog N\n\na D\ncat N\n"},
		"images":                  someImages(t),
	} {
		t.Run(name, func(t *testing.T) {
			want := mustOpen(t, writeFiles(t, files), Options{})
			for end, mark := range map[string]string{"\r": "", "\r\n": "", "\n": "\ufeff"} {
				changed := maps.Clone(files)
				for name, text := range files {
					if !strings.Contains(text, "\x00") { // a picture, or an array
						changed[name] = mark + strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", end)
					}
				}
				if reflect.DeepEqual(changed, files) {
					t.Fatal("no text has lines")
				}
				got := mustOpen(t, writeFiles(t, changed), Options{})
				if !reflect.DeepEqual(got.Schema, want.Schema) || len(got.Instances) != len(want.Instances) {
					t.Fatalf("lines that end in %q: schema %+v, want %+v", end, got.Schema, want.Schema)
				}
				for i, in := range got.Instances {
					if !reflect.DeepEqual(in.Samples(), want.Instances[i].Samples()) || !slices.Equal(rowsOf(in.NodeFeatures(0)), rowsOf(want.Instances[i].NodeFeatures(0))) {
						t.Errorf("lines that end in %q: instance %d differs", end, i)
					}
				}
			}
		})
	}
}

func rowsOf(f *crf.Features) []float64 {
	rows := make([]float64, f.Rows()*f.Dim())
	for r := range f.Rows() {
		f.Row(rows[r*f.Dim():][:f.Dim()], r)
	}
	return rows
}
