package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestPanic: a panic is reported with exit code 70, and with what a developer needs to know.
func TestPanic(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	a := &app{ctx: t.Context(), stderr: &stderr}
	oracle.Equal(t, a.guard(func() error { panic("a slip") }), exitBug, "exit code")
	oracle.Contains(t, stderr.String(), "internal error: a slip", "progress_test.go", "please report it")
	stderr.Reset()
	a.events = &events{to: &stderr}
	var event errorEvent
	if code := a.guard(func() error { panic("a slip") }); code != exitBug || json.Unmarshal(stderr.Bytes(), &event) != nil || event.Code != code || !strings.Contains(event.Error, "internal error: a slip") {
		t.Errorf("exit code %d, and for a program %q", code, &stderr)
	}
}
