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

// counted writes a number of things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
