package option_test

import (
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/option"
)

func TestSuggestions(t *testing.T) {
	names := []string{"accuracy", "iou", "log_loss"}
	for _, c := range []struct{ name, nearest, hint, suggestion string }{
		{"acuracy", "accuracy", "; did you mean accuracy?", "did you mean --accuracy?"},
		{"iuo", "", "", "valid are --accuracy, --iou, --log_loss"},
		{"ioo", "iou", "; did you mean iou?", "did you mean --iou?"},
		{strings.Repeat("a", 101), "", "", "valid are --accuracy, --iou, --log_loss"}, // no slip
		{"", "", "", "valid are --accuracy, --iou, --log_loss"},
	} {
		if got := option.Nearest(c.name, names); got != c.nearest {
			t.Errorf("Name(%q) = %q, want %q", c.name, got, c.nearest)
		}
		if got := option.Hint(c.name, names); got != c.hint {
			t.Errorf("Hint(%q) = %q, want %q", c.name, got, c.hint)
		}
		if got := option.Suggestion(c.name, names, "--"); got != c.suggestion {
			t.Errorf("Suggestion(%q) = %q, want %q", c.name, got, c.suggestion)
		}
	}
}
