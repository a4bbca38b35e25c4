package runfolder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// columnByName finds a fixed column.
var columnByName = func() map[string]*column {
	byName := make(map[string]*column, len(columns))
	for i := range columns {
		byName[columns[i].name] = &columns[i]
	}
	return byName
}()

// parseMetric reads one record: a flat JSON object of numbers, in any order.
// null is unknown; other names than those of a record may hold any simple value
// and are passed over. The scanner is hand-written because a run may leave a
// million records: it takes a fifth of the time of encoding/json and allocates
// nothing (BenchmarkReadMetrics).
func parseMetric(line []byte, m *Metric) error {
	*m = NewMetric(unknownBlock)
	s := flatScanner{text: line}
	if err := s.object(func(name, value []byte) error { return m.set(name, value) }); err != nil {
		return err
	}
	if m.Iter < 0 {
		return errNoIteration
	}
	return nil
}

// set stores the value of the field called name; value is a JSON literal.
func (m *Metric) set(name, value []byte) error {
	if bytes.Equal(value, []byte("null")) {
		return nil
	}
	if c := columnByName[string(name)]; c != nil {
		return c.set(m, value)
	}
	key, isEval := bytes.CutPrefix(name, []byte(evalPrefix))
	if !isEval {
		return nil
	}
	v, err := parseFinite(value)
	if err != nil {
		return fmt.Errorf("%.60s is %.40q, want a number", name, value)
	}
	if m.Eval == nil {
		m.Eval = make(map[string]float64)
	}
	m.Eval[strings.ToValidUTF8(string(key), "\uFFFD")] = v
	return nil
}

// flatScanner walks over one JSON object without nested values.
type flatScanner struct {
	text []byte
	at   int
}

// Reasons why a line is not a record.
var (
	errNotObject  = errors.New("want one JSON object, {…}, on the line")
	errNested     = errors.New("a nested value, want numbers only")
	errIncomplete = errors.New("the record ends in the middle")
)

// object reads the whole text as one object and hands each field to visit.
func (s *flatScanner) object(visit func(name, value []byte) error) error {
	if s.next() != '{' {
		return errNotObject
	}
	s.at++
	if s.next() == '}' {
		s.at++
		return s.end()
	}
	for {
		name, value, err := s.field()
		if err != nil {
			return err
		}
		if err := visit(name, value); err != nil {
			return err
		}
		switch s.next() {
		case ',':
			s.at++
		case '}':
			s.at++
			return s.end()
		case 0:
			return errIncomplete
		default:
			return fmt.Errorf("column %d: got %q, want a comma or the end of the record", s.at+1, s.text[s.at])
		}
	}
}

// next passes over blanks and is the byte that follows, 0 at the end.
func (s *flatScanner) next() byte {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return c
		}
	}
	return 0
}

// end checks that nothing follows the object.
func (s *flatScanner) end() error {
	if s.next(); s.at < len(s.text) {
		return fmt.Errorf("column %d: something follows the record", s.at+1)
	}
	return nil
}

// field reads "name": value; the value is the literal as it stands.
func (s *flatScanner) field() (name, value []byte, err error) {
	if s.next() != '"' {
		return nil, nil, s.unexpected("a name in double quotes")
	}
	if name, err = s.quoted(); err != nil {
		return nil, nil, err
	}
	if name, err = unquote(name); err != nil {
		return nil, nil, err
	}
	if s.next() != ':' {
		return nil, nil, s.unexpected("a colon")
	}
	s.at++
	value, err = s.literal()
	return name, value, err
}

// unexpected describes what stands at the present place.
func (s *flatScanner) unexpected(want string) error {
	if s.at >= len(s.text) {
		return errIncomplete
	}
	return fmt.Errorf("column %d: got %q, want %s", s.at+1, s.text[s.at], want)
}

// quoted is the string literal at the present place, with its quotes.
func (s *flatScanner) quoted() ([]byte, error) {
	start := s.at
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '\\':
			s.at++
		case c == '"':
			s.at++
			return s.text[start:s.at], nil
		case c < ' ':
			return nil, fmt.Errorf("column %d: a control character in a string", s.at+1)
		}
	}
	return nil, errIncomplete
}

// unquote is the text of a string literal.
func unquote(literal []byte) ([]byte, error) {
	if bytes.IndexByte(literal, '\\') < 0 {
		return literal[1 : len(literal)-1], nil
	}
	var text string
	if err := json.Unmarshal(literal, &text); err != nil {
		return nil, fmt.Errorf("the name %.60s: %w", literal, err)
	}
	return []byte(text), nil
}

// literal is the simple value at the present place: a string, a number, true,
// false or null.
func (s *flatScanner) literal() ([]byte, error) {
	switch s.next() {
	case '"':
		return s.quoted()
	case '{', '[':
		return nil, errNested
	}
	start := s.at
	for s.at < len(s.text) && isLiteralByte(s.text[s.at]) {
		s.at++
	}
	if s.at == start {
		return nil, s.unexpected("a value")
	}
	return s.text[start:s.at], nil
}

// isLiteralByte tells whether c occurs in numbers, true, false and null.
func isLiteralByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '+' || c == '-' || c == '.'
}
