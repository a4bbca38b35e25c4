package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/blockbp/blockbp/internal/job"
	"github.com/blockbp/blockbp/internal/option"
	"github.com/blockbp/blockbp/internal/printable"
	"github.com/blockbp/blockbp/learn"
)

// lineEvery is the time between lines of progress; tests do not wait as long.
var lineEvery = 5 * time.Second

const barEvery = 100 * time.Millisecond

// terminalOf is what the bar moves its cursor on.
func terminalOf(w io.Writer) io.Writer {
	if safe, ok := w.(printable.Writer); ok {
		return safe.To
	}
	return w
}

// line is one line of progress on standard error: with a bar on a terminal, printed now and then elsewhere.
type line struct {
	out      io.Writer
	terminal bool
	bar      *progressbar.ProgressBar // nil until it is first shown
	next     time.Time
	events   *events // for programs, in the place of lines
}

func (a *app) newLine() line {
	l := line{out: a.stderr, terminal: isTerminal(a.stderr), events: a.events}
	if !l.terminal && l.events == nil {
		l.next = time.Now().Add(lineEvery)
	}
	return l
}

// due reports whether it is time to show something.
func (l *line) due() bool { return !time.Now().Before(l.next) }

// write shows a text and how much of the work is done.
func (l *line) write(text string, done, total int) {
	if l.events.send(progressEvent{printable.Line(text), done, total}) {
		l.next = time.Now().Add(barEvery)
		return
	}
	if !l.terminal {
		l.next = time.Now().Add(lineEvery)
		fmt.Fprintln(l.out, printable.Line(text))
		return
	}
	l.next = time.Now().Add(barEvery)
	if l.bar == nil {
		l.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(terminalOf(l.out)),
			progressbar.OptionSetPredictTime(false),
			progressbar.OptionSetWidth(24), progressbar.OptionClearOnFinish(), progressbar.OptionSetElapsedTime(false))
	}
	l.bar.Describe(printable.Line(text))
	_ = l.bar.Set(done) // only the terminal could fail
}

// done removes the bar.
func (l *line) done() {
	if l.bar != nil {
		_ = l.bar.Clear() // only the terminal could fail
	}
}

// counter shows how many of a number of things are done. A nil counter shows nothing.
type counter struct {
	line
	label, things string
	started       time.Time
}

// newCounter returns nil if quiet.
func (a *app) newCounter(quiet bool, label, things string) *counter {
	if quiet {
		return nil
	}
	return &counter{a.newLine(), label, things, time.Now()}
}

// show is told how much is done.
func (c *counter) show(done, total int) {
	if c == nil || !c.due() {
		return
	}
	text := fmt.Sprintf("%s: %d of %d %s", c.label, done, total, c.things)
	if done > 0 {
		left := time.Duration(float64(time.Since(c.started)) * float64(total-done) / float64(done))
		text += fmt.Sprintf("  about %s left", left.Round(time.Second))
	}
	c.write(text, done, total)
}

// done removes the bar.
func (c *counter) done() {
	if c != nil {
		c.line.done()
	}
}

// progress shows the iterations of a run, and the time that it will still take.
type progress struct {
	line
	quiet    bool
	settings learn.Settings
	label    string
	course   job.Doneness
	last     learn.Event
	metrics  string // of the last evaluation
	seen     bool
	share    float64 // that is done
}

func (a *app) newProgress(quiet bool, s learn.Settings) *progress {
	return &progress{line: a.newLine(), quiet: quiet, settings: s}
}

// show takes note of an iteration.
func (p *progress) show(e learn.Event) {
	if !p.seen {
		p.seen, p.course.Settings = true, p.settings
	}
	p.last = e
	if e.Eval != nil {
		p.metrics = fmt.Sprintf("  at pass %.4g:", e.Pass)
		for _, name := range slices.Sorted(maps.Keys(e.Eval)) {
			if metric, _, _ := strings.Cut(name, "@"); slices.Contains([]string{"accuracy", "entity_f1", "log_loss"}, metric) {
				p.metrics += fmt.Sprintf("  %s %.4g", name, e.Eval[name])
			}
		}
	}
	p.share = p.course.Of(e)
	if p.quiet || !p.due() {
		return
	}
	bound := ""
	if !math.IsNaN(e.Suboptimality) {
		bound = fmt.Sprintf(" (at most %.3g above the optimum)", e.Suboptimality)
	}
	text := fmt.Sprintf("%siteration %d  pass %.1f  objective %.6g%s  gradient %.3g%s  %s", p.label, e.Iteration, e.Pass,
		e.Objective, bound, e.GradientNorm, p.metrics, p.course.Left())
	p.write(strings.TrimRight(text, " "), int(p.share*barSteps), barSteps)
}

const barSteps = 1000

// checking shows a pass of a check.
func (p *progress) checking(passes int, residual float64) {
	if p.quiet || !p.due() || !p.seen {
		return
	}
	p.write(fmt.Sprintf("%siteration %d  checking all networks: pass %d, messages change by %.2g  gradient %.3g%s",
		p.label, p.last.Iteration, passes, residual, p.last.GradientNorm, p.metrics),
		int(p.share*barSteps), barSteps)
}

// display shows a training: its progress, and work that is counted by itself.
type display struct {
	*progress
	app      *app
	instance *counter // nil, or the one that is on show
}

// watch returns what a job tells the display.
func (d *display) watch() job.Watch {
	return job.Watch{
		Iteration: d.show,
		Checking:  d.checking,
		Instances: d.count,
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
		d.instance = d.app.newCounter(d.quiet, work, "done")
	}
	d.instance.show(done, total)
	if done == total {
		d.instance.done()
	}
}

// done removes the bars.
func (d *display) done() {
	d.progress.done()
	d.instance.done()
}

// progressVariable is the variable of the environment that, where it is json, makes
// standard error a sequence of events for a program: one JSON object a line.
const progressVariable = "BLOCKBP_PROGRESS"

// startEvent is the first: who speaks.
type startEvent struct {
	Version string `json:"version"`
}

// noteEvent is a note, in the words of the command, and in parts that tell options and places from words.
type noteEvent struct {
	Note  string        `json:"note"`
	Parts []option.Part `json:"parts"`
}

// progressEvent says how much of the work at hand is done, in words and as a share.
type progressEvent struct {
	Progress string `json:"progress"`
	Done     int    `json:"done"`
	Total    int    `json:"total"`
}

// errorEvent is the last of a command that failed, with its exit code.
type errorEvent struct {
	Error string        `json:"error"`
	Parts []option.Part `json:"parts"`
	Code  int           `json:"code"`
}

// events are written to a program. There are none in nil.
type events struct {
	mutex sync.Mutex
	to    io.Writer
}

// send writes one event, and reports whether there is a program to read it.
func (e *events) send(event any) bool {
	if e == nil {
		return false
	}
	text, err := printable.Encode(event, "")
	if err != nil {
		return false // of texts and numbers there is no error
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	_, _ = e.to.Write(append(text, '\n')) // there is nobody to tell
	return true
}

// parentEvery is the time between looks whether the program that reads is still there.
const parentEvery = 200 * time.Millisecond

// whileParentLives returns a context that ends with the process that started this one: a program that was killed wants
// no result, and a quiet command writes nothing by which it would find out. Windows does not tell.
func whileParentLives(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func(parent int) {
		for ctx.Err() == nil && os.Getppid() == parent {
			time.Sleep(parentEvery)
		}
		cancel()
	}(os.Getppid())
	return ctx, cancel
}

// printJSON writes one object on one line of standard output.
func (a *app) printJSON(v any) error {
	text, err := printable.Encode(v, "")
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(append(text, '\n'))
	return err
}

// lines are texts of ours on lines of their own. Where print, or say, finds any other
// text, that may be a name, and is kept from being more than a part of its line.
type lines string

// linesOf makes lines of texts, each of which may hold names.
func linesOf(texts []string) lines {
	var b strings.Builder
	for _, text := range texts {
		b.WriteString(printable.Line(text) + "\n")
	}
	return lines(b.String())
}

// print writes a result: as JSON, or as a text for people.
func (a *app) print(asJSON bool, result any, format string, arguments ...any) error {
	if asJSON {
		return a.printJSON(result)
	}
	_, err := io.WriteString(a.stdout, safely(format, arguments))
	return err
}

// say writes a line for people on standard error.
func (a *app) say(format string, arguments ...any) {
	_, _ = io.WriteString(a.stderr, safely(format, arguments)+"\n") // there is nobody to tell
}

// tell says how far something has come: so much of a total, which is 0 where that is not known.
func (a *app) tell(done, total int, format string, arguments ...any) {
	if text := safely(format, arguments); !a.events.send(progressEvent{text, done, total}) {
		_, _ = io.WriteString(a.stderr, text+"\n") // there is nobody to tell
	}
}

// safely is fmt.Sprintf with names that cannot do harm.
func safely(format string, arguments []any) string {
	safe := make([]any, len(arguments))
	for i, argument := range arguments {
		switch argument := argument.(type) {
		case string:
			safe[i] = printable.Line(argument)
		case error:
			safe[i] = printable.Line(option.Command(option.References(argument)))
		default:
			safe[i] = argument
		}
	}
	return printable.Text(fmt.Sprintf(format, safe...))
}
