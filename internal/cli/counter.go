package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// counter shows how many of a number of things are done, on standard error: a bar
// on a terminal, a plain line now and then elsewhere. A nil counter shows nothing.
type counter struct {
	out      io.Writer
	label    string
	things   string    // "instances" if empty
	started  time.Time // of equal things: the time left is shown too
	terminal bool
	bar      *progressbar.ProgressBar // nil until it is first shown
	next     time.Time
}

// newCounter returns nil if quiet.
func newCounter(out io.Writer, quiet bool, label string) *counter {
	if quiet {
		return nil
	}
	c := &counter{out: out, label: label, terminal: isTerminal(out)}
	c.next = time.Now().Add(c.pause())
	return c
}

// newTimedCounter counts things that take about the same time each.
func newTimedCounter(out io.Writer, quiet bool, label, things string) *counter {
	c := newCounter(out, quiet, label)
	if c != nil {
		c.things, c.started = things, time.Now()
	}
	return c
}

func (c *counter) pause() time.Duration {
	if c.terminal {
		return barEvery
	}
	return lineEvery
}

// show is told how much is done.
func (c *counter) show(done, total int) {
	now := time.Now()
	if c == nil || now.Before(c.next) {
		return
	}
	c.next = now.Add(c.pause())
	if !c.terminal {
		fmt.Fprintln(c.out, c.text(now, done, total))
		return
	}
	if c.bar == nil {
		c.bar = newBar(c.out, total)
	}
	c.bar.Describe(c.text(now, done, total))
	_ = c.bar.Set(done) // only the terminal could fail
}

// text is what is shown.
func (c *counter) text(now time.Time, done, total int) string {
	things := c.things
	if things == "" {
		things = "instances"
	}
	text := fmt.Sprintf("%s: %d of %d %s", c.label, done, total, things)
	if c.started.IsZero() || done == 0 {
		return text
	}
	left := time.Duration(float64(now.Sub(c.started)) * float64(total-done) / float64(done))
	return fmt.Sprintf("%s  about %s left", text, left.Round(time.Second))
}

// done removes the bar.
func (c *counter) done() {
	if c != nil && c.bar != nil {
		_ = c.bar.Clear() // only the terminal could fail
	}
}
