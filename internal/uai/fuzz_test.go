package uai_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
	"github.com/blockbp/blockbp/internal/uai"
	"github.com/blockbp/blockbp/mrf"
)

// checkLocated fails unless the error is of the content and names its line.
func checkLocated(t *testing.T, err error) {
	t.Helper()
	var located *uai.Error
	if !errors.As(err, &located) || located.Line < 1 || located.Problem == "" {
		t.Errorf("error is %v, want *uai.Error with a line", err)
	}
}

// checkDecimal fails unless all numbers in a text that was read are decimal.
func checkDecimal(t *testing.T, text string) {
	t.Helper()
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r >= '\t' && r <= '\r' }) {
		switch strings.ToUpper(word) {
		case "MARKOV", "BAYES", "MAR":
			continue
		}
		if !decimal.MatchString(word) {
			t.Errorf("%q is read as a number", word)
		}
	}
}

var decimal = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

// FuzzRead: what is read is a valid network of decimal numbers that survives being written.
func FuzzRead(f *testing.F) {
	f.Add(bayes)
	f.Add("MARKOV\n2\n2 3\n2\n0\n2 1 0\n1\n4.5\n6\n1e-400 0 1e400 1 2 3\n")
	f.Add("MARKOV\n2000000000\n2 2")
	f.Add("MARKOV 2 1048576 1048576 1 2 0 1 1099511627776 1")
	for _, number := range []string{"0x1p-2", "1_0", "0x10", "infinity", "1e+2", ".5", "5."} {
		f.Add("MARKOV 1 2 1 1 0 2 0.5 " + number)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := uai.Read(strings.NewReader(text), "fuzz.uai")
		if err != nil {
			checkLocated(t, err)
			return
		}
		checkDecimal(t, text)
		oracle.OK(t, n.Validate())
		checkRoundTrip(t, n)
	})
}

// FuzzReadEvidence: what is read can be conditioned on.
func FuzzReadEvidence(f *testing.F) {
	for _, text := range []string{"0", "2 0 1 3 2\n", "1\n2 0 1 3 2\n", "2\n1 0 1\n2 0 2 1 1\n", "1 2 0 1 3 2", "2147483647 2147483647 1", "1 0x0 1"} {
		f.Add(text)
	}
	n := &mrf.Network{Card: []int{3, 3, 3, 3}}
	f.Fuzz(func(t *testing.T, text string) {
		evidence, err := uai.ReadEvidence(strings.NewReader(text), "fuzz.evid", n)
		if err != nil {
			checkLocated(t, err)
			return
		}
		checkDecimal(t, text)
		oracle.Must(n.Condition(evidence))(t)
	})
}
