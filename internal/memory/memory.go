// Package memory says how much memory work may take, before it takes any.
//
// Whoever allocates what a number in a file or an option asks for adds up the bytes
// first, as float64, which does not overflow, and asks Check. So a slip of the pen is a
// sentence that names its cause, and never a machine that stands still.
package memory

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/internal/machine"
)

// Share is the part of the memory that the machine has available which work may take
// where nobody says how much: the rest is for what a forecast does not see, such
// as garbage between two collections, and for other programs. Linux ends a program that
// takes all.
const Share = 0.8

// Allowed returns how many bytes work may take: what was asked for, or where that is 0
// the Share of what is available now.
func Allowed(asked int64) int64 {
	if asked > 0 {
		return asked
	}
	return int64(Share * float64(machine.AvailableMemory()))
}

// Error says that work would take more memory than it may. Nothing has been allocated.
type Error struct {
	What    string  // what would take it, such as "the messages of 20 instances"
	Bytes   float64 // it would take about
	Allowed int64
	Asked   bool   // the user said how much is allowed
	Cause   string // why it is so much, or ""
}

// Error implements error.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s would take about %s of memory, and %s are allowed", e.What, Text(e.Bytes), Text(float64(e.Allowed)))
	if !e.Asked {
		text += fmt.Sprintf(" (%.0f %% of what is available)", 100*Share)
	}
	if e.Cause != "" {
		text += ": " + e.Cause
	}
	return text
}

// Enough is what to allow for the work to be done, in the form of Parse: a little more
// than it would take.
func (e *Error) Enough() string {
	const reserve, digits = 1.05, 10 // at least two digits: 1200MiB, not 2GiB
	unit, name := unitOf(e.Bytes / digits)
	return fmt.Sprintf("%.0f%s", math.Ceil(reserve*e.Bytes/unit), name)
}

// Check returns an *Error if what would take more bytes than are allowed; asked is as in
// Allowed.
func Check(what string, bytes float64, asked int64) error {
	if allowed := Allowed(asked); bytes > float64(allowed) {
		return &Error{What: what, Bytes: bytes, Allowed: allowed, Asked: asked > 0}
	}
	return nil
}

// units are those of sizes, the largest first. Those of 1000 are read, not written.
var units = []struct {
	name  string
	bytes float64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3}, {"B", 1},
}

// Wanted describes what Parse reads.
const Wanted = "a size such as 8GiB, or a number of bytes"

// Parse reads a size such as 8GiB, 500MB or 1.5 GiB, or a plain number of bytes.
func Parse(text string) (bytes int64, err error) {
	number, unit := strings.TrimSpace(text), 1.0
	for _, u := range units {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	x, err := strconv.ParseFloat(number, 64)
	x *= unit
	if strings.Trim(number, "0123456789.") != "" || err != nil || !(x >= 1) || x >= math.MaxInt64 {
		return 0, errors.New("want " + Wanted)
	}
	return int64(x), nil
}

// unitOf returns the unit that a number of bytes is written in.
func unitOf(bytes float64) (unit float64, name string) {
	for _, u := range units[:4] {
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

// Threads beyond the processors of a machine make nothing faster, and each has a
// scratch of its own, as large as the largest block. A few times as many are allowed, for
// a machine whose processors are shared, and leastThreads on every machine: results do
// not depend on the number, and a configuration may come from a larger machine.
const (
	threadsPerProcessor = 4
	leastThreads        = 64
)

// MostThreads returns how many threads may be asked for.
func MostThreads() int { return max(leastThreads, threadsPerProcessor*runtime.NumCPU()) }

// ThreadsProblem says what is wrong with a number of threads, "" for one that can be
// used.
func ThreadsProblem(n int) string {
	if most := MostThreads(); n > most {
		return fmt.Sprintf("at most %d are supported here: this machine has %d processors", most, runtime.NumCPU())
	}
	return ""
}
