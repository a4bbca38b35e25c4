package uai_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blockbp/blockbp/internal/uai"
)

func TestWriteResults(t *testing.T) {
	var out bytes.Buffer
	for _, write := range []error{
		uai.WritePR(&out, 5*math.Ln10), uai.WritePR(&out, math.Inf(-1)),
		uai.WriteMAR(&out, [][]float64{{0.25, 0.75}, {1}}), uai.WriteMAR(&out, nil),
		uai.WriteMPE(&out, []int{3, 0}), uai.WriteMPE(&out, nil),
	} {
		if write != nil {
			t.Fatal(write)
		}
	}
	want := "PR\n5\nPR\n-inf\nMAR\n2 2 0.25 0.75 1 1\nMAR\n0\nMPE\n2 3 0\nMPE\n0\n"
	if difference := cmp.Diff(want, out.String()); difference != "" {
		t.Error(difference)
	}
}

// TestReadMARWithSamples: the number of samples stands alone on its line.
func TestReadMARWithSamples(t *testing.T) {
	for text, want := range map[string][][]float64{
		"MAR\n1\n2 2 0.25 0.75 1 1\n": {{0.25, 0.75}, {1}},
		"MAR\n1\n1 2 0.25 0.75\n":     {{0.25, 0.75}},
		"MAR\n1 2 0.25 0.75\n":        {{0.25, 0.75}},
		"MAR\n2 1 1\n2 0 1":           {{1}, {0, 1}},
	} {
		got, err := uai.ReadMAR(strings.NewReader(text), "x.MAR")
		if difference := cmp.Diff(want, got); difference != "" || err != nil {
			t.Errorf("%q: %v\n%s", text, err, difference)
		}
	}
}

func TestReadMARRefuses(t *testing.T) {
	for _, c := range []struct{ text, message string }{
		{"", "x.MAR:1: the file ends where MAR should be"},
		{"PR\n5", `x.MAR:1: marginals start with "PR", want MAR`},
		{"MAR\n2 1 1", "x.MAR:2: the file ends where the number of states of variable 1 should be"},
		{"MAR\n2000000000 1 1", "the number of states of variable 1 should be"},
		{"MAR\n-1", "the number of variables is -1"},
		{"MAR\n1 0", "the number of states of variable 0 is 0, want 1 to"},
		{"MAR\n1 1048576 1", "the file ends where a probability of variable 0 should be"},
		{"MAR\n1 2 0.5 1.5", "a probability of variable 0 is 1.5, want 0 to 1"},
		{"MAR\n1 2 0.5 -0.5", "a probability of variable 0 is -0.5"},
		{"MAR\n1 2 0.5 nan", `a probability of variable 0 is "nan", want a finite decimal number`},
		{"MAR\n1 2 0.5 0x1p-1", `a probability of variable 0 is "0x1p-1"`},
		{"MAR\n1 2 0.5 inf", `a probability of variable 0 is "inf"`},
		{"MAR\n1 2 0.5 half", `a probability of variable 0 is "half"`},
		{"MAR\n1 1 1\nPR", `x.MAR:3: "PR" after the last marginal`},
	} {
		_, err := uai.ReadMAR(strings.NewReader(c.text), "x.MAR")
		var located *uai.Error
		if !errors.As(err, &located) || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%q: error is %v, want %q", c.text, err, c.message)
		}
	}
}
