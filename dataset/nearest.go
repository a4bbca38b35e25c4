package dataset

import (
	"fmt"

	"github.com/blockbp/blockbp/internal/nearest"
)

// suggestion names the candidate nearest to name, for the end of an error
// message, or lists all where none is near.
func suggestion(name string, candidates []string) string {
	if best := nearest.Name(name, candidates); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return fmt.Sprintf("valid names are %q", candidates)
}
