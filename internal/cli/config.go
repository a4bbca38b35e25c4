package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/blockbp/blockbp/internal/fileio"
	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/option"
)

// Where the value of an option came from.
const (
	sourceDefault = job.SourceDefault
	sourceConfig  = "config"
	sourceFlag    = "flag"
)

// ofOneCommand are options that are known before a file is read, and that no run to resume has set.
var ofOneCommand = []string{"config", "resume", forceOption, "mpi", "stall"}

// applyConfig sets the flags of cmd that were not given on the command line from a TOML file whose keys are their
// names, and returns every flag's value with its source. path may be empty. recalled are the sources of flags that a
// run to be resumed has set.
func (a *app) applyConfig(cmd *cobra.Command, path string, recalled map[string]string) (map[string]job.Option, error) {
	fromFile := map[string]bool{}
	if path != "" {
		values, err := readConfig(cmd.Name(), path)
		if err != nil {
			return nil, err
		}
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if fromFile[key], err = setFromConfig(cmd, path, key, values[key]); err != nil {
				return nil, err
			}
			if fromFile[key] {
				a.places[key] = path
			}
		}
	}
	options := map[string]job.Option{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		o := job.Option{Value: valueOf(f), Source: sourceDefault}
		switch source, ok := recalled[f.Name]; {
		case ok:
			o.Source = source
		case fromFile[f.Name]:
			o.Source = sourceConfig
		case f.Changed:
			o.Source = sourceFlag
		}
		if f.Name != "help" {
			options[f.Name] = o
		}
	})
	return options, nil
}

// valueOf returns a flag's value as JSON is to have it.
func valueOf(f *pflag.Flag) any {
	text := f.Value.String()
	switch list, isList := f.Value.(pflag.SliceValue); {
	case isList:
		return textsOrNil(list.GetSlice())
	case f.Value.Type() == "bool":
		return text == "true"
	case f.Value.Type() == "float64":
		number, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(number) || math.IsInf(number, 0) {
			return text // it will be refused
		}
		return number
	case strings.Contains(f.Value.Type(), "int"):
		return json.Number(text)
	}
	return textOrNil(text)
}

func textOrNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func textsOrNil(texts []string) any {
	if len(texts) == 0 {
		return nil
	}
	return texts
}

// mostKeys is far beyond the number of options. The decoder looks at all keys before each.
const mostKeys = 1000

// readConfig reads a file of options.
func readConfig(verb, path string) (values map[string]any, err error) {
	const most = 4 << 20 // bytes: what is read takes twenty times the memory
	text, err := fileio.Read(path, "a file of options in TOML", most)
	if err != nil {
		return nil, err
	}
	text = fileio.Lines(text)
	if bytes.Count(text, []byte("="))+bytes.Count(text, []byte("\n[")) > mostKeys {
		return nil, usagef("%s: it has more than %d keys: want options of blockbp %s, each once", path, mostKeys, verb)
	}
	err = toml.Unmarshal(text, &values)
	if decode := (*toml.DecodeError)(nil); errors.As(err, &decode) {
		row, _ := decode.Position()
		return nil, usagef("%s:%d: %v", path, row, decode)
	} else if err != nil {
		return nil, usagef("%s: %v", path, err)
	}
	return values, nil
}

// locate puts in front of an error about an option the file of options that it stands in, if it is in one. The
// option is the first that the error refers to; one that is not about the command line can refer to others as
// remedies, and begins with the option if it is about one.
func (a *app) locate(err error) error {
	name, begins := option.First(option.References(err))
	place, ok := a.places[name]
	if !ok || !begins && codeOf(err) != exitUsage {
		return err
	}
	return &exitError{codeOf(err), fmt.Errorf("%s: %w", place, err)}
}

// setFromConfig sets a flag unless the command line did, and reports whether it did so.
func setFromConfig(cmd *cobra.Command, place, key string, value any) (used bool, err error) {
	flag := cmd.Flags().Lookup(key)
	if commandLineOnly := slices.Concat(ofOneCommand, []string{"help"}); flag != nil &&
		slices.Contains(commandLineOnly, key) {
		return false, usagef("%s: option %q is not for a file: give --%s on the command line", place, key, key)
	}
	if flag == nil {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		return false, usagef("%s: unknown option %q; %s", place, key, option.Suggestion(key, names, ""))
	}
	if flag.Changed {
		return false, nil // the command line wins
	}
	if err := setOption(flag, value); err != nil {
		return false, usagef("%s: option %q is %v", place, key, err)
	}
	return true, nil
}

// setOption sets a flag to a value of a file, as one that was asked for. Its error says what it is, and what is wanted.
func setOption(flag *pflag.Flag, value any) (err error) {
	list, wantsList := flag.Value.(pflag.SliceValue)
	items, isList := value.([]any)
	if !isList {
		items = []any{value}
	} else if !wantsList {
		return fmt.Errorf("a list, want %s", wantedOf(flag))
	}
	var texts []string
	for _, item := range items {
		if _, table := item.(map[string]any); table {
			return errors.New("a table, want a value")
		}
		texts = append(texts, fmt.Sprint(item))
	}
	if isList {
		err = list.Replace(texts)
	} else {
		err = flag.Value.Set(texts[0])
	}
	if err != nil {
		return fmt.Errorf("%s, want %s", option.Literal(strings.Join(texts, ", ")), wantedOf(flag))
	}
	flag.Changed = true
	return nil
}
