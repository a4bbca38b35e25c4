//go:build linux

package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// options are those of the command line.
type options struct {
	seed    uint64
	time    time.Duration
	short   bool
	only    string
	trial   int
	keep    string
	blockbp string
	workers int
}

// attack is one class of attacks.
type attack struct {
	name  string
	about string
	full  int // trials
	short int // trials of the short form
	// share is the part of the time that this attack may take, against the shares of
	// those that come after it.
	share float64
	alone bool // trials one at a time
	// setup makes what the trials share, in a folder of its own, and returns what one
	// trial does.
	setup func(c *campaign, dir string) (func(t *trial), error)
}

// outcome counts the trials of an attack.
type outcome struct {
	attack   attack
	wanted   int
	tried    int
	failures []failure
	seconds  float64
}

// failure is one trial that did not survive.
type failure struct {
	trial int
	fault string
	kept  string // folder, "": not kept
}

// campaign is one run of the program.
type campaign struct {
	options
	ctx      context.Context
	work     string
	ends     time.Time
	sets     dataSets
	outcomes []*outcome
}

// mostKept bounds how many failed trials of an attack keep their files.
const mostKept = 20

// attack tries one class; left counts the classes still to come, this one included.
func (c *campaign) attack(a attack, left int) error {
	began := time.Now()
	dir := filepath.Join(c.work, a.name)
	shared := filepath.Join(dir, "shared")
	if err := os.MkdirAll(shared, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	try, err := a.setup(c, shared)
	if err != nil {
		return err
	}
	c.ends = c.ends.Add(time.Since(began)) // which counts trials alone
	o := &outcome{attack: a, wanted: a.full}
	if c.short {
		o.wanted = a.short
	}
	first, workers := 0, c.workers
	if c.trial >= 0 {
		first, o.wanted = c.trial, 1
	}
	if a.alone {
		workers = 1
	}
	ends := time.Now().Add(c.allotted(a))
	var mu sync.Mutex
	next := first
	take := func() (n int, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		// Trials that came to nothing are made up for, within reason.
		if next-first >= 3*o.wanted || o.tried >= o.wanted || c.ctx.Err() != nil || time.Now().After(ends) || c.trial >= 0 && next > first {
			return 0, false
		}
		next++
		o.tried++
		return next - 1, true
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for n, ok := take(); ok; n, ok = take() {
				t := c.newTrial(a.name, n, filepath.Join(dir, fmt.Sprintf("trial-%d", n)))
				t.try(try)
				mu.Lock()
				switch {
				case t.void:
					o.tried--
				case t.fault != "":
					o.failures = append(o.failures, failure{n, t.fault, t.keep(len(o.failures) < mostKept)})
				}
				mu.Unlock()
				_ = os.RemoveAll(t.dir)
			}
		})
	}
	wg.Wait()
	o.seconds = time.Since(began).Seconds()
	c.outcomes = append(c.outcomes, o)
	fmt.Fprintf(os.Stderr, "torture: %s: %d of %d tried, %d failed, %.0f s\n", a.name, o.tried, o.wanted, len(o.failures), o.seconds)
	return nil
}

// allotted is the time of an attack: its share of what is left for it and those that
// come after it, so that what one does not use goes to the next.
func (c *campaign) allotted(a attack) time.Duration {
	sum, after := 0.0, false
	for _, other := range attacks {
		after = after || other.name == a.name
		if after && (c.only == "" || strings.Contains(","+c.only+",", ","+other.name+",")) {
			sum += other.share
		}
	}
	return time.Duration(a.share / sum * float64(time.Until(c.ends)))
}

// report prints the table and every failure, and reports whether there are any.
func (c *campaign) report(w io.Writer) (failed bool) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "attack\twhat\twanted\ttried\tsurvived\tfailed\tseconds")
	for _, o := range c.outcomes {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%d\t%.0f\n", o.attack.name, o.attack.about, o.wanted, o.tried, o.tried-len(o.failures), len(o.failures), o.seconds)
	}
	table.Flush()
	for _, o := range c.outcomes {
		for i, f := range o.failures {
			failed = true
			if i == mostKept {
				fmt.Fprintf(w, "\n%s: and %d more\n", o.attack.name, len(o.failures)-mostKept)
				break
			}
			fmt.Fprintf(w, "\n%s %d: %s\n  repeat: go run -C lab ./torture -seed %d -only %s -trial %d\n", o.attack.name, f.trial, f.fault, c.seed, o.attack.name, f.trial)
			if f.kept != "" {
				fmt.Fprintf(w, "  kept:   %s (commands.txt says what was done)\n", f.kept)
			}
		}
	}
	return failed
}

// newTrial is trial n of an attack, with its own source of randomness and folder.
func (c *campaign) newTrial(attack string, n int, dir string) *trial {
	h := fnv.New64a()
	io.WriteString(h, attack)
	return &trial{c: c, attack: attack, n: n, dir: dir, rng: rand.New(rand.NewPCG(c.seed, h.Sum64()+uint64(n)))}
}
