package job

import (
	"context"
	"fmt"

	"github.com/blockbp/blockbp/internal/option"
)

// Kind says what an Error is about.
type Kind int

// The kinds of errors.
const (
	Usage       Kind = iota // an option, or options that do not go together
	Data                    // data, a model, or a run folder
	Interrupted             // the context ended before there was a result
)

// Error is a job that cannot be done as it was asked for.
type Error struct {
	Kind Kind
	Err  error
}

// Error implements error.
func (e *Error) Error() string { return option.Go(e.Err.Error()) }

// References is the text with its references to options.
func (e *Error) References() string { return option.References(e.Err) }

// Unwrap returns the error without its kind.
func (e *Error) Unwrap() error { return e.Err }

// Is makes an interrupted job that of the context that ended.
func (e *Error) Is(target error) bool { return e.Kind == Interrupted && target == context.Canceled }

func usagef(format string, a ...any) error {
	return &Error{Usage, fmt.Errorf(format, option.Literals(format, a)...)}
}

func dataf(format string, a ...any) error {
	return &Error{Data, fmt.Errorf(format, option.Literals(format, a)...)}
}
