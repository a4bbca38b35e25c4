package learn

import (
	"testing"
)

// TestNoAllocations: an iteration reuses its scratch: nothing is allocated once
// every block has been visited.
func TestNoAllocations(t *testing.T) {
	for kind, p := range problems(t) {
		for name, s := range runs {
			for _, step := range stepRules() {
				s.Step, s.GradientTolerance, s.Threads = must(ParseStep(step)), 1e-300, 1
				s := s.withDefaults()
				l := must(newLearner(&p, &s))
				for l.at.Check.Active {
					if _, err := l.checkStep(); err != nil {
						t.Fatal(err)
					}
				}
				iterate := func() {
					if err := l.iterate(); err != nil {
						t.Fatal(err)
					}
				}
				for range 3 * l.perPass() { // every block, with a random order too
					iterate()
				}
				if allocations := testing.AllocsPerRun(2*l.perPass(), iterate); allocations != 0 {
					t.Errorf("%s, %s, %s: %v allocations per iteration, want 0", kind, name, step, allocations)
				}
				l.pool.close()
			}
		}
	}
}
