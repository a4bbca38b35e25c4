package fileio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// RepeatedKey is a key that an object has twice.
type RepeatedKey struct {
	Key, Before string // as written, the second time and the first
	Line        int    // of the second, from 1
}

// Error implements error; it does not name the line.
func (e *RepeatedKey) Error() string {
	if e.Key != e.Before {
		return fmt.Sprintf("keys %q and %q of one object differ in case only; keep one of them", e.Before, e.Key)
	}
	return fmt.Sprintf("key %q is given twice in one object; keep one of them", e.Key)
}

// object is a JSON object or array that has not ended.
type object struct {
	keys  map[string]string // as written, by folded ones; nil for an array
	value bool              // the next token of an object is a value
}

// JSON decodes one value, and refuses unknown fields, anything after it, and keys that an object has twice:
// encoding/json takes the last value of such a key, and takes keys that differ in case for the same, so that what a
// file says above would be lost without a word.
func JSON(data []byte, into any) error {
	if err := checkKeys(data); err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	decoder.UseNumber() // seeds may have more digits than a float64
	if err := decoder.Decode(into); err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("the JSON ends too early: %w", err)
	} else if err != nil {
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("there is text after the closing brace")
	}
	return nil
}

// checkKeys returns a *RepeatedKey where an object, at any depth, has two keys that
// encoding/json takes for one. Text that is no JSON is left to who decodes it.
func checkKeys(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber() // a number beyond float64 is no end of the text
	var open []object
	for {
		token, err := decoder.Token()
		if err != nil {
			return nil
		}
		if key, isKey := token.(string); isKey && len(open) > 0 {
			if in := &open[len(open)-1]; in.keys != nil && !in.value {
				folded := Fold(key)
				if before, twice := in.keys[folded]; twice {
					return &RepeatedKey{Key: key, Before: before, Line: 1 + bytes.Count(data[:decoder.InputOffset()], []byte("\n"))}
				}
				in.keys[folded], in.value = key, true
				continue
			}
		}
		switch token {
		case json.Delim('{'):
			open = append(open, object{keys: map[string]string{}})
			continue
		case json.Delim('['):
			open = append(open, object{})
			continue
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			open[len(open)-1].value = false
		}
	}
}

// Fold maps all spellings that differ in case to one, as encoding/json and strings.EqualFold take them.
func Fold(key string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, key)
}
