package dataset

import (
	"fmt"
	"slices"

	"github.com/blockbp/blockbp/crf"
)

// contradiction says how the names of states in a dataset.json contradict those
// that a model has, "" where they do not: their labels would mean something else.
// Names that are mere numbers, as a count of states gives, name nothing and only
// have to be as many. What the option States says replaces dataset.json, as it
// does in training.
func (o *Options) contradiction(named, model []string) string {
	switch {
	case named == nil || len(o.States) > 0 || slices.Equal(named, model):
		return ""
	case len(named) != len(model):
		return fmt.Sprintf("they are %d, the model has %d (%q)", len(named), len(model), model)
	case unnamed(named) || unnamed(model):
		return ""
	}
	return fmt.Sprintf("they are %q, the model has %q", named, model)
}

// unnamed reports whether states are called by their numbers.
func unnamed(states []string) bool {
	return slices.Equal(states, crf.NumberedStates(len(states)))
}
