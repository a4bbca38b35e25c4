package dataset

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/option"
)

// Error is something wrong with the data, or with an option for these data: not with the disk (those errors are
// *fs.PathError).
type Error struct {
	Option  string // name of the field of Options that is at fault; "" for the data
	File    string // path
	Line    int    // line in a text file, from 1; 0 where it does not apply
	Place   string // array, array[index] or field; "" where it does not apply
	Problem string // what was got and what was wanted; options are in braces, such as {states}
	Remedy  string // the next step, or ""
	Cause   error  // the error of a decoder, or nil
}

// Error implements error: file:line, file:place or option, the problem, the remedy.
func (e *Error) Error() string { return (*option.Error)(e).Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// where is the place alone, for a sentence; of a table of labels the problem has the number on the line.
func (e *Error) where() string {
	place := &Error{File: e.File, Line: e.Line, Place: e.Place}
	text := strings.TrimSuffix(option.Literal(place.Error()), ": ") + ", " + strings.TrimSpace(e.Problem)
	return strings.TrimSuffix(text, ", ")
}

// located makes an *Error of what a reader below has found.
func located(err error) error {
	if e := (*option.Error)(nil); errors.As(err, &e) {
		return (*Error)(e)
	}
	return err
}

// wrong is a problem of a file, at a line or place; 0 and "" do not apply. Strings among the arguments are users'
// texts.
func wrong(file string, line int, place, remedy, format string, arguments ...any) *Error {
	return &Error{File: file, Line: line, Place: place, Remedy: remedy,
		Problem: fmt.Sprintf(format, option.Literals(format, arguments)...)}
}

// ofFile is an error that a file is the reason for; nil of nil.
func ofFile(file string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{File: file, Problem: err.Error(), Cause: err}
}

// optionError is an option that cannot be used with these data.
func optionError(name, format string, arguments ...any) *Error {
	e := wrong("", 0, "", "", format, arguments...)
	e.Option = name
	return e
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

// located records what a reader below has found in the file.
func (p *problems) located(e *option.Error) {
	e.File = p.file
	p.keep((*Error)(e))
}

// arrayError is what keeps a file of one array from being read.
func arrayError(path string, err error) error {
	e := npy.Located("", err)
	e.File = path
	return (*Error)(e)
}

func (p *problems) keep(err error) {
	if err != nil && !p.over() {
		p.list = append(p.list, err)
	}
}

// errors returns the problems in the order of lines, the last of which counts those not kept.
func (p *problems) errors() []error {
	line := func(err error) int {
		if e, ok := err.(*Error); ok {
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

// firstOf is the error of Open: the first problem, with the number of others.
func firstOf(list []error) error {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	return option.Errorf("%w (and %d more{!: blockbp check lists all})", list[0], len(list)-1)
}
