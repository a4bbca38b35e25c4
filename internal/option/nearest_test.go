package option_test

import (
	"strings"
	"testing"

	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/oracle"
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
		oracle.Equal(t, option.Nearest(c.name, names), c.nearest, "Name(%q)", c.name)
		oracle.Equal(t, option.Hint(c.name, names), c.hint, "Hint(%q)", c.name)
		oracle.Equal(t, option.Suggestion(c.name, names, "--"), c.suggestion, "Suggestion(%q)", c.name)
	}
}
