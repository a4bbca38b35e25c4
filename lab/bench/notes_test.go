package bench

import (
	"strings"
	"testing"
)

// TestThreadsNote: a speed-up that other work may have spoilt is not left to stand by
// itself.
func TestThreadsNote(t *testing.T) {
	for _, c := range []struct {
		threads              int
		speedup, disturbance float64
		want                 bool
	}{{2, 1.8, 0.02, false}, {2, 0.96, 0.02, true}, {2, 1.8, 0.3, true}, {1, 1, 0.02, false}} {
		s := &Speed{
			Ceilings: &Ceilings{CachesKnown: true}, Disturbance: c.disturbance,
			Threads: []ThreadSpeed{{Threads: 1, Speedup: 1}, {Threads: c.threads, Speedup: c.speedup}},
		}
		if notes := strings.Join(s.Notes(), "\n"); strings.Contains(notes, "speed-up of 2 threads") != c.want {
			t.Errorf("%+v: notes %q", c, notes)
		}
	}
}
