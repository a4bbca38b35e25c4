package learn

import (
	"fmt"
	"math"
	"testing"

	"github.com/blockbp/blockbp/internal/oracle"
)

// TestNoAllocations: an iteration reuses its scratch: nothing is allocated once
// every worker has seen every block, on any number of threads.
func TestNoAllocations(t *testing.T) {
	for kind, p := range problems(t) {
		for name, s := range runs {
			for i, step := range stepRules() {
				threads := 1 + (i+len(kind)+len(name))%4 // several of them for every kind, run and rule
				s.Step, s.GradientTolerance, s.Threads = must(ParseStep(step)), 1e-300, threads
				s := s.Resolved()
				where := fmt.Sprintf("%s, %s, %s, %d threads", kind, name, step, threads)
				oracle.Equal(t, allocations(t, &p, &s), 0, "%s: allocations per iteration", where)
			}
		}
	}
}

// allocations returns the number of allocations per iteration, rounded down.
func allocations(t *testing.T, p *Problem, s *Settings) float64 {
	t.Helper()
	l := must(newLearner(p, s))
	defer l.pool.Close()
	for l.progress.Check.Active {
		oracle.Must(l.visitInWholePass())(t)
	}
	iterate := func() {
		oracle.OK(t, l.iterate())
	}
	for range 3 * l.schedule.perPass() { // every block, with a random order too
		iterate()
	}
	l.growWorkers()
	// The process is counted, and the runtime allocates when it likes: what an iteration allocates comes every time.
	n := testing.AllocsPerRun(2*l.schedule.perPass(), iterate)
	for try := 0; n != 0 && try < 3; try++ {
		n = testing.AllocsPerRun(2*l.schedule.perPass(), iterate)
	}
	return n
}

// growWorkers lets every worker do every unit of every block: which of them does is left to chance otherwise, and one
// that comes late has still to grow. So has the measurement of a Hessian, which is due a few times in a run only.
func (l *learner) growWorkers() {
	if l.auto != nil && l.auto.dense.Measures() {
		if err := l.auto.dense.Measure(nil, 0); err != nil {
			panic(err)
		}
		l.auto.dense.Spent = math.Inf(1) // on no other: its sample, which is drawn anew, may be larger next time
	}
	for _, blocks := range l.schedule.stepPass {
		v := jobRound{visit: visit{kind: consistentVisit, blocks: blocks}}
		v.jobs = l.ranks.jobs(&v.visit, l.jobsOf(blocks))
		for worker := range l.workers {
			for job := range v.jobs {
				l.visitJob(&v, worker, job)
			}
		}
	}
}
