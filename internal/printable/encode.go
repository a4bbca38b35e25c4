package printable

import (
	"bytes"
	"encoding/json"
)

// Encode is the JSON of a value, indented if there is an indent, without a line end. All that
// is not printed is escaped. Numbers that may be unknown are of runfolder.Float.
func Encode(v any, indent string) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // no browser takes it for a page
	encoder.SetIndent("", indent)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return escapeJSON(bytes.TrimSuffix(text.Bytes(), []byte("\n"))), nil
}
