package memory

import (
	"errors"
	"math"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestEnough: what is offered is enough, and little more.
func TestEnough(t *testing.T) {
	for bytes, want := range map[float64]string{1: "2B", 900: "945B", 1024: "1076B", 1 << 30: "1076MiB", 33 << 30: "35GiB", 7 << 40: "7527GiB"} {
		oracle.Equal(t, (&Error{Bytes: bytes}).Enough(), want, "%g bytes", bytes)
	}
}

func TestCheck(t *testing.T) {
	oracle.OK(t, Check("it", 100, 100))
	var got *Error
	if err := Check("it", 3<<30, 1<<30); !errors.As(err, &got) || err.Error() != "it would take about 3.0 GiB of memory, and 1.0 GiB are allowed" {
		t.Error(err)
	}
	if err := Check("it", math.Inf(1), 0); !errors.As(err, &got) || got.Asked || got.Allowed <= 0 {
		t.Error(err)
	}
	oracle.OK(t, Check("it", 1, 0))
}

// TestBudget: what is taken adds up.
func TestBudget(t *testing.T) {
	b := NewBudget(100)
	oracle.OK(t, b.Take("it", 60))
	if err := b.Take("it", 50); err == nil || err.Error() != "it would take about 110 B of memory, and 100 B are allowed" {
		t.Error(err)
	}
}

func TestThreads(t *testing.T) {
	if ThreadsProblem(64) != "" || ThreadsProblem(1_000_000) == "" {
		t.Errorf("64: %q, 1000000: %q", ThreadsProblem(64), ThreadsProblem(1_000_000))
	}
}
