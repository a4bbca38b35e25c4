package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestCounter(t *testing.T) {
	t.Parallel()
	lines := func(c *counter) string {
		var out bytes.Buffer
		if c != nil {
			c.out = &out
		}
		for done := range 4 {
			c.show(done, 3)
		}
		c.done()
		return out.String()
	}
	if got := lines(&counter{label: "predicting", things: "instances"}); !strings.HasPrefix(got, "predicting: 0 of 3 instances\n") {
		t.Errorf("a counter that is due printed %q", got)
	}
	if got := lines(&counter{line: line{next: time.Now().Add(time.Hour)}}); got != "" {
		t.Errorf("a counter that is not due printed %q", got)
	}
	if got := lines(new(app).newCounter(true, "quiet")); got != "" {
		t.Errorf("a quiet counter printed %q", got)
	}
}

// TestPanic: a panic is reported with exit code 70, and with what a developer needs
// to know.
func TestPanic(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	a := &app{ctx: t.Context(), stderr: &stderr}
	if code := a.guard(func() error { panic("a slip") }); code != exitBug {
		t.Errorf("exit code %d, want %d", code, exitBug)
	}
	for _, part := range []string{"internal error: a slip", "progress_test.go", "please report it"} {
		if !strings.Contains(stderr.String(), part) {
			t.Errorf("stderr does not contain %q:\n%s", part, &stderr)
		}
	}
}
