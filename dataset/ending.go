package dataset

import (
	"context"
	"io"
	"iter"
	"strings"

	"github.com/blockbp/blockbp/internal/parallel"
)

// endingReader reads until ctx has ended, and then fails with its error.
type endingReader struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (r endingReader) Read(p []byte) (int, error) {
	if err := parallel.Ended(r.ctx); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// endingReaderAt is endingReader for any place of a file.
type endingReaderAt struct {
	ctx context.Context
	io.ReaderAt
}

// ReadAt implements io.ReaderAt.
func (r endingReaderAt) ReadAt(p []byte, at int64) (int, error) {
	if err := parallel.Ended(r.ctx); err != nil {
		return 0, err
	}
	return r.ReaderAt.ReadAt(p, at)
}

// linesUntil are the lines of a text, the rest of which is left out once ctx has ended: load
// then returns its error, whatever the text seems to lack.
func linesUntil(ctx context.Context, text string) iter.Seq[string] {
	const together = 256 // lines, which take little time
	return func(yield func(string) bool) {
		n := 0
		for line := range strings.Lines(text) {
			if n++; n%together == 0 && parallel.Ended(ctx) != nil || !yield(line) {
				return
			}
		}
	}
}
