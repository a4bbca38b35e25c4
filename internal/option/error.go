package option

import (
	"fmt"
	"strconv"
	"strings"
)

// Error is something wrong with an option, or with a file: dataset.Error is like it. Both texts may refer to options.
type Error struct {
	Option  string // name of the field of dataset.Options that is at fault; "" for the data
	File    string // path
	Line    int    // line in a text file, from 1; 0 where it does not apply
	Place   string // array, array[index] or field; "" where it does not apply
	Problem string // what was got and what was wanted
	Remedy  string // the next step, or ""
	Cause   error  // the error of a decoder, or nil
}

// Error implements error: file:line, file:place or option, the problem, the remedy.
func (e *Error) Error() string { return Go(e.text(e.Option)) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// References is the text with its references.
func (e *Error) References() string { return e.text(referTo(e.Option)) }

func (e *Error) text(option string) string {
	if e.File != "" || e.Line > 0 || e.Place != "" {
		option += string(Place(e.File, e.Line, e.Place))
	}
	text := option + ": " + e.Problem
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return strings.TrimPrefix(text, ": ")
}

// separator is between the parts of a place in a reference.
const separator = "\x00"

// Place refers to a place in a file, or to all of it; see Error.
func Place(file string, line int, place string) Text {
	number := ""
	if line > 0 {
		number = strconv.Itoa(line)
	}
	return Text("{place=" + Literal(file) + separator + number + separator + Literal(place) + "}")
}

// Instance refers to one of the instances that are at hand, by its number and its name.
func Instance(i int, name string) Text {
	return Text(fmt.Sprintf("{instance=%d (%s)}", i, Literal(name)))
}

// referTo refers to the option that sets a field of dataset.Options. A model is one that no option sets.
func referTo(field string) string {
	if name := Of("dataset.Options." + field); name != "" {
		return "{" + name + "}"
	}
	if words, ok := map[string]string{"Spins": "{model=ising}", "paths": "DATA", "Recipe": ""}[field]; ok {
		return words
	}
	return field
}
