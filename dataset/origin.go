package dataset

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/blockbp/blockbp/crf"
	"github.com/blockbp/blockbp/internal/memory"
)

// A number in a file, such as a label, can ask for any amount of memory: a model has a
// weight for every pair of states and every feature. So where the numbers come from that
// sizes follow is kept, for the error that says that there is too much of something.

// A number is doubtful where it is farFactor times the next smaller one, and at least
// farLeast: labels, bins and features are numbered without large gaps, and in small
// numbers a gap costs nothing.
const (
	farFactor = 4
	farLeast  = 16
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

// origin is a number that sizes follow, and where it comes from.
type origin struct {
	what           string // states, bins or features
	number         int
	because, doubt string
}

func (o origin) String() string {
	text := fmt.Sprintf("%s: %d, because %s", o.what, o.number, o.because)
	if o.doubt != "" {
		text += "; " + o.doubt
	}
	return text
}

// origins are those of the types of nodes and edges: [type].
type origins struct{ states, nodeFeatures, edgeFeatures map[int]origin }

func newOrigins() origins {
	return origins{map[int]origin{}, map[int]origin{}, map[int]origin{}}
}

// Allowed returns how many bytes work on these data may take: what was asked for; where
// nothing was, 1 GiB if a number of the cause is probably a mistake, and else 0, which stands
// for four fifths of what is available. cause says which numbers make a model of these data
// large, and where they come from: the states, bins or features of the type with the most
// weights. It is "" where all are small, and of data that are read for a model.
func (s *Set) Allowed(asked int64) (allowed int64, cause string) {
	cause, doubtful := s.origins.cause(&s.Schema)
	if asked == 0 && doubtful {
		return min(memory.Doubtful, memory.Allowed(0)), cause
	}
	return asked, cause
}

// cause is that of Allowed, and whether a number in it is doubtful.
func (o *origins) cause(s *crf.Schema) (text string, doubtful bool) {
	var known []origin
	most := -1.0
	consider := func(size float64, keys ...origin) {
		if size > most {
			most, known = size, keys
		}
	}
	for a, t := range s.NodeTypes {
		consider(float64(s.NodeStates(a))*float64(max(1, t.Features)), o.states[a], o.nodeFeatures[a])
	}
	for b, t := range s.EdgeTypes {
		u, v := s.EdgeStates(b)
		consider(float64(u)*float64(v)*float64(max(1, t.Features)), o.states[t.U], o.states[t.V], o.edgeFeatures[b])
	}
	known = slices.DeleteFunc(known, func(x origin) bool { return x.what == "" })
	slices.SortStableFunc(known, func(a, b origin) int { return cmp.Compare(b.number, a.number) })
	// What is small beside the largest is not the cause, and nothing is where all are: then
	// the network is large.
	const worthNaming, few = 16, 32
	var texts []string
	if len(known) == 0 || known[0].number < few {
		return "", false
	}
	for _, x := range known {
		if text := x.String(); x.number*worthNaming >= known[0].number && !slices.Contains(texts, text) {
			texts, doubtful = append(texts, text), doubtful || x.doubt != ""
		}
	}
	return strings.Join(texts, "; "), doubtful
}

// checkWeights refuses a schema whose weights alone are more than memory is allowed for,
// before anything of their size is made.
func (l *loader) checkWeights() {
	s, weights := &l.set.Schema, 0.0
	for a, t := range s.NodeTypes {
		weights += float64(s.NodeStates(a)) * float64(t.Features) * float64(max(1, t.Copies))
	}
	for b, t := range s.EdgeTypes {
		u, v := s.EdgeStates(b)
		weights += float64(u) * float64(v) * float64(t.Features) * float64(max(1, t.Copies))
	}
	file := l.manifestPath
	if len(l.set.Sources) > 0 {
		file = l.set.Sources[0].Path
	}
	// Features that the largest index in a table asks for get names. Where a number is doubtful,
	// what learning takes at the very least is asked for at once: nobody waits for a mistake.
	const name, vectors = 48, 4
	what, bytes, features := fmt.Sprintf("a model of these data, of %.3g weights,", weights), 8.0, 0.0
	if _, doubtful := l.set.origins.cause(s); doubtful && l.o.Memory == 0 {
		what, bytes = "by any method, learning "+what, vectors*bytes
	}
	if l.set.Recipe.Kind == KindGraph {
		features = float64(s.NodeTypes[0].Features)
	}
	allowed, cause := l.set.Allowed(l.o.Memory)
	l.allow(file, "", what, bytes*weights+name*features, allowed, func() string { return cause })
}

// allow fails where something that a place in a file asks for would take more memory than
// is allowed, asked as memory.Check has it; cause, if not nil, says why it would.
func (l *loader) allow(file, place, what string, bytes float64, asked int64, cause func() string) {
	err, ok := memory.Check(what, bytes, asked).(*memory.Error)
	if !ok {
		return
	}
	if cause != nil {
		err.Reason = cause()
	}
	l.fail(&Error{File: file, Place: place, Problem: err.Error(), Cause: err})
}
