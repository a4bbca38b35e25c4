package cli

import "github.com/blockbp/blockbp/internal/study"

// Tests may ask for a scale that takes seconds.
func init() { testScale = study.Tiny }
