package cli

import (
	"bytes"

	"github.com/blockbp/blockbp/internal/bench"
)

// BenchPlan says what bench measures, for tests that cannot wait for all of it.
var BenchPlan = &benchPlan

// ScalePlan says what bench --scale measures.
var ScalePlan = &scalePlan

// BenchNotes returns the notes of bench on what it measured.
func BenchNotes(s *bench.Speed) string {
	var stderr bytes.Buffer
	(&app{stderr: &stderr}).benchNotes(s)
	return stderr.String()
}
