package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
)

// sourceFlag is where the value of an option came from that was given.
const sourceFlag = "flag"

// ofOneCommand are options that no run to resume has set.
var ofOneCommand = []string{"resume", forceOption, "mpi", "stall"}

// optionsOf returns every flag's value with its source. recalled are the sources of flags that a run to be resumed has
// set.
func optionsOf(cmd *cobra.Command, recalled map[string]string) map[string]job.Option {
	options := map[string]job.Option{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		o := job.Option{Value: valueOf(f), Source: job.SourceDefault}
		if source, ok := recalled[f.Name]; ok {
			o.Source = source
		} else if f.Changed {
			o.Source = sourceFlag
		}
		if f.Name != "help" {
			options[f.Name] = o
		}
	})
	return options
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

// setOption sets a flag to a value of a run, as one that was asked for. Its error says what it is, and what is wanted.
func setOption(flag *pflag.Flag, value any) (err error) {
	items, isList := value.([]any)
	if !isList {
		items = []any{value}
	}
	texts := numeric.Map(items, func(item any) string { return fmt.Sprint(item) })
	text := strings.Join(texts, ", ")
	if list, wantsList := flag.Value.(pflag.SliceValue); wantsList && isList {
		err = list.Replace(texts)
	} else {
		err = flag.Value.Set(text)
	}
	if err != nil {
		return fmt.Errorf("%s, want %s", option.Literal(text), wantedOf(flag))
	}
	flag.Changed = true
	return nil
}
