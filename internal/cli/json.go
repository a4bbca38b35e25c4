package cli

import (
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

// counted writes a number of things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
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
