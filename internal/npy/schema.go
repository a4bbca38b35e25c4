package npy

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/blockbp/blockbp/internal/numeric"
	"github.com/blockbp/blockbp/internal/option"
)

// Rule is what an array of a kind of file holds.
type Rule struct {
	Name  string
	Float bool // floating-point numbers; else integers
	// Shape is as people read it, or several of them with "or" between. Numbers are lengths, and words any length, of
	// which those in counted are the same in all arrays.
	Shape   string
	Several string // shape in a folder of several instances; "": the same
	Missing string // what to do where there is none; "": it may be left out
	Remedy  string // of another shape
	Turned  string // of a shape whose indices are the other way round
	Is      string // what one of the numbers is called, with a blank behind
	Range   string // of them, such as 0 to 1; "": any
	Beyond  string // remedy of numbers out of it
}

// Rules are the arrays that belong into a kind of file.
type Rules []Rule

// counted are the words of shapes that stand for one number in all arrays, and what they count.
var counted = map[string]string{
	"n": "nodes", "m": "edges", "states": "states", "samples": "samples", "instances": "instances",
}

// Rule returns that of an array; nil: the array does not belong into such a file.
func (rules Rules) Rule(array string) *Rule {
	if i := slices.IndexFunc(rules, func(r Rule) bool { return r.Name == array }); i >= 0 {
		return &rules[i]
	}
	return nil
}

// words are what the lengths of an array stand for, in the first of the shapes that it has.
func (r *Rule) words(shape []int) (words []string, fits bool) {
	for text := range strings.SplitSeq(r.Shape, " or ") {
		words = strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune("[, ]", c) })
		if slices.EqualFunc(shape, words, func(n int, word string) bool {
			want, err := strconv.Atoi(word)
			return err != nil || n == want
		}) {
			return words, true
		}
	}
	return nil, false
}

// Count is the number that a word of shapes stands for, and the array that told it.
type Count struct {
	Of   int
	Told string
}

// Count is the length that a word stands for in the first of some arrays that has it, and any elements.
func (s *Set) Count(word string, among ...string) Count {
	for _, name := range among {
		if a := s.Arrays[name]; a.Len() > 0 {
			words, _ := s.Rules.Rule(name).words(a.Shape)
			if axis := slices.Index(words, word); axis >= 0 {
				return Count{a.Shape[axis], name}
			}
		}
	}
	return Count{0, among[0]}
}

// Check reports every array whose shape or numbers are not as its rule has them, or else not as many as counts that are
// known: a shape that is wrong tells none.
func (s *Set) Check(known map[string]Count) {
	var wrong, others []*option.Error
	for _, r := range s.Rules {
		if !s.Has(r.Name) && r.Missing != "" {
			wrong = append(wrong, &option.Error{Place: r.Name, Problem: "the array is missing, want shape " + r.Shape +
				map[bool]string{true: " of numbers", false: " of integers"}[r.Float], Remedy: r.Missing})
		}
	}
	for _, rule := range s.Rules {
		name := rule.Name
		a, given := s.Arrays[name]
		if !given {
			continue
		}
		shape := a.Shape
		words, fits := rule.words(shape)
		if turned := slices.Clone(shape); !fits {
			slices.Reverse(turned)
			remedy := rule.Remedy
			if _, fits := rule.words(turned); fits && rule.Turned != "" {
				remedy = rule.Turned
			}
			wrong = append(wrong, &option.Error{Place: name, Problem: "shape is " + ShapeText(shape) + ", want " + rule.Shape,
				Remedy: remedy})
		} else if i := rule.beyond(&a); i >= 0 {
			wrong = append(wrong, &option.Error{Place: name + IndexText(shape, i), Problem: fmt.Sprintf("%sis %v, want %s%s",
				rule.Is, a.At(i), map[bool]string{true: "a finite number of "}[rule.Float], rule.Range), Remedy: rule.Beyond})
		}
		for axis, word := range words {
			count, ok := known[word]
			if !ok || shape[axis] == count.Of {
				continue
			}
			e := &option.Error{Place: name, Problem: fmt.Sprintf("shape is %s, want %d %s: %s has %d %s", ShapeText(shape),
				count.Of, [...]string{"rows", "columns", "in the last place"}[axis], count.Told, count.Of, counted[word])}
			if axis == 1 && a.Len() == count.Of {
				e.Remedy = "put one row behind the other, by " + name + ".ravel()"
			} else if axis == 1 && shape[0] == count.Of {
				e.Remedy = rule.Turned
			}
			others = append(others, e)
			break
		}
	}
	if len(wrong) == 0 {
		wrong = others
	}
	for _, e := range wrong {
		s.Located(e)
	}
}

// Cut are some rows of arrays, in the same memory: of those whose first length such a word stands for, from and to. One
// of several instances has no index any more.
func (s *Set) Cut(from, to map[string]int) map[string]Values {
	part := map[string]Values{}
	for name, a := range s.Arrays {
		words, _ := s.Rules.Rule(name).words(a.Shape)
		for _, word := range words[:min(1, len(words))] {
			if end, cut := to[word]; cut {
				a = a.Cut(from[word], end)
			}
			if word == "instances" {
				a.Shape = a.Shape[1:]
			}
		}
		part[name] = a
	}
	return part
}

// beyond is the first number out of the range, -1 if there is none.
func (r *Rule) beyond(a *Values) int {
	least, most := math.Inf(-1), math.Inf(1)
	if n, _ := fmt.Sscanf(r.Range, "%g to %g", &least, &most); n == 2 {
		for i := range a.Len() {
			if v := a.At(i); !(v >= least && v <= most) {
				return i
			}
		}
	}
	return -1
}

// Set is the arrays of a file or a folder, by their names, and what is wrong with them.
type Set struct {
	option.Problems
	Rules  Rules
	Arrays map[string]Values // nil: there is no such file
	// Partial says that an array which belongs into the file could not be read: what the others look like without it is
	// no problem of theirs.
	Partial bool
}

// Has reports whether there is an array.
func (s *Set) Has(name string) bool {
	_, ok := s.Arrays[name]
	return ok
}

// Edges is the array of the ends of edges. An empty one may have the shape of numpy.array([]).
const Edges = "edges"

// take takes an array that belongs into the file, as read returns it.
func (s *Set) take(name string, read func(floats bool) (Values, error)) {
	rule := s.Rules.Rule(name)
	if rule == nil {
		s.Add(0, name, s.Rules.suggestion(name), "unknown array")
		return
	}
	a, err := read(rule.Float)
	if s.Has(name) {
		err = errors.New("the array is there twice")
	}
	if err != nil {
		s.Partial = true
		s.Located(Located(name, err))
	} else if s.Arrays[name] = a; name == Edges && a.Len() == 0 {
		s.Arrays[name] = Values{Shape: []int{0, 2}, Ints: a.Ints}
	}
}

// suggestion says which array was probably meant, or else lists all.
func (rules Rules) suggestion(name string) string {
	names := numeric.Map(rules, func(r Rule) string { return r.Name })
	if base, _, typed := strings.Cut(name, "."); typed && rules.Rule(base) != nil {
		return "give one array " + base + " for elements of all types, with zeros where a type lacks a feature"
	}
	near := option.Nearest(name, names)
	if i := slices.IndexFunc(names, func(n string) bool { return strings.HasSuffix(n, "_"+name) }); i >= 0 {
		near = names[i]
	}
	if near != "" {
		return "did you mean " + strconv.Quote(near) + "?"
	}
	return `there are "` + strings.Join(names, `", "`) + `"`
}

// Located is what keeps an array from being read.
func Located(array string, err error) *option.Error {
	if at := (*option.Error)(nil); errors.As(err, &at) {
		at.Place = array + at.Place
		return at
	}
	problem, remedy, _ := strings.Cut(err.Error(), "; ")
	return &option.Error{Place: array, Problem: problem, Remedy: remedy, Cause: err}
}
