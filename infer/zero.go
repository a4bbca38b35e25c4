package infer

import (
	"errors"
	"fmt"

	"github.com/blockbp/blockbp/internal/bp"
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

// contradicts reports whether the hard zeros prove that every joint state has
// probability zero.
func contradicts(p *mrf.Pairwise) bool {
	_, ok := p.Possible()
	return !ok
}
