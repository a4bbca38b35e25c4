package dataset

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/blockbp/blockbp/internal/parallel"
)

// Reading of every kind of data is given up when the context ends: its error is
// the only one, though files are missing or bad.
func TestOpenContextGivesUp(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	for kind, files := range map[string]map[string]string{
		KindImages: someImages(t),
		KindNPZ:    {"1.npz": "no archive", "2.npz": "no archive"},
		KindGraph:  {"a.nodes.tsv": "x", "a.edges.tsv": "x"},
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

// endsAfter is a context that ends when it was asked calls times.
type endsAfter struct {
	context.Context
	end   context.CancelFunc
	calls int
}

func (c *endsAfter) Done() <-chan struct{} {
	if c.calls--; c.calls < 0 {
		c.end()
	}
	return c.Context.Done()
}

// A context that ends while the last file is read ends Open too: who interrupted it wants no more of what follows.
func TestOpenContextAfterTheLastFile(t *testing.T) {
	folder := writeFiles(t, map[string]string{"a.nodes.tsv": "1\t0\n2\t1\n", "a.edges.tsv": "1 2\n"})
	if _, err := Open(t.Context(), []string{folder}, Options{}); err != nil {
		t.Fatal(err)
	}
	inner, end := context.WithCancel(t.Context())
	ctx := &endsAfter{inner, end, 1}
	if _, err := Open(ctx, []string{folder}, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Open's error is %v, want context.Canceled", err)
	}
}

// Work in parallel stops soon after the context ends, not at its end.
func TestEachStops(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	var calls atomic.Int64
	err := parallel.Each(ctx, 1<<20, runtime.GOMAXPROCS(0), func(int) {
		calls.Add(1)
		end()
	})
	if n := calls.Load(); !errors.Is(err, context.Canceled) || n == 0 || n > 1000 {
		t.Errorf("%d calls were made, and the error is %v; want a few and context.Canceled", n, err)
	}
}
