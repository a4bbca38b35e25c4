package dataset

import (
	"context"
	"errors"
	"testing"
)

// Reading of every kind of data is given up when the context ends: its error is
// the only one, though files are missing or bad.
func TestOpenContextGivesUp(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	for kind, files := range map[string]map[string]string{
		kindImages: someImages(t),
		kindNPZ:    {"1.npz": "no archive", "2.npz": "no archive"},
		kindGraph:  {"a.nodes.tsv": "x", "a.edges.tsv": "x"},
	} {
		folder := writeFiles(t, files)
		if _, err := Open(ended, []string{folder}, Options{Kind: kind}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: Open's error is %v, want context.Canceled", kind, err)
		}
		_, list := Check(ended, []string{folder}, Options{Kind: kind})
		if len(list) != 1 || !errors.Is(list[0], context.Canceled) {
			t.Errorf("%s: the problems are %v, want context.Canceled alone", kind, list)
		}
		if _, err := Open(t.Context(), []string{folder}, Options{Kind: kind}); errors.Is(err, context.Canceled) {
			t.Errorf("%s: Open without a context was given up: %v", kind, err)
		}
	}
}
