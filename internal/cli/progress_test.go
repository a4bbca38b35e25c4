package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

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
	stderr.Reset()
	a.events = &events{to: &stderr}
	var event errorEvent
	if code := a.guard(func() error { panic("a slip") }); code != exitBug || json.Unmarshal(stderr.Bytes(), &event) != nil || event.Code != code || !strings.Contains(event.Error, "internal error: a slip") {
		t.Errorf("exit code %d, and for a program %q", code, &stderr)
	}
}
