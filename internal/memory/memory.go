// Package memory says how much memory work may take, before it takes any; what this machine has of
// it, and of caches; and it asks the system for large pages.
//
// Whoever allocates what a number in a file or an option asks for adds up the bytes
// first, as float64, which does not overflow, and asks Check. So a slip of the pen is a
// sentence that names its cause, and never a machine that stands still.
package memory

import (
	"fmt"
	"math"
	"runtime"
	"sync"
)

// Share is the part of the memory that the machine has available which work may take where nobody says how much: the
// rest is for what a forecast does not see, such as garbage between two collections, and for other programs. Linux
// ends a program that takes all.
const Share = 0.8

// Allowed returns how many bytes work may take: what was asked for, or where that is 0
// the Share of what is available now.
func Allowed(asked int64) int64 {
	if asked > 0 {
		return asked
	}
	return int64(Share * float64(AvailableMemory()))
}

// Error says that work would take more memory than it may. Nothing has been allocated.
type Error struct {
	What    string  // what would take it, such as "the messages of 20 instances"
	Bytes   float64 // it would take about
	Allowed int64
	Asked   bool   // the user said how much is allowed
	Reason  string // why it is so much, or ""
}

// Error implements error.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s would take about %s of memory, and %s are allowed", e.What, Text(e.Bytes),
		Text(float64(e.Allowed)))
	if !e.Asked {
		text += fmt.Sprintf(" (%.0f %% of what is available)", 100*Share)
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// Enough is what to allow for the work to be done: a little more than it would take.
func (e *Error) Enough() string {
	const reserve, digits = 1.05, 10 // at least two digits: 1200MiB, not 2GiB
	unit, name := unitOf(e.Bytes / digits)
	return fmt.Sprintf("%.0f%s", math.Ceil(reserve*e.Bytes/unit), name)
}

// Check returns an *Error if what would take more bytes than are allowed; asked is as in Allowed.
func Check(what string, bytes float64, asked int64) error {
	return NewBudget(asked).Take(what, bytes)
}

// Refusal says that work would take more than is allowed, with what takes most of it; it refers to options.
func Refusal(what string, needed, allowed float64, most string) string {
	return fmt.Sprintf("%s would take about %s of memory, and %s are allowed. Most of it: %s. Allow more with "+
		"{memory=%s}, or ask for less", what, Text(needed), Text(allowed), most, (&Error{Bytes: needed}).Enough())
}

// Whole is a number of bytes as an integer; beyond what int64 holds it becomes the largest.
func Whole(bytes float64) int64 {
	if bytes >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(bytes)
}

// units are those that sizes are written in, the largest first.
var units = []struct {
	name  string
	bytes float64
}{{"EiB", 1 << 60}, {"PiB", 1 << 50}, {"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// unitOf returns the unit that a number of bytes is written in.
func unitOf(bytes float64) (unit float64, name string) {
	for _, u := range units {
		if bytes >= u.bytes {
			return u.bytes, u.name
		}
	}
	return 1, "B"
}

// Text writes a number of bytes for people.
func Text(bytes float64) string {
	unit, name := unitOf(bytes)
	if unit == 1 {
		return fmt.Sprintf("%.0f B", bytes)
	}
	return fmt.Sprintf("%.1f %s", bytes/unit, name)
}

// Threads beyond the processors of a machine make nothing faster, and each has a scratch of its own, as large as the
// largest block. A few times as many are allowed, for a machine whose processors are shared, and leastThreads on
// every machine: results do not depend on the number, and a configuration may come from a larger machine.
const (
	threadsPerProcessor = 4
	leastThreads        = 64
)

// MostThreads returns how many threads may be asked for.
func MostThreads() int { return max(leastThreads, threadsPerProcessor*runtime.NumCPU()) }

// ThreadsProblem says what is wrong with a number of threads, "" for one that can be used.
func ThreadsProblem(n int) string {
	if most := MostThreads(); n > most {
		return fmt.Sprintf("at most %d are supported here: this machine has %d processors", most, runtime.NumCPU())
	}
	return ""
}

// Budget is what is left of the memory that is allowed, for work that finds out bit by bit
// how much it takes. Several goroutines may take from it.
type Budget struct {
	asked, allowed int64
	lock           sync.Mutex
	taken          float64
}

// NewBudget returns what Allowed allows.
func NewBudget(asked int64) *Budget { return &Budget{asked: asked, allowed: Allowed(asked)} }

// Take takes so many bytes for what, or returns an *Error that counts all that was taken.
func (b *Budget) Take(what string, bytes float64) error {
	b.lock.Lock()
	defer b.lock.Unlock()
	if b.taken += bytes; b.taken > float64(b.allowed) {
		return &Error{What: what, Bytes: b.taken, Allowed: b.allowed, Asked: b.asked > 0}
	}
	return nil
}
