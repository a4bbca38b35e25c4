package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/blockbp/blockbp/internal/nearest"
)

// printJSON writes one object on one line of standard output.
func (a *app) printJSON(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s\n", text)
	return err
}

// nearestName says which name was probably meant.
func nearestName(name string, names []string, prefix string) string {
	if n := nearest.Name(name, names); n != "" {
		return fmt.Sprintf("did you mean %s%s?", prefix, n)
	}
	return "valid are " + prefix + strings.Join(names, ", "+prefix)
}
