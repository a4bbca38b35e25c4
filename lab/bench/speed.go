package bench

import (
	"context"
	"time"

	"github.com/blockbp/blockbp/internal/machine"
)

// Ceilings are what the machine can do at most; see Speed.
type Ceilings = machine.Ceilings

// SpeedPlan says what MeasureSpeed measures. QuickSpeedPlan and FullSpeedPlan are
// the ones to use; lab/README.md describes them.
type SpeedPlan struct {
	// Grid is the side of a square grid and BA the number of nodes of a
	// Barabási–Albert graph whose phases are measured, cut as training cuts them by
	// default.
	Grid, BA int
	// States are the numbers of states to measure with. ReferenceStates, one of them, is
	// that of everything that is measured with one number only.
	States          []int
	ReferenceStates int
	// Ceilings, and Rounds for everything else, say how often a measurement is
	// repeated.
	Ceilings, Rounds machine.Rounds
	// Within is when measurements are to be done: what is measured after three quarters
	// of it is repeated once only. 0: there is no hurry.
	Within time.Duration
	// MostMemory bounds what single measurements allocate, in bytes. Those that need
	// more are made smaller or left out.
	MostMemory int64
}

// QuickSpeedPlan takes about 15 seconds on a machine with vector kernels, and less
// than 40 where other work halves its speed.
func QuickSpeedPlan() SpeedPlan {
	p := FullSpeedPlan()
	p.States = []int{2, 8, 16}
	p.Ceilings = machine.Rounds{Least: 5, Budget: 1500 * time.Millisecond}
	p.Rounds = machine.Rounds{Least: 2, Budget: 500 * time.Millisecond}
	p.Within = 36 * time.Second
	return p
}

// FullSpeedPlan takes a few minutes.
func FullSpeedPlan() SpeedPlan {
	return SpeedPlan{
		Grid: 200, BA: 20_000,
		States: []int{2, 3, 4, 8, 16, 21, 32, 64}, ReferenceStates: 8,
		Ceilings:   machine.Rounds{Least: 10, Budget: 5 * time.Second},
		Rounds:     machine.Rounds{Least: 3, Budget: 3 * time.Second},
		MostMemory: machine.AvailableMemory() / 4,
	}
}

// Speed is what MeasureSpeed found. Unless they say median, times and rates are
// those of the best repetition. Everything is measured on one thread.
type Speed struct {
	Ceilings *Ceilings `json:"ceilings"`
	// Phases are the phases of an iteration, and the whole of it.
	Phases []PhaseSpeed `json:"phases"`
	// MessagesPerS is that of the phase sweep on the grid with the reference number
	// of states.
	MessagesPerS float64 `json:"messages_per_s"`
	// SpeedupVsPlainGo is how many times as fast a whole iteration is as with the plain
	// Go twins of the kernels, on the grid with the reference number of states.
	SpeedupVsPlainGo float64       `json:"speedup_vs_plain_go"`
	Kernels          []KernelSpeed `json:"kernels"`
	// Disturbance is how much longer than the best the median repetition took, in the
	// median over everything that was repeated: near 0 on a machine that is left alone.
	Disturbance float64 `json:"disturbance"`
	// Left are measurements that were left out, and why.
	Left []string `json:"left_out,omitempty"`
}

// speedRun is a measurement on its way.
type speedRun struct {
	ctx   context.Context
	begun time.Time
	plan  SpeedPlan
	say   func(string)
	speed Speed
	// excess of the median over the best repetition, as a share of it, of everything
	// measured so far.
	excess []float64
}

// MeasureSpeed measures what the plan asks for. say is told what is measured next;
// it may be nil. When ctx ends, so does the measurement, with its error.
func MeasureSpeed(ctx context.Context, plan SpeedPlan, say func(stage string)) (*Speed, error) {
	if say == nil {
		say = func(string) {}
	}
	r := &speedRun{ctx: ctx, begun: time.Now(), plan: plan, say: say}
	for _, stage := range []func() error{r.ceilings, r.phases, r.kernels} {
		if err := stage(); err != nil {
			return nil, err
		}
	}
	r.speed.Disturbance = machine.Summarise(r.excess).Median
	return &r.speed, nil
}

func (r *speedRun) ceilings() (err error) {
	r.say("ceilings: multiply-adds, exp and log, reading from each level of memory")
	r.speed.Ceilings, err = machine.Measure(r.ctx, r.plan.Ceilings, r.plan.MostMemory)
	return err
}

// inTurns measures runs in turns, and ends them. The least times are undisturbed ones.
func (r *speedRun) inTurns(factor int, runs ...*watchedRun) ([]machine.Timing, error) {
	var tasks []machine.Task
	for _, run := range runs {
		defer run.stop()
		tasks = append(tasks, run)
	}
	timings, err := r.interleave(factor, tasks...)
	for i := range timings {
		timings[i].Minimum = undisturbed(runs[i].done[1:], timings[i].Minimum, func(s *stretch, i int) float64 { return s.each[i].seconds })
	}
	return timings, err
}

// interleave measures tasks in turns, as often as the plan says, and so many times as
// long.
func (r *speedRun) interleave(factor int, tasks ...machine.Task) ([]machine.Timing, error) {
	timings, err := machine.Interleave(r.ctx, r.rounds(factor), tasks...)
	for _, t := range timings {
		if t.Repeats > 1 { // one alone says nothing of others
			r.excess = append(r.excess, t.Median/t.Minimum-1)
		}
	}
	return timings, err
}

// leave notes what is not measured.
func (r *speedRun) leave(what string) { r.speed.Left = append(r.speed.Left, what) }

// hurried reports whether most of the time that the plan gives is gone.
func (r *speedRun) hurried() bool {
	return r.plan.Within > 0 && time.Since(r.begun) > r.plan.Within*3/4
}

// rounds returns those of a measurement that takes so many times as long as others.
func (r *speedRun) rounds(factor int) machine.Rounds {
	if r.hurried() {
		return machine.Rounds{Least: 1}
	}
	rounds := r.plan.Rounds
	rounds.Budget *= time.Duration(factor)
	return rounds
}
