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
		fmt.Fprintf(c.out, "%s: %d of %d instances\n", c.label, done, total)
		return
	}
	if c.bar == nil {
		c.bar = newBar(c.out, total)
	}
	c.bar.Describe(fmt.Sprintf("%s: %d of %d instances", c.label, done, total))
	_ = c.bar.Set(done) // only the terminal could fail
}

// done removes the bar.
func (c *counter) done() {
	if c != nil && c.bar != nil {
		_ = c.bar.Clear() // only the terminal could fail
	}
}
