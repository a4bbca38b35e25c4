package dataset

import (
	"fmt"

	"github.com/blockbp/blockbp/internal/memory"
)

// A number in a file, such as a label, can ask for any amount of memory: a model has a
// weight for every pair of states and every feature. So one that is far above all others is
// doubted: in a warning where it is small, and else in an error, until somebody says how many there are.

// A number is doubtful where it is farFactor times the next smaller one, and at least
// farLeast: labels, bins and features are numbered without large gaps, and in small
// numbers a gap costs nothing. From farMost on it is refused.
const (
	farFactor = 4
	farLeast  = 16
	farMost   = 1 << 10
)

// top is the largest of some numbers, where it stands, and the largest below it.
type top struct {
	largest, next int32 // −1: none
	at            [3]int
}

func newTop() top { return top{largest: -1, next: -1} }

// see takes note of a number that stands somewhere.
func (t *top) see(x int32, file, sample, element int) {
	switch {
	case x > t.largest:
		t.next, t.largest, t.at = t.largest, x, [3]int{file, sample, element}
	case x > t.next && x < t.largest:
		t.next = x
	}
}

// doubt asks whether the largest is a mistake, "" where that is unlikely.
func (t *top) doubt(what, otherwise string) string {
	if t.largest < farLeast || t.largest < farFactor*(t.next+1) {
		return ""
	}
	if t.next < 0 {
		return fmt.Sprintf("is %d a mistake?%s", t.largest, otherwise)
	}
	return fmt.Sprintf("the next largest %s is %d: is %d a mistake?%s", what, t.next, t.largest, otherwise)
}

// unobservedHint is what may have been meant by a label that is a mistake.
const unobservedHint = " -1 means unobserved"

// refuseFar fails where a number is too large to be taken in doubt, which is at a place; sayso is how data say that it
// is meant.
func (l *loader) refuseFar(t *top, at Error, doubt, sayso string) (refused bool) {
	if doubt == "" || t.largest < farMost {
		return false
	}
	at.Problem = fmt.Sprintf("%sis %d; %s", at.Problem, t.largest, doubt)
	at.Remedy = "correct it, or " + sayso
	l.fail(&at)
	return true
}

// checkWeights refuses a schema whose weights alone are more than memory is allowed for,
// before anything of their size is made.
func (l *loader) checkWeights() {
	s, weights, most, largest := &l.set.Schema, 0.0, 0.0, ""
	add := func(size float64, features, copies int, format string, arguments ...any) {
		own := size * float64(features) * float64(max(1, copies))
		if weights += own; own > most {
			most, largest = own, fmt.Sprintf(format+" and %d features", append(arguments, features)...)
		}
	}
	for a, t := range s.NodeTypes {
		k := s.NodeStates(a)
		add(float64(k), t.Features, t.Copies, "nodes of type %q have %d states", t.Name, k)
	}
	for b, t := range s.EdgeTypes {
		u, v := s.EdgeStates(b)
		add(float64(u)*float64(v), t.Features, t.Copies, "edges of type %q have %d by %d states", t.Name, u, v)
	}
	file := l.manifestPath
	if len(l.set.Sources) > 0 {
		file = l.set.Sources[0].Path
	}
	// Features that the largest index in a table asks for get names.
	const name = 48
	features := 0.0
	if l.set.Recipe.Kind == KindGraph {
		features = float64(s.NodeTypes[0].Features)
	}
	l.allow(file, "", fmt.Sprintf("a model of these data, of %.3g weights,", weights), 8*weights+name*features,
		func() string { return largest })
}

// allow fails where something that a place in a file asks for would take more memory than
// is allowed; cause, if not nil, says why it would.
func (l *loader) allow(file, place, what string, bytes float64, cause func() string) {
	err, ok := memory.Check(what, bytes, l.o.Memory).(*memory.Error)
	if !ok {
		return
	}
	if cause != nil {
		err.Reason = cause()
	}
	l.fail(&Error{File: file, Place: place, Problem: err.Error(), Cause: err})
}
