package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/blockbp/blockbp/internal/nearest"
)

// printJSON writes one object on one line of standard output.
func (a *app) printJSON(v any) error {
	encoder := json.NewEncoder(a.stdout)
	encoder.SetEscapeHTML(false) // no browser reads it
	return encoder.Encode(v)
}

// jsonText is v as JSON; v must be such that it always has one.
func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic("cli: " + err.Error())
	}
	return string(text)
}

// objectRows lists the fields of a JSON object in their order, each with a name in
// front, for a table. What is no object is one row.
func objectRows(name string, raw json.RawMessage) (rows [][]string) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return [][]string{{name, string(raw)}}
	}
	for decoder.More() {
		key, err := decoder.Token()
		var value json.RawMessage
		if err == nil {
			err = decoder.Decode(&value)
		}
		if err != nil {
			return [][]string{{name, string(raw)}}
		}
		text := string(value)
		if unquoted := ""; json.Unmarshal(value, &unquoted) == nil {
			text = unquoted
		}
		rows = append(rows, []string{fmt.Sprintf("%s: %v", name, key), text})
	}
	return rows
}

// didYouMean is nearestName after a message that lists the names already, and begins
// with its own separator: "" where none is close.
func didYouMean(name string, names []string) string {
	if n := nearest.Name(name, names); n != "" {
		return fmt.Sprintf("; did you mean %s?", n)
	}
	return ""
}

// nearestName says which name was probably meant, or which there are.
func nearestName(name string, names []string, prefix string) string {
	if n := nearest.Name(name, names); n != "" {
		return fmt.Sprintf("did you mean %s%s?", prefix, n)
	}
	return "valid are " + prefix + strings.Join(names, ", "+prefix)
}
