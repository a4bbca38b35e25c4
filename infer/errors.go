package infer

import (
	"errors"
	"fmt"

	"github.com/blockbp/blockbp/internal/bp"
	"github.com/blockbp/blockbp/internal/exact"
	"github.com/blockbp/blockbp/internal/gibbs"
	"github.com/blockbp/blockbp/mrf"
)

var (
	// ErrZero is matched by errors that say that every joint state of a network has probability zero: its hard zeros
	// contradict each other. So log Z is −Inf, exactly, and marginals, joint states and samples do not exist.
	ErrZero = exact.ErrZero
	// ErrUnsuited is matched by errors that say that a method cannot be used on a
	// network, or not within the memory that it is allowed: another one may.
	ErrUnsuited = errors.New("the method does not suit the network")
)

// OptionError names an option that cannot be used.
type OptionError struct {
	Option string // field of Options or SampleOptions
	Reason string
}

// Error implements error.
func (e *OptionError) Error() string { return e.Option + ": " + e.Reason }

// zeroAt says where inference found that Z = 0.
func zeroAt(found error) error { return fmt.Errorf("%w: %w", found, ErrZero) }

// unsuitedError is why a method cannot be used.
type unsuitedError struct{ error }

// Is reports whether target is ErrUnsuited.
func (e unsuitedError) Is(target error) bool { return target == ErrUnsuited }

// Unwrap returns the reason.
func (e unsuitedError) Unwrap() error { return e.error }

// What hard zeros contradict each other in.
var (
	errConstant      = errors.New("a factor without variables is zero")
	errContradiction = errors.New("some node has no possible state left")
)

// explain makes ErrZero of a numerical error on a network whose hard zeros prove that Z = 0. An overflow, which can
// look the same to an iteration, stays what it is.
func explain(err error, p *mrf.Pairwise) error {
	if errors.As(err, new(*bp.NumericalError)) && !gibbs.New(p).Propagate() {
		return zeroAt(err)
	}
	return err
}

// wrongValue says that a value of log Z cannot be.
func wrongValue(logZ float64) error {
	return &bp.NumericalError{Node: -1, Edge: -1, Reason: fmt.Sprintf("log Z is computed as %v: potentials are too "+
		"large to be added up, or messages vanish by forbidden states; subtract a constant from each table, or ask for "+
		"another method", logZ)}
}
