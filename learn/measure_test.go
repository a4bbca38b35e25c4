package learn

import (
	"maps"
	"math"
	"slices"
	"testing"
)

// TestMeasureTimes: every method is timed on problems of all kinds, with counting numbers
// and step rules in turn, and a problem is left as it was.
func TestMeasureTimes(t *testing.T) {
	names, turn := slices.Sorted(maps.Keys(countings)), 0
	for kind, p := range problems(t) {
		for _, method := range Methods {
			turn++
			name, step := names[turn%len(names)], stepRules()[turn%len(stepRules())]
			s := Settings{Method: method, Cut: Cut{Blocks: 4}, Step: must(ParseStep(step)), Threads: 1 + turn%3}
			q := p.with(name).startingAt(p.randomWeights(1, 1))
			before := slices.Clone(q.Model.Weights)
			sizes, err := Measure(q, s)
			if err != nil || !(sizes.SecondsPerPass > 0) || math.IsInf(sizes.SecondsPerPass, 0) {
				t.Fatalf("%s, %s, %s, %s: %+v, %v", kind, method, name, step, sizes, err)
			}
			if !slices.Equal(q.Model.Weights, before) {
				t.Fatalf("%s, %s: the weights have changed", kind, method)
			}
		}
	}
}
