// Package option has the one table of options, and writes what messages say of them. A message
// names no option in the words of the command, of Go or of Python: it refers to it.
//
//	{l2}                  the option, which the command calls --l2 and a Go program Options.L2
//	{edges=together}      with a value: --edges together, or Options.Edges = "together"
//	{eval!--eval NAME=X}  the option, for which the command has these words
//	{! (see --help-all)}  what only those hear who use the command
//	{place=…}             a place in a file, and an instance, as Place and Instance write them
//	{note=hidden}         nothing: the word by which a program knows the note
//	{=} and {~}           braces, { and }: Literal writes those of users' texts so, which therefore never are references
//
// An error's own text is in the words of Go. That of References is for the command and, in Parts, for other programs.
package option

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/internal/printable"
)

// fields are the options that a Go program has, too, and what it calls them.
var fields = map[string]string{
	"blocks": "Options.Cut", "counting": "Options.Counting",
	"early-stop": "Options.Patience", "edges": "Options.Edges", "eval": "Options.Validation", "l2": "Options.L2",
	"max-passes": "Options.MaxPasses", "max-time": "Options.MaxTime", "method": "Options.Method",
	"model": "Options.Physics", "no-edges": "Options.NoEdges", "out": "Options.Folder", "partition": "Options.Cut",
	"prior": "Options.Prior", "resume": "Options.Resume", "rtol": "Options.RelativeTolerance", "seed": "Options.Seed",
	"standardise": "Options.Standardise", "threads": "Options.Threads",

	"bins": "dataset.Options.Bins", "clamp": "dataset.Options.NoLabels", "columns": "dataset.Options.Columns",
	"directed": "dataset.Options.Directed", "directed=false": "dataset.Options.Tied = true",
	"edge-features": "dataset.Options.Edges",
	"features":      "dataset.Options.FeatureDir", "hops": "dataset.Options.Hops",
	"kind": "dataset.Options.Kind", "labels": "dataset.Options.LabelDir",
	"lattice": "dataset.Options.Lattice", "list": "dataset.Options.List",
	"min-count": "dataset.Options.MinCount",
	"memory":    "learn.Settings.Memory", "neighbours": "dataset.Options.Neighbours", "no-bias": "dataset.Options.NoBias",
	"observed":       "dataset.Options.Observed",
	"sample-weights": "dataset.Options.SampleWeights", "states": "dataset.Options.States",
	"superpixels": "dataset.Options.Superpixels", "untied": "dataset.Options.Untied",
}

// others are the options that only the command has.
var others = strings.Fields(`arrays burn-in chains checkpoint checkpoint-every class-weights cost
	decode dry-run epsilon errors eval-every evidence force gap help host init inner-sweeps
	inner-tol intervals json licences lift likelihood loss max-iter max-sweeps
	mpi order plots port proof quiet reference report
	require-convergence sampler samples scale select-edges side spill split stall statistics step task
	thin together tol weights`)

func init() {
	for _, name := range others {
		fields[name] = "the command's --" + name
	}
}

// reference has users' texts, with their braces, in its value.
var reference = regexp.MustCompile(`\{[=~]\}|\{([a-z0-9-]*)(?:([=!])((?:[^{}]|\{[=~]\})*))?\}`)

var braces, literal = strings.NewReplacer("{=}", "{", "{~}", "}"), strings.NewReplacer("{", "{=}", "}", "{~}")

// Literal is a user's text, such as a label or a path, for a message: none of it is a reference.
func Literal(text string) string { return literal.Replace(braces.Replace(text)) }

// Text is one with references.
type Text string

// Literals are the arguments of a format in which strings are users' texts. One of %s alone writes a message.
func Literals(format string, arguments []any) []any {
	safe := slices.Clone(arguments)
	if format == "%s" {
		return safe
	}
	for i, argument := range safe {
		if text, ok := argument.(string); ok {
			safe[i] = Literal(text)
		}
	}
	return safe
}

// Part is a part of a message: its text, in the words of the command, and what it refers to, if it does.
type Part struct {
	Text     string   `json:"text"`
	Option   string   `json:"option,omitempty"` // "!": only those hear this who use the command
	Value    string   `json:"value,omitempty"`
	At       []string `json:"at,omitempty"` // file, line and place, as in an Error
	Instance string   `json:"instance,omitempty"`
	Note     string   `json:"note,omitempty"`
	program  string   // what a Go program calls the option
}

// Parts takes a text apart. What looks like a reference and is none is text.
func Parts(text string) (parts []Part) {
	for found := reference.FindStringSubmatch(text); found != nil; found = reference.FindStringSubmatch(text) {
		before, after, _ := strings.Cut(text, found[0])
		parts = append(parts, Part{Text: before}, partOf(found[0], found[1], found[2], braces.Replace(found[3])))
		text = after
	}
	parts = append(parts, Part{Text: text})
	return slices.DeleteFunc(parts, func(p Part) bool { return p.Text+p.Option+p.Note == "" })
}

func partOf(all, name, mark, value string) Part {
	p := Part{Text: "--" + name, Option: name, program: fields[name]}
	switch {
	case name+mark == "note=":
		return Part{Note: value}
	case name+mark == "instance=":
		number, _, _ := strings.Cut(value, " ")
		return Part{Text: "instance " + value, Instance: number}
	case name+mark == "place=" && strings.Count(value, separator) > 1:
		p = Part{At: strings.SplitN(value, separator, 3)}
		p.Text = strings.Join(slices.DeleteFunc(slices.Clone(p.At), func(s string) bool { return s == "" }), ":")
	case name == "" && mark == "!":
		return Part{Text: value, Option: mark}
	case p.program == "":
		return Part{Text: braces.Replace(all)}
	case mark == "!":
		p.Text = value
	case mark == "=":
		p.Value = value
		if name == "columns" && strings.ContainsAny(value, `,"`) { // which is read as a line of CSV
			value = `"` + strings.ReplaceAll(value, `"`, `""`) + `"`
		}
		if value != "true" { // switches take no word behind them
			p.Text += map[bool]string{true: "=", false: " "}[value == "false"] + printable.Word(value)
		}
		value = p.Value
		if _, err := strconv.ParseFloat(value, 64); err != nil && value != "true" && value != "false" {
			value = strconv.Quote(value)
		}
		p.program = cmp.Or(fields[name+"="+p.Value], p.program+" = "+value) // a switch may be another field where it is off
	}
	return p
}

// Command writes a text for those who use the command.
func Command(text string) (words string) {
	for _, p := range Parts(text) {
		words += p.Text
	}
	return words
}

// Go writes a text for those who write a Go program.
func Go(text string) (words string) {
	for _, p := range Parts(text) {
		if p.Option != "" {
			p.Text = p.program
		}
		words += p.Text
	}
	return words
}

// Notes are texts that those read who use the command, in its files and results.
type Notes []string

// MarshalJSON implements json.Marshaler.
func (n Notes) MarshalJSON() ([]byte, error) {
	list := make([]string, len(n))
	for i, text := range n {
		list[i] = Command(text)
	}
	return json.Marshal(list)
}

// Of returns the option that sets a field of a Go program, "" where there is none.
func Of(field string) string {
	for name, is := range fields {
		if is == field {
			return name
		}
	}
	return ""
}

// message is an error whose text has references.
type message struct {
	text string
	err  error
}

func (m *message) Error() string      { return Go(m.text) }
func (m *message) Unwrap() error      { return m.err }
func (m *message) References() string { return m.text }

// Message returns an error with another text, which has references.
func Message(text string, err error) error { return &message{text, err} }

// Errorf is fmt.Errorf for messages with references.
func Errorf(format string, a ...any) error {
	err := fmt.Errorf(format, Literals(format, a)...)
	return Message(References(err), errors.Unwrap(err))
}

// References returns the text of an error with its references.
func References(err error) string {
	if of, ok := err.(interface{ References() string }); ok {
		return of.References()
	}
	if path, ok := err.(*fs.PathError); ok {
		return Literal(path.Error())
	}
	text, all := err.Error(), []error{errors.Unwrap(err)}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		all = several.Unwrap()
	}
	for _, within := range all {
		if within != nil {
			text = strings.Replace(text, within.Error(), References(within), 1)
		}
	}
	return text
}
