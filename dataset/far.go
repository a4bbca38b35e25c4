package dataset

import (
	"fmt"
	"strconv"
)

// top is the largest of some numbers and the one below it; 0 where there is none. A number in a file, such as a bin,
// can ask for any amount of memory: a model has a weight for every pair of states and every feature.
type top struct{ largest, next int32 }

// see takes note of a number.
func (t *top) see(x int32) {
	if x > t.largest {
		t.next, t.largest = t.largest, x
	} else if x < t.largest {
		t.next = max(t.next, x)
	}
}

// count is how many there are, numbered from 0, unless that looks like a mistake, which dataset.json can say is none.
func (l *loader) count(t *top, file, place, field string) int {
	if far := t.problem(); far != "" {
		l.failAt(file, place, "correct it, or give "+strconv.Quote(field)+" in "+ManifestName, "%s", far)
	}
	return int(t.largest) + 1
}

// problem is that a number of 1024 or more is four times the next smaller one: what is numbered without large gaps has
// none such, but by a mistake. "" where there is no problem.
func (t *top) problem() string {
	const farMost, farFactor = 1 << 10, 4
	if t.largest < farMost || t.largest < farFactor*(t.next+1) {
		return ""
	}
	return fmt.Sprintf("the largest number is %d, and the next below it is %d: it looks like a mistake", t.largest, t.next)
}
