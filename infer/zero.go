package infer

import (
	"errors"
	"fmt"
	"math"

	"github.com/blockbp/blockbp/bp"
	"github.com/blockbp/blockbp/mrf"
)

// ZeroError says that every joint state of a network has probability zero: its
// hard zeros contradict each other. So log Z is −Inf, exactly, whatever the
// counting numbers, and beliefs do not exist.
type ZeroError struct {
	Found error // where inference found it
}

// Error implements error.
func (e *ZeroError) Error() string {
	return fmt.Sprintf("%v: every joint state has probability zero, so marginals do not exist; look for contradictory evidence or constraints", e.Found)
}

// Unwrap returns what inference found.
func (e *ZeroError) Unwrap() error { return e.Found }

// explain makes a *ZeroError of a numerical error on a network whose hard zeros
// prove that Z = 0. An overflow, which can look the same to an iteration, stays
// what it is.
func explain(err error, p *mrf.Pairwise) error {
	var numerical *bp.NumericalError
	if errors.As(err, &numerical) && contradicts(p) {
		return &ZeroError{err}
	}
	return err
}

// contradicts reports whether some node has no possible state left after every
// state without a possible state at some neighbour has been struck out, again
// and again (arc consistency): a proof that every joint state has probability
// zero, though not the only one that there can be. NaN and +Inf count as
// possible.
func contradicts(p *mrf.Pairwise) bool {
	possible := make([]bool, len(p.Node))
	for i, x := range p.Node {
		possible[i] = !math.IsInf(x, -1)
	}
	queue := make([]int32, 0, len(p.Card))
	queued := make([]bool, len(p.Card))
	for s := range p.Card {
		queue, queued[s] = append(queue, int32(s)), true
	}
	for len(queue) > 0 {
		s := queue[0]
		queue, queued[s] = queue[1:], false
		if !anyOf(possible[p.NodeAt[s]:p.NodeAt[s+1]]) {
			return true
		}
		for _, d := range p.Graph.Incoming(s) {
			t := p.Graph.Source(d)
			if strikeOut(p, possible, d^1) && !queued[t] {
				queue, queued[t] = append(queue, t), true
			}
		}
	}
	return false
}

// strikeOut strikes out the states of the target of directed edge d that have no
// possible state at its source, and reports whether there were any.
func strikeOut(p *mrf.Pairwise, possible []bool, d int32) (changed bool) {
	e, s, t := d>>1, p.Graph.Source(d), p.Graph.Target(d)
	source, target := possible[p.NodeAt[s]:p.NodeAt[s+1]], possible[p.NodeAt[t]:p.NodeAt[t+1]]
	stepSource, stepTarget := len(target), 1 // through the table, row-major over (U, V)
	if d&1 != 0 {
		stepSource, stepTarget = 1, len(source)
	}
	table := p.Edge[p.EdgeAt[e]:p.EdgeAt[e+1]]
	for x, known := range target {
		supported := false
		for y := range source {
			supported = supported || source[y] && !math.IsInf(table[y*stepSource+x*stepTarget], -1)
		}
		if known && !supported {
			target[x], changed = false, true
		}
	}
	return changed
}

func anyOf(values []bool) bool {
	for _, v := range values {
		if v {
			return true
		}
	}
	return false
}
