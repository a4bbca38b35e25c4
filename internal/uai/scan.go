package uai

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/option"
)

// maxToken bounds the length of one word or number of a file, in bytes.
const maxToken = 1 << 10

// Error is a mistake in the content of a file, with its line.
type Error = option.Error

// scanner splits a stream into tokens separated by white space and knows the line of the last one.
type scanner struct {
	in    *bufio.Scanner
	file  string
	line  int // of the next byte
	at    int // line of the last token
	token []byte
	index int   // of the variable or factor that is read, for %d in what says what is read
	err   error // the first
}

func newScanner(r io.Reader, name string) *scanner {
	s := &scanner{in: bufio.NewScanner(r), file: name, line: 1, at: 1}
	s.in.Buffer(make([]byte, 1<<16), 1<<16)
	s.in.Split(s.split)
	return s
}

// fail returns, and keeps, an error at the last token, or the first before.
func (s *scanner) fail(format string, args ...any) error {
	if s.err == nil {
		s.err = &Error{File: s.file, Line: s.at, Problem: fmt.Sprintf(format, args...)}
	}
	return s.err
}

// split is a bufio.SplitFunc that counts the lines before the token.
func (s *scanner) split(data []byte, atEOF bool) (advance int, token []byte, err error) {
	begin := 0
	for ; begin < len(data) && isSpace(data[begin]); begin++ {
		if data[begin] == '\n' {
			s.line++
		}
	}
	s.at = s.line
	end := begin
	for end < len(data) && !isSpace(data[end]) {
		end++
	}
	switch {
	case end-begin > maxToken:
		return 0, nil, s.fail("a word of more than %d bytes", maxToken)
	case end == len(data) && (!atEOF || end == begin):
		return begin, nil, nil // the token is not there, or not whole
	}
	return end, data[begin:end], nil
}

func isSpace(b byte) bool { return b == ' ' || b >= '\t' && b <= '\r' }

// next reads the next token into s.token. It returns io.EOF at the end of the stream; other errors name file and line.
func (s *scanner) next() error {
	if s.in.Scan() {
		s.token = s.in.Bytes()
		return nil
	}
	var mistake *Error
	switch err := s.in.Err(); {
	case err == nil:
		return io.EOF
	case errors.As(err, &mistake):
		return mistake
	default:
		return fmt.Errorf("%s:%d: %w", s.file, s.line, err)
	}
}

// word reads a token that must be there; what says in an error what it is, with the index in the place of %d. The
// first error stays in s.err, and from then on no method reads anything.
func (s *scanner) word(what string) (ok bool) {
	if s.err == nil {
		if err := s.next(); err == io.EOF {
			s.fail("the file ends where %s should be", s.describe(what))
		} else {
			s.err = err
		}
	}
	return s.err == nil
}

func (s *scanner) describe(what string) string {
	return strings.Replace(what, "%d", strconv.Itoa(s.index), 1)
}

// integer reads an integer between low and high; it is low after an error.
func (s *scanner) integer(what string, low, high int) int {
	if !s.word(what) {
		return low
	}
	value, err := strconv.Atoi(string(s.token))
	switch {
	case err != nil:
		s.fail("%s is %q, want an integer", s.describe(what), s.token)
	case value < low || value > high:
		s.fail("%s is %d, want %d to %d", s.describe(what), value, low, high)
	default:
		return value
	}
	return low
}

// finish reports anything after the last token that belongs to the file, or the first error before.
func (s *scanner) finish(what string) error {
	if s.err != nil {
		return s.err
	}
	if err := s.next(); err != nil && err != io.EOF {
		return err
	} else if err == nil {
		s.fail("%q after %s, where the file should end", s.token, what)
	}
	return s.err
}

// byteOrderMark is what editors of some systems begin a text with.
const byteOrderMark = "\ufeff"

// fromFile reads a file with one of the readers of this package.
func fromFile[T any](path string, read func(r io.Reader, name string) (T, error)) (T, error) {
	var file *os.File
	var err error
	if fileio.IsOpen(path) {
		file, err = os.Open(path)
	} else {
		file, _, err = fileio.Open(path, "one in UAI format")
	}
	if err != nil {
		return *new(T), err
	}
	defer file.Close()
	in := bufio.NewReader(file)
	if mark, _ := in.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		in.Discard(len(byteOrderMark))
	}
	return read(in, filepath.ToSlash(path))
}
