package dataset

import (
	"cmp"

	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/option"
)

// Error is something wrong with the data, or with an option for them: not with the disk (that is an *fs.PathError).
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

// public makes an *Error, which keeps its references to options, of what readers have found.
func public(err error) error {
	if e, ok := err.(*option.Error); ok {
		return option.Message(e.References(), (*Error)(e))
	}
	return err
}

// arrayError is what keeps a file of one array from being read.
func arrayError(path string, err error) error {
	e := npy.Located("", err)
	e.File = path
	return e
}

// firstOf is the error of Open: the first problem, with the number of others.
func firstOf(list []error) error {
	if len(list) < 2 {
		return cmp.Or(list...)
	}
	return option.Errorf("%w (and %d more{!: blockbp check lists all})", list[0], len(list)-1)
}
