package cli

import (
	"errors"

	"github.com/spf13/pflag"
)

// aboveZero is a number or time whose zero stands for "left out". That cannot be
// asked for: who writes --max-time 0s means no time at all, or no limit, and
// would get the default.
type aboveZero struct{ pflag.Value }

// Set implements pflag.Value.
func (v aboveZero) Set(text string) error {
	if err := v.Value.Set(text); err != nil {
		return err
	}
	switch v.String() {
	case "0", "-0", "0s":
		return errors.New("it is zero")
	}
	return nil
}

// refuseZero makes flags refuse zero, on the command line and in a configuration
// file.
func refuseZero(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		f := flags.Lookup(name)
		f.Value = aboveZero{f.Value}
		f.DefValue = "" // help shows no default then: the text tells it
	}
}

// wantedAboveZero describes the values of such a flag.
func wantedAboveZero(v aboveZero) string {
	const remedy = "; leave the option out for the default"
	switch v.Type() {
	case "int", "int64":
		return "a whole number above 0" + remedy
	case "duration":
		return "a time with its unit, above 0, such as 90s, 10m or 2h" + remedy
	}
	return "a number above 0" + remedy
}

// resumeValue is the value of --resume. Unlike a text it has no name of a type,
// which help would show in front of what may follow.
type resumeValue struct{ folder *string }

// String implements pflag.Value.
func (v resumeValue) String() string {
	if v.folder == nil {
		return ""
	}
	return *v.folder
}

// Set implements pflag.Value.
func (v resumeValue) Set(text string) error {
	*v.folder = text
	return nil
}

// Type implements pflag.Value.
func (v resumeValue) Type() string { return "" }
