package dataset

import (
	"fmt"
	"slices"

	"github.com/blockbp/blockbp/internal/option"
)

// wrong is a problem of a file, at a line or place; 0 and "" do not apply. Strings among the arguments are users'
// texts.
func wrong(file string, line int, place, remedy, format string, arguments ...any) *option.Error {
	return &option.Error{File: file, Line: line, Place: place, Remedy: remedy,
		Problem: fmt.Sprintf(format, option.Literals(format, arguments)...)}
}

// ofFile is an error that a file is the reason for; nil of nil.
func ofFile(file string, err error) error {
	if err == nil {
		return nil
	}
	return &option.Error{File: file, Problem: err.Error(), Cause: err}
}

// mostPerFile bounds how many problems of one file are kept: beyond it a systematic mistake would only repeat itself.
const mostPerFile = 20

// problems collects what is wrong with one file.
type problems struct {
	file string
	list []error
	more int
}

// add records a problem; see wrong.
func (p *problems) add(line int, place, remedy, format string, arguments ...any) {
	if !p.over() {
		p.list = append(p.list, wrong(p.file, line, place, remedy, format, arguments...))
	}
}

// full reports whether further problems are only counted.
func (p *problems) full() bool { return len(p.list) == mostPerFile }

// over counts a further problem and reports true once they are only counted: what a message would take to write is not
// spent on it.
func (p *problems) over() bool {
	if p.full() {
		p.more++
	}
	return p.full()
}

// keep records a problem that has its place already, or nil.
func (p *problems) keep(err error) {
	if err != nil && !p.over() {
		p.list = append(p.list, err)
	}
}

// located records what a reader below has found in the file.
func (p *problems) located(e *option.Error) {
	e.File = p.file
	p.keep(e)
}

// errors returns the problems in the order of lines, the last of which counts those not kept.
func (p *problems) errors() []error {
	line := func(err error) int {
		if e, ok := err.(*option.Error); ok {
			return e.Line
		}
		return 0
	}
	slices.SortStableFunc(p.list, func(a, b error) int { return line(a) - line(b) })
	if p.more == 0 {
		return p.list
	}
	return append(p.list[:len(p.list):len(p.list)], wrong(p.file, 0, "", "", "%d more problems", p.more))
}

