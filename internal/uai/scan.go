package uai

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
)

// maxToken bounds the length of one word or number of a file, in bytes.
const maxToken = 1 << 10

// Error is a mistake in the content of a file.
type Error struct {
	File   string // name as given to the reader
	Line   int    // 1-based
	Reason string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason) }

// item is what a token stands for, in words; they are put together only for an
// error.
type item struct {
	name  string
	index int // of the variable or factor, notIndexed for none
}

const notIndexed = -1

func plain(name string) item              { return item{name, notIndexed} }
func indexed(name string, index int) item { return item{name, index} }

// String implements fmt.Stringer.
func (i item) String() string {
	if i.index == notIndexed {
		return i.name
	}
	return fmt.Sprintf("%s %d", i.name, i.index)
}

// scanner splits a stream into tokens separated by white space and knows the
// line of the last one.
type scanner struct {
	in    *bufio.Reader
	file  string
	line  int // of the next byte
	at    int // line of the last token
	token []byte
	err   error // the first, of word and what calls it
}

func newScanner(r io.Reader, name string) *scanner {
	return &scanner{in: bufio.NewReaderSize(r, 1<<16), file: name, line: 1, at: 1}
}

// fail makes an error at the last token.
func (s *scanner) fail(format string, args ...any) error {
	return &Error{File: s.file, Line: s.at, Reason: fmt.Sprintf(format, args...)}
}

// next reads the next token into s.token. It returns io.EOF at the end of the
// stream; other errors name file and line.
func (s *scanner) next() error {
	s.token = s.token[:0]
	for {
		b, err := s.in.ReadByte()
		if err != nil {
			return s.end(err)
		}
		if isSpace(b) {
			if len(s.token) > 0 {
				s.at = s.line
				return s.in.UnreadByte() // a newline counts when it is skipped
			}
			if b == '\n' {
				s.line++
			}
			continue
		}
		if s.token = append(s.token, b); len(s.token) > maxToken {
			s.at = s.line
			return s.fail("a word of more than %d bytes", maxToken)
		}
	}
}

func isSpace(b byte) bool { return b == ' ' || b >= '\t' && b <= '\r' }

// end handles the end of the stream or a read error.
func (s *scanner) end(err error) error {
	s.at = s.line
	if err != io.EOF {
		return fmt.Errorf("%s:%d: %w", s.file, s.line, err)
	}
	if len(s.token) > 0 {
		return nil
	}
	return io.EOF
}

// word reads a token that must be there; what says in an error what it is. The first
// error stays in s.err, and from then on no method reads anything.
func (s *scanner) word(what item) (ok bool) {
	if s.err == nil {
		s.err = s.next()
		if s.err == io.EOF {
			s.err = s.fail("the file ends where %s should be", what)
		}
	}
	return s.err == nil
}

// integer reads an integer between low and high; it is low after an error.
func (s *scanner) integer(what item, low, high int) int {
	if !s.word(what) {
		return low
	}
	value, err := strconv.Atoi(string(s.token))
	switch {
	case err != nil:
		s.err = s.fail("%s is %q, want an integer", what, s.token)
	case value < low || value > high:
		s.err = s.fail("%s is %d, want %d to %d", what, value, low, high)
	default:
		return value
	}
	return low
}

// number reads a finite float64; it is 0 after an error.
func (s *scanner) number(what item) float64 {
	if !s.word(what) {
		return 0
	}
	value, err := strconv.ParseFloat(string(s.token), 64)
	if err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
		s.err = s.fail("%s is %q, want a finite number", what, s.token)
		return 0
	}
	return value
}

// finish reports anything after the last token that belongs to the file, or the
// first error before.
func (s *scanner) finish(what string) error {
	if s.err != nil {
		return s.err
	}
	err := s.next()
	if err == io.EOF {
		return nil
	}
	if err == nil {
		err = s.fail("%q after %s, where the file should end", s.token, what)
	}
	return err
}

// fromFile reads a file with one of the readers of this package.
func fromFile[T any](path string, read func(r io.Reader, name string) (T, error)) (T, error) {
	file, err := os.Open(path)
	if err != nil {
		return *new(T), err
	}
	defer file.Close()
	return read(file, filepath.ToSlash(path))
}
