package memory

import (
	"errors"
	"math"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "2147483648": 2 << 30, "2GiB": 2 << 30, " 1.5 GiB ": 3 << 29, "40GiB": 40 << 30, "500MB": 5e8, "3 kB": 3000, "7B": 7, "1TiB": 1 << 40, "1TB": 1e12,
	} {
		if got, err := Parse(text); got != want || err != nil {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "-1", "GiB", "1e3", "0x10", "1_000", "inf", "NaN", "9223372036854775808", "9000000TiB", "2 gib", "1.2.3", "+1", "0.5"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("%q: %d, want an error", text, got)
		}
	}
}

// TestEnough: what is offered is read again, and is enough.
func TestEnough(t *testing.T) {
	for _, bytes := range []float64{1, 900, 1024, 5e5, 1e9, 3.3e10, 7e12} {
		e := &Error{Bytes: bytes}
		got, err := Parse(e.Enough())
		if err != nil || float64(got) < bytes || float64(got) > 1.2*bytes+2 {
			t.Errorf("%g bytes: %q is %d, %v", bytes, e.Enough(), got, err)
		}
	}
}

func TestCheck(t *testing.T) {
	if err := Check("it", 100, 100); err != nil {
		t.Error(err)
	}
	var got *Error
	if err := Check("it", 3<<30, 1<<30); !errors.As(err, &got) || err.Error() != "it would take about 3.0 GiB of memory, and 1.0 GiB are allowed" {
		t.Error(err)
	}
	if err := Check("it", math.Inf(1), 0); !errors.As(err, &got) || got.Asked || got.Allowed <= 0 {
		t.Error(err)
	}
	if err := Check("it", 1, 0); err != nil {
		t.Error(err)
	}
}

func TestThreads(t *testing.T) {
	if ThreadsProblem(64) != "" || ThreadsProblem(1_000_000) == "" {
		t.Errorf("64: %q, 1000000: %q", ThreadsProblem(64), ThreadsProblem(1_000_000))
	}
}
