package cli

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Where the value of an option came from.
const (
	sourceDefault = "default"
	sourceConfig  = "config"
	sourceFlag    = "flag"
)

// option is the resolved value of one option, for config.json.
type option struct {
	Value  string `json:"value"`
	Source string `json:"source"`
}

// applyConfig sets the flags of cmd that were not given on the command line from
// a TOML file whose keys are their names, and returns every flag's value with
// its source. path may be empty.
func applyConfig(cmd *cobra.Command, path string) (map[string]option, error) {
	fromFile := map[string]bool{}
	if path != "" {
		values, err := readConfig(path)
		if err != nil {
			return nil, err
		}
		for key, value := range values {
			used, err := setFromConfig(cmd, path, key, value)
			if err != nil {
				return nil, err
			}
			fromFile[key] = used
		}
	}
	resolved := map[string]option{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		o := option{Value: f.Value.String(), Source: sourceDefault}
		switch {
		case fromFile[f.Name]:
			o.Source = sourceConfig
		case f.Changed:
			o.Source = sourceFlag
		}
		if f.Name != "help" {
			resolved[f.Name] = o
		}
	})
	return resolved, nil
}

func readConfig(path string) (map[string]any, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var values map[string]any
	if err := toml.Unmarshal(text, &values); err != nil {
		var decode *toml.DecodeError
		if errors.As(err, &decode) {
			row, _ := decode.Position()
			return nil, usagef("%s:%d: %v", path, row, decode)
		}
		return nil, usagef("%s: %v", path, err)
	}
	return values, nil
}

// setFromConfig sets a flag unless the command line did, and reports whether it
// did so.
func setFromConfig(cmd *cobra.Command, path, key string, value any) (used bool, err error) {
	flag := cmd.Flags().Lookup(key)
	if flag == nil || key == "config" || key == "help" || key == "resume" {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		return false, usagef("%s: unknown option %q; %s", path, key, nearestName(key, names, ""))
	}
	if flag.Changed {
		return false, nil // the command line wins
	}
	items, ok := value.([]any)
	if !ok {
		items = []any{value}
	}
	for _, item := range items {
		if _, table := item.(map[string]any); table {
			return false, usagef("%s: option %q is a table, want a value", path, key)
		}
		if err := flag.Value.Set(fmt.Sprint(item)); err != nil {
			return false, usagef("%s: option %q: %v", path, key, err)
		}
	}
	return true, nil
}

// readList reads the text of a list flag's value: "[a,b]", with fields quoted as
// in CSV.
func readList(value string) ([]string, error) {
	value = strings.TrimSuffix(strings.TrimPrefix(value, "["), "]")
	if value == "" {
		return nil, nil
	}
	return csv.NewReader(strings.NewReader(value)).Read()
}
