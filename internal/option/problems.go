package option

import (
	"fmt"
	"slices"
)

// At is a problem of a file, at a line or place; 0 and "" do not apply. Strings among the arguments are users' texts.
func At(file string, line int, place, remedy, format string, arguments ...any) *Error {
	return &Error{File: file, Line: line, Place: place, Remedy: remedy,
		Problem: fmt.Sprintf(format, Literals(format, arguments)...)}
}

// OfFile is an error that a file is the reason for; nil of nil.
func OfFile(file string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{File: file, Problem: err.Error(), Cause: err}
}

// MostPerFile bounds how many problems of one file are kept: beyond it a systematic mistake would only repeat itself.
const MostPerFile = 20

// Problems collects what is wrong with one file.
type Problems struct {
	File string
	List []error
	More int
}

// Add records a problem; see At.
func (p *Problems) Add(line int, place, remedy, format string, arguments ...any) {
	if !p.Over() {
		p.List = append(p.List, At(p.File, line, place, remedy, format, arguments...))
	}
}

// full reports whether further problems are only counted.
func (p *Problems) full() bool { return len(p.List) == MostPerFile }

// Over counts a further problem and reports true once they are only counted: no message need be written then.
func (p *Problems) Over() bool {
	if p.full() {
		p.More++
	}
	return p.full()
}

// Keep records a problem that has its place already, or nil.
func (p *Problems) Keep(err error) {
	if err != nil && !p.Over() {
		p.List = append(p.List, err)
	}
}

// Located records what a reader below has found in the file.
func (p *Problems) Located(e *Error) {
	e.File = p.File
	p.Keep(e)
}

// Errors returns the problems in the order of lines, the last of which counts those not kept.
func (p *Problems) Errors() []error {
	line := func(err error) int {
		if e, ok := err.(*Error); ok {
			return e.Line
		}
		return 0
	}
	slices.SortStableFunc(p.List, func(a, b error) int { return line(a) - line(b) })
	if p.More == 0 {
		return p.List
	}
	return append(p.List[:len(p.List):len(p.List)], At(p.File, 0, "", "", "%d more problems", p.More))
}
