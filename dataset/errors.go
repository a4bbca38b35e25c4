package dataset
import (
	"strings"

	"github.com/blockbp/blockbp/internal/npy"
	"github.com/blockbp/blockbp/internal/option"
)

// Error is something wrong with the data, or with an option for these data, and not with the disk (those errors are
// *fs.PathError). It has these fields, which are empty where they do not apply:
//
//	Option        string   name of the field of Options that is at fault; "" for the data
//	File          string   path
//	Line          int      line in a text file, from 1
//	Place         string   array, array[index] or field
//	Problem       string   what was got and what was wanted
//	Remedy        string   the next step
//	Cause         error    the error of a decoder
type Error = option.Error

// where is the place alone, for a sentence; of a table of labels the problem has the number on the line.
func where(e *Error) string {
	place := &Error{File: e.File, Line: e.Line, Place: e.Place}
	text := strings.TrimSuffix(option.Literal(place.Error()), ": ") + ", " + strings.TrimSpace(e.Problem)
	return strings.TrimSuffix(text, ", ")
}

// optionError is an option that cannot be used with these data.
func optionError(name, format string, arguments ...any) *Error {
	e := wrong("", 0, "", "", format, arguments...)
	e.Option = name
	return e
}

// arrayError is what keeps a file of one array from being read.
func arrayError(path string, err error) error {
	e := npy.Located("", err)
	e.File = path
	return e
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
