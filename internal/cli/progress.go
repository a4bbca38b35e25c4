package cli

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/l2path"
	"github.com/blockbp/blockbp/learn"
)

// progress shows a run on standard error: a bar with the time left on a terminal,
// a plain line now and then elsewhere.
type progress struct {
	out      io.Writer
	quiet    bool
	settings learn.Settings
	label    string
	bar      *progressbar.ProgressBar
	next     time.Time
	first    float64 // gradient norm at the start
	started  float64 // seconds at the first event: not zero for a resumed run
	seen     bool
}

// lineEvery is the time between lines of progress; tests do not wait as long.
var lineEvery = 5 * time.Second

const (
	barEvery = 100 * time.Millisecond
	barSteps = 1000
)

// newBar returns a bar of progress for a terminal.
func newBar(out io.Writer, steps int) *progressbar.ProgressBar {
	return progressbar.NewOptions(steps, progressbar.OptionSetWriter(out), progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetWidth(24), progressbar.OptionClearOnFinish(), progressbar.OptionSetElapsedTime(false))
}

func newProgress(out io.Writer, quiet bool, s learn.Settings) *progress {
	p := &progress{out: out, quiet: quiet, settings: s}
	if isTerminal(out) && !quiet {
		p.bar = newBar(out, barSteps)
	} else {
		p.next = time.Now().Add(lineEvery)
	}
	return p
}

// show takes note of an iteration.
func (p *progress) show(e learn.Event) {
	if !p.seen {
		p.seen, p.first, p.started = true, e.GradientNorm, e.Elapsed.Seconds()
	}
	now := time.Now()
	if p.quiet || now.Before(p.next) {
		return
	}
	done := p.fraction(e)
	line := fmt.Sprintf("%siteration %d  pass %.1f  objective %.6g  gradient %.3g%s", p.label, e.Iteration, e.Pass, e.Objective, e.GradientNorm, p.timeLeft(e, done))
	if p.bar != nil {
		p.next = now.Add(barEvery)
		p.bar.Describe(line)
		_ = p.bar.Set(int(done * barSteps)) // only the terminal could fail
		return
	}
	p.next = now.Add(lineEvery)
	fmt.Fprintln(p.out, line)
}

// fraction estimates how much of the run is done: the nearest of its limits, and
// the way of the gradient's logarithm to its tolerance.
func (p *progress) fraction(e learn.Event) float64 {
	s := p.settings
	done := 0.0
	consider := func(have, want float64) {
		if want > 0 {
			done = max(done, have/want)
		}
	}
	consider(float64(e.Iteration), float64(s.MaxIterations))
	consider(e.Pass, s.MaxPasses)
	consider(e.Elapsed.Seconds(), s.MaxTime.Seconds())
	relative := s.RelativeTolerance
	if relative == 0 && s.GradientTolerance == 0 {
		relative = learn.Settings{}.Resolved().RelativeTolerance
	}
	if goal := max(s.GradientTolerance, relative*p.first); goal > 0 && e.GradientNorm > 0 && p.first > goal {
		consider(math.Log(p.first/e.GradientNorm), math.Log(p.first/goal))
	}
	return min(1, max(0, done))
}

func (p *progress) timeLeft(e learn.Event, done float64) string {
	const tooEarly = 0.02
	if done < tooEarly {
		return ""
	}
	elapsed := e.Elapsed.Seconds() - p.started
	left := time.Duration(elapsed * (1 - done) / done * float64(time.Second))
	return fmt.Sprintf("  about %s left", left.Round(time.Second))
}

// done removes the bar.
func (p *progress) done() {
	if p.bar != nil {
		_ = p.bar.Clear() // only the terminal could fail
	}
}

// display shows a training: its progress, and work that is counted by itself.
type display struct {
	*progress
	app      *app
	instance *counter // nil, or the one that is on show
}

func newDisplay(a *app, quiet bool, s learn.Settings) *display {
	return &display{progress: newProgress(a.stderr, quiet, s), app: a}
}

// watch returns what a job tells the display.
func (d *display) watch() job.Watch {
	return job.Watch{
		Iteration: d.show,
		Instances: d.count,
		Tried:     d.tried,
		Note: func(text string) {
			d.done()
			d.app.note("%s", text)
		},
	}
}

// count shows one bar at a time.
func (d *display) count(work string, done, total int) {
	if done == 0 {
		d.done()
		d.instance = newCounter(d.out, d.quiet, work)
	}
	d.instance.show(done, total)
	if done == total {
		d.instance.done()
	}
}

// tried tells of a value of l2.
func (d *display) tried(p l2path.Point) {
	if d.quiet {
		return
	}
	cut := ""
	if !p.Converged {
		cut = ", cut short"
	}
	fmt.Fprintf(d.out, "l2 %g: objective %.8g, log loss %.6g, %.0f passes%s\n", p.L2, p.Objective, p.Loss, p.Passes, cut)
}

// done removes the bars.
func (d *display) done() {
	d.progress.done()
	d.instance.done()
}
