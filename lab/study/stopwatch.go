package study

import (
	"fmt"
	"time"

	"github.com/blockbp/blockbp/learn"
)

// begun is a fixed time, so that wall clocks can be read as durations too.
var begun = time.Now()

// stopwatch times a run of learn.Fit: its iterations, without what is made before the first one,
// which is the same for all methods, and without the recorder, which is the study's own. A run that
// is alone is timed by the processor time of the whole process, where the system tells it, which what
// other programs do hardly changes; one beside others by the wall.
type stopwatch struct {
	alone          bool
	spent, resumed time.Duration
}

// read returns the time since some moment.
func (w *stopwatch) read() time.Duration {
	if w.alone {
		if taken, ok := ProcessorTime(); ok {
			return taken
		}
	}
	return time.Since(begun)
}

// goOn lets the time run.
func (w *stopwatch) goOn() { w.resumed = w.read() }

// pause stops it, and returns the seconds so far.
func (w *stopwatch) pause() (seconds float64) {
	w.spent += w.read() - w.resumed
	return w.spent.Seconds()
}

// on returns a step rule with which the time runs from where learn.Fit begins to iterate. Automatic
// steps, nil, are made by learn.Fit: with them it runs from here.
func (w *stopwatch) on(rule learn.StepRule) learn.StepRule {
	if rule == nil {
		w.goOn()
		return nil
	}
	return timedStep{rule, w}
}

// timedStep is a step rule that starts a stopwatch.
type timedStep struct {
	learn.StepRule
	watch *stopwatch
}

// Start implements learn.StepRule.
func (s timedStep) Start(p learn.StepProblem) error {
	err := s.StepRule.Start(p)
	s.watch.goOn()
	return err
}

// fixed returns the rule of a fixed step α, which is positive.
func fixed(alpha float64) learn.StepRule {
	rule, err := learn.ParseStep(fmt.Sprintf("fixed:%v", alpha))
	if err != nil {
		panic("study: " + err.Error()) // the steps of a plan are positive
	}
	return rule
}
