package cli

import (
	"encoding/json"
	"fmt"
)

// printJSON writes one object on one line of standard output.
func (a *app) printJSON(v any) error {
	encoder := json.NewEncoder(a.stdout)
	encoder.SetEscapeHTML(false) // no browser reads it
	return encoder.Encode(v)
}

// print writes a result: as JSON, or as a text for people.
func (a *app) print(asJSON bool, result any, format string, arguments ...any) error {
	if asJSON {
		return a.printJSON(result)
	}
	_, err := fmt.Fprintf(a.stdout, format, arguments...)
	return err
}
