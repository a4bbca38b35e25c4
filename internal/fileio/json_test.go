package fileio

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

func TestKeys(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"a": 1, "b": {"a": 2}, "c": [{"a": 3}, {"a": 4}, "a", "a"]}`, ""},
		{`{"a": "a", "b": "a"}`, ""},
		{`["a", "a", ["a"]]`, ""},
		{`"a"`, ""},
		{`{"a": 1e999, "b": 2}`, ""},
		{"{\"a\": 1,\n\n\"a\": 2}", `3: key "a" is given twice`},
		{`{"a": 1e999, "a": 2}`, `1: key "a" is given twice`},
		{`{"a": {}, "b": [], "a": 2}`, `1: key "a" is given twice`},
		{"{\"x\":\n{\"y\": [1, {\"a\": {\"b\": 0}, \"c\": null,\n\"a\": 2}]}}", `3: key "a" is given twice`},
		{`{"a": 1, "\u0061": 2}`, `1: key "a" is given twice`},
		{`{"states": 1, "States": 2}`, `1: keys "states" and "States" of one object differ in case only`},
		{`{"states": 1, "ſtates": 2}`, `1: keys "states" and "ſtates"`},
		{`{"k": 1, "K": 2}`, `1: keys "k" and "K"`}, // a Kelvin sign
		{`{"a": 1, "a": 2`, `1: key "a"`},
		{`{"a": 1} {"b": 2, "b": 3}`, `1: key "b"`},
		{`{"a": 1, ]`, ""}, // no JSON
		{`}`, ""},
		{"", ""},
	} {
		err := checkKeys([]byte(c.text))
		var repeated *RepeatedKey
		if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &repeated) || !strings.HasPrefix(fmt.Sprintf("%d: %v", repeated.Line, err), c.want)) {
			t.Errorf("%s: %+v, want %q", c.text, err, c.want)
		}
	}
}

// FuzzKeys: no two keys of an object that passes differ in case only, and it does not
// pass with any of its keys once more.
func FuzzKeys(f *testing.F) {
	for _, text := range []string{`{"a":1,"A":2}`, `{"a":1,"b":{"a":[]}}`, `{"a":1,"a":2}`, `{"ſ":1,"s":2}`, `{"a":[{"b":1,"b":2}]}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var top map[string]json.RawMessage
		if json.Unmarshal(data, &top) != nil || checkKeys(data) != nil {
			return
		}
		text := string(data)
		for key := range top {
			for other := range top {
				if key != other && strings.EqualFold(key, other) {
					t.Errorf("%s: keys %q and %q", text, key, other)
				}
			}
		}
		// A text that begins with all keys once more repeats every one of them.
		for key := range top {
			again := oracle.Must(json.Marshal(key))(t)
			twice := "{" + string(again) + ":0," + strings.TrimPrefix(strings.TrimLeft(text, " \t\r\n"), "{")
			if checkKeys([]byte(twice)) == nil {
				t.Errorf("%s is taken", twice)
			}
		}
	})
}
