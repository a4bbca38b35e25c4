package cli

import (
	"testing"

	"github.com/spf13/pflag"
)

// TestNumbersAreDecimal: pflag alone reads 010 as 8, and knows 0x10 and 1_0.
func TestNumbersAreDecimal(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"int", "010", "10"}, {"int", "-007", "-7"}, {"int", "+5", "5"}, {"int", "0", "0"}, {"int", "000", "0"}, {"int", "9", "9"},
		{"int", "0x10", ""}, {"int", "1_0", ""}, {"int", "0b1", ""}, {"int", "0o7", ""}, {"int", "", ""}, {"int", "-", ""}, {"int", "1e3", ""}, {"int", "1.5", ""},
		{"positive", "010", "10"}, {"positive", "0x10", ""}, {"positive", "00", ""},
		{"uint64", "0018446744073709551615", "18446744073709551615"}, {"uint64", "-1", ""}, {"uint64", "0x1", ""},
		{"float64", "010", "10"}, {"float64", "1e-3", "0.001"}, {"float64", ".5", "0.5"},
		{"float64", "0x1p-3", ""}, {"float64", "1_0", ""}, {"float64", "inf", ""}, {"float64", "nan", ""}, {"float64", "", ""},
	} {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		flags.Int("int", 1, "")
		flags.Int("positive", 1, "")
		flags.Uint64("uint64", 1, "")
		flags.Float64("float64", 1, "")
		refuseZero(flags, "positive")
		readDecimal(flags)
		err := flags.Set(c.name, c.text)
		if got := flags.Lookup(c.name).Value.String(); c.want == "" && err == nil || c.want != "" && (err != nil || got != c.want) {
			t.Errorf("--%s %q: %s, %v, want %q", c.name, c.text, got, err, c.want)
		}
	}
}
