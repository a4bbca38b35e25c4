package dataset

import (
	"strings"
	"testing"
)

// A panic of a worker reaches the goroutine that waits for it, where the command
// can report it; it says where it began.
func TestEachPassesPanicsOn(t *testing.T) {
	defer func() {
		text, _ := recover().(string)
		if !strings.Contains(text, "a slip") || !strings.Contains(text, "parallel_test.go") {
			t.Errorf("recovered %q, want the panic with its stack", text)
		}
	}()
	each(t.Context(), 8, func(i int) {
		if i == 5 {
			panic("a slip")
		}
	})
	t.Error("there was no panic")
}
